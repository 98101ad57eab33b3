//! Adds the measurements of a run to the graph of its sources.
//!
//! A call site of the run matches the operation of the same name in a file of the same name, on one of the lines of the
//! call.

use super::RecordedRun;
use super::shares::{KnownCounts, Passed, share};
use crate::expr::Expr;
use crate::regions;
use crate::shape::{Graph, GraphNode, GraphNodeKind, NodeMeasurements, Origin, Role, Warning};
use std::collections::{BTreeMap, BTreeSet};

/// Returns the graph of the sources with counts, times, iterations and branch shares of a run.
///
/// Places of the graph that are one line of the program all show the numbers of that line, and their count.
#[must_use]
pub fn overlay(graph: &Graph, run: &RecordedRun) -> Graph {
    let mut graph = graph.clone();
    graph.origin = Origin::Both;
    graph.n_ranks = Some(run.n_ranks);
    let by_role: Vec<BTreeSet<u32>> =
        graph.roles.iter().map(|role| sites_of(&role.body, run).into_keys().collect()).collect();
    for (rank, sites) in run.sites_by_rank() {
        let role = role_of(rank, &sites, (&graph, run), &by_role);
        if let Some(role) = role.and_then(|role| graph.roles.get_mut(role)) {
            role.measured_ranks.push(rank);
        }
    }
    let constants = graph.constants.clone();
    for role in &mut graph.roles {
        measure(role, run, &constants);
    }
    let known: BTreeSet<u32> = by_role.into_iter().flatten().collect();
    graph.warnings.extend(unknown(run, &known));
    graph
}

/// Returns warnings about call sites of the run that the sources lack.
fn unknown(run: &RecordedRun, known: &BTreeSet<u32>) -> Vec<Warning> {
    if known.is_empty() && run.sites.iter().all(|site| site.location.line == 0) {
        return vec![Warning {
            file: "the run".to_owned(),
            line: 0,
            text: "does not know the lines of its calls: compile the program with `-g`".to_owned(),
        }];
    }
    let unknown = run.sites.iter().filter(|site| !known.contains(&site.id));
    unknown
        .map(|site| Warning {
            file: site.location.file.clone(),
            line: site.location.line,
            text: format!("`{}` was called in the run and is not in the sources", site.operation),
        })
        .collect()
}

/// Returns the role whose conditions hold for a rank, or, where they are undecided, the one with the most common call
/// sites.
fn role_of(
    rank: u32,
    sites: &BTreeSet<u32>,
    (graph, run): (&Graph, &RecordedRun),
    by_role: &[BTreeSet<u32>],
) -> Option<usize> {
    let value = |leaf: &Expr| match leaf {
        Expr::Rank => Some(i64::from(rank)),
        Expr::Size => i64::try_from(run.n_ranks).ok(),
        Expr::Name(name) => graph.constants.get(name).copied(),
        _ => None,
    };
    let holds = |condition: &Expr| condition.whole(&value).map(|value| value != 0);
    let fits = |role: &Role| {
        let mut conditions = role.conditions.iter();
        conditions.all(|(condition, wanted)| holds(condition).is_none_or(|it| it == *wanted))
    };
    let roles = graph.roles.iter().zip(by_role).enumerate().filter(|(_, (role, _))| fits(role));
    let best = roles.max_by_key(|(at, (role, own))| {
        let told = role.conditions.iter().filter(|(condition, _)| holds(condition).is_some());
        // Of equal roles, the first.
        (told.count(), own.intersection(sites).count(), std::cmp::Reverse(*at))
    });
    best.map(|(at, _)| at)
}

/// Returns the run's sites in a sequence, each with its number of places.
fn sites_of(nodes: &[GraphNode], run: &RecordedRun) -> BTreeMap<u32, usize> {
    let mut sites = BTreeMap::new();
    for node in nodes {
        if let Some(site) = site_of(node, run) {
            *sites.entry(site).or_default() += 1;
        }
        for body in node.bodies() {
            for (site, n) in sites_of(body, run) {
                *sites.entry(site).or_default() += n;
            }
        }
    }
    sites
}

fn site_of(node: &GraphNode, run: &RecordedRun) -> Option<u32> {
    let GraphNodeKind::Mpi(mpi) = &node.kind else { return None };
    let lines = node.location.line..=node.location.end_line.max(node.location.line);
    let site = run.sites.iter().find(|site| {
        site.operation == mpi.operation
            && site.location.base() == node.location.base()
            && lines.contains(&site.location.line)
    });
    site.map(|site| site.id)
}

fn measure(role: &mut Role, run: &RecordedRun, constants: &BTreeMap<String, i64>) {
    let locations = sites_of(&role.body, run);
    let ranks = role.measured_ranks.clone();
    put(&mut role.body, run, &ranks, &locations);
    let mut steps = Vec::new();
    in_order(&role.body, run, &mut steps);
    let times = between(&steps, run, &ranks);
    put_times(&mut role.body, &times);
    let mut known = KnownCounts {
        entries: BTreeMap::new(),
        n_ranks: run.n_ranks,
        constants: constants.clone(),
    };
    entered(&role.body, (run, &ranks, &locations), &mut known);
    let passed = Passed { times: Some(ranks.len() as f64), is_told: true };
    share(&mut role.body, passed, &known);
}

/// Counts how often each loop and each arm was entered from an operation outside, if its operations occur nowhere else.
fn entered(
    nodes: &[GraphNode],
    (run, ranks, locations): (&RecordedRun, &[u32], &BTreeMap<u32, usize>),
    to: &mut KnownCounts,
) {
    for node in nodes {
        let is_counted = matches!(node.kind, GraphNodeKind::Loop(_) | GraphNodeKind::Branch(_));
        for (at, body) in node.bodies().into_iter().enumerate() {
            let inside = sites_of(body, run);
            if is_counted
                && !inside.is_empty()
                && inside.iter().all(|(id, n)| locations.get(id) == Some(n))
            {
                to.entries.insert((node.id, at), n_entries(&inside, run, ranks));
            }
            entered(body, (run, ranks, locations), to);
        }
    }
}

fn n_entries(inside: &BTreeMap<u32, usize>, run: &RecordedRun, ranks: &[u32]) -> f64 {
    let is_in = |site: &u32| inside.contains_key(site);
    let segments = run.segments.iter().filter(|it| ranks.contains(&it.rank));
    let ways = segments.filter(|it| is_in(&it.to) && !it.from.as_ref().is_some_and(is_in));
    ways.map(|it| it.calls).sum::<u64>() as f64
}

fn put(
    nodes: &mut [GraphNode],
    run: &RecordedRun,
    ranks: &[u32],
    locations: &BTreeMap<u32, usize>,
) {
    for node in nodes {
        if matches!(node.kind, GraphNodeKind::Mpi(_)) {
            let site = site_of(node, run);
            let n_places = site.and_then(|site| locations.get(&site)).copied().unwrap_or(1);
            let measured = run.measured(ranks, |it| Some(it.to) == site).unwrap_or_default();
            node.measured = Some(NodeMeasurements { n_places, ..measured });
        }
        node.bodies_mut().into_iter().for_each(|body| put(body, run, ranks, locations));
    }
}

/// A step in text order: an operation with its site, or computation between operations.
enum Step {
    Site(Option<u32>),
    Computation(usize),
}

fn in_order(nodes: &[GraphNode], run: &RecordedRun, to: &mut Vec<Step>) {
    for node in nodes {
        match &node.kind {
            GraphNodeKind::Mpi(_) => to.push(Step::Site(site_of(node, run))),
            _ if node.has_mpi() => {
                node.bodies().into_iter().for_each(|body| in_order(body, run, to));
            }
            _ if regions::is_costly(node) => to.push(Step::Computation(node.id)),
            _ => {}
        }
    }
}

/// Returns the times of computations, from the passages between the operations before and after them. Of several
/// computations between the same two, the first gets the total time.
fn between(steps: &[Step], run: &RecordedRun, ranks: &[u32]) -> BTreeMap<usize, NodeMeasurements> {
    let mut times = BTreeMap::new();
    let mut before = None;
    let mut open = None;
    for step in steps {
        match step {
            Step::Computation(id) => open = open.or(Some(*id)),
            Step::Site(site) => {
                if let (Some(id), Some(to)) = (open.take(), site) {
                    let measured = run.measured(ranks, |it| it.from == before && it.to == *to);
                    // The call itself belongs to the operation.
                    let measured =
                        measured.map(|it| NodeMeasurements { mpi_s: 0.0, bytes: 0, ..it });
                    times.extend(measured.map(|measured| (id, measured)));
                }
                before = *site;
            }
        }
    }
    times
}

fn put_times(nodes: &mut [GraphNode], times: &BTreeMap<usize, NodeMeasurements>) {
    for node in nodes {
        if let Some(measured) = times.get(&node.id) {
            node.measured = Some(*measured);
        }
        node.bodies_mut().into_iter().for_each(|body| put_times(body, times));
    }
}
