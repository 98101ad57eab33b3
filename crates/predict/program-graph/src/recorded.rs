//! Builds graphs from recorded runs, and adds measurements of runs to graphs from sources.
//!
//! A run knows its call sites, and how often each followed which other. From that come roles (ranks with the same
//! call sites), the order of regions, and loops (back edges).

mod order;
mod overlay;
mod shares;

use crate::expr::Expr;
use crate::regions;
use crate::shape::{
    DataTransfer, Graph, GraphNode, GraphNodeKind, Loop, Mpi, NodeMeasurements, Origin, Role,
    SendMode, Side, SourceLocation, rank_spans, role_names,
};
use order::{LoopSpan, order, spans};
use std::collections::{BTreeMap, BTreeSet};

pub use overlay::overlay;

/// Measurements of a run.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct RecordedRun {
    /// Number of ranks.
    pub n_ranks: usize,
    /// Call sites of MPI.
    pub sites: Vec<RecordedSite>,
    /// Passages between call sites on each rank, with their counts and times.
    pub segments: Vec<Segment>,
}

/// A call site of MPI.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RecordedSite {
    /// Number by which passages refer to it.
    pub id: u32,
    /// The operation, for example `MPI_Send`.
    pub operation: String,
    /// Place in the sources, as far as it is known.
    pub location: SourceLocation,
}

/// The computation between two MPI calls, and the second call.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Segment {
    /// Rank.
    pub rank: u32,
    /// Call site before; `None` at the start.
    pub from: Option<u32>,
    /// Call site that ends the passage.
    pub to: u32,
    /// Number of times it was passed.
    pub calls: u64,
    /// Computing time, in s.
    pub compute_s: f64,
    /// Time inside the call, in s.
    pub mpi_s: f64,
    /// Number of bytes moved.
    pub bytes: u64,
}

impl RecordedRun {
    /// Returns the measurements of some segments on some ranks; `None` when these never passed them.
    fn measured(
        &self,
        ranks: &[u32],
        is_meant: impl Fn(&Segment) -> bool,
    ) -> Option<NodeMeasurements> {
        let mut sum = NodeMeasurements { n_places: 1, ..NodeMeasurements::default() };
        let mut seen = BTreeSet::new();
        for segment in self.segments.iter().filter(|it| is_meant(it) && ranks.contains(&it.rank)) {
            sum.count += segment.calls;
            sum.compute_s += segment.compute_s;
            sum.mpi_s += segment.mpi_s;
            sum.bytes += segment.bytes;
            seen.insert(segment.rank);
        }
        sum.n_ranks = seen.len();
        (0 < sum.count).then_some(sum)
    }

    /// Returns the sites passed by each rank.
    fn sites_by_rank(&self) -> BTreeMap<u32, BTreeSet<u32>> {
        let mut sites: BTreeMap<u32, BTreeSet<u32>> = BTreeMap::new();
        for segment in &self.segments {
            sites.entry(segment.rank).or_default().insert(segment.to);
        }
        sites
    }
}

/// Returns the graph of a run: regions in order, role by role.
#[must_use]
pub fn from_run(run: &RecordedRun) -> Graph {
    let mut groups: Vec<(BTreeSet<u32>, Vec<u32>)> = Vec::new();
    for (rank, sites) in run.sites_by_rank() {
        match groups.iter_mut().find(|(known, _)| *known == sites) {
            Some((_, ranks)) => ranks.push(rank),
            None => groups.push((sites, vec![rank])),
        }
    }
    let words: Vec<String> = groups.iter().map(|(_, ranks)| in_words(ranks, run.n_ranks)).collect();
    let names = role_names(&words);
    let roles = groups.into_iter().zip(words).zip(names).map(|(((_, ranks), words), name)| {
        let body = body(run, &ranks);
        Role { name, ranks: words, conditions: Vec::new(), measured_ranks: ranks, body }
    });
    let (roles, n_ranks) = (roles.collect(), Some(run.n_ranks));
    let mut graph = Graph { origin: Origin::Run, roles, n_ranks, ..Graph::default() };
    regions::number(&mut graph);
    graph
}

/// Formats ranks as in reports: `rank 0`, `ranks 1-`, `ranks 2-5,7`.
fn in_words(ranks: &[u32], n_ranks: usize) -> String {
    let spans = rank_spans(ranks.iter().map(|rank| i64::from(*rank)));
    let is_last = |rank: i64| usize::try_from(rank + 1) == Ok(n_ranks);
    let words = spans.iter().map(|(first, last)| match (first == last, is_last(*last)) {
        (true, false) => first.to_string(),
        (true, true) if *first != 1 || 1 < spans.len() => first.to_string(),
        (_, true) => format!("{first}-"),
        (false, false) => format!("{first}-{last}"),
    });
    let words: Vec<String> = words.collect();
    let one = ranks.len() == 1 && words.iter().all(|it| !it.ends_with('-'));
    format!("{} {}", if one { "rank" } else { "ranks" }, words.join(","))
}

fn body(run: &RecordedRun, ranks: &[u32]) -> Vec<GraphNode> {
    let mut flows: BTreeMap<(Option<u32>, u32), u64> = BTreeMap::new();
    for segment in run.segments.iter().filter(|it| ranks.contains(&it.rank)) {
        *flows.entry((segment.from, segment.to)).or_default() += segment.calls;
    }
    let order = order(&flows);
    let steps = order.iter().map(|site| step(run, *site, ranks)).collect::<Vec<_>>();
    nested(&steps, 0, &spans(&order, &flows))
}

/// Puts steps into the loops around them; `spans` are sorted, outer ones first.
fn nested(steps: &[Option<GraphNode>], offset: usize, spans: &[LoopSpan]) -> Vec<GraphNode> {
    let mut nodes = Vec::new();
    let mut at = offset;
    while at < offset + steps.len() {
        let is_next = |span: &LoopSpan| span.first == at && span.last < offset + steps.len();
        let Some((which, span)) = spans.iter().enumerate().find(|(_, span)| is_next(span)) else {
            nodes.extend(steps.get(at - offset).cloned().flatten());
            at += 1;
            continue;
        };
        let inner = steps.get(at - offset..=span.last - offset).unwrap_or_default();
        let body = nested(inner, at, spans.get(which + 1..).unwrap_or_default());
        nodes.extend(repeated(span, body));
        at = span.last + 1;
    }
    nodes
}

fn repeated(span: &LoopSpan, body: Vec<GraphNode>) -> Option<GraphNode> {
    let location = body.first()?.location.clone();
    let measured = NodeMeasurements {
        count: span.n_back,
        iterations: Some(span.iterations),
        ..NodeMeasurements::default()
    };
    let of = Loop { count: Expr::Unknown("i".into()), header: String::new(), repeat: None, body };
    let node = GraphNode::new(GraphNodeKind::Loop(of), location);
    Some(GraphNode { measured: Some(measured), ..node })
}

fn step(run: &RecordedRun, id: u32, ranks: &[u32]) -> Option<GraphNode> {
    let site = run.sites.iter().find(|site| site.id == id)?;
    let kind = GraphNodeKind::Mpi(operation(&site.operation));
    let measured = run.measured(ranks, |segment| segment.to == id);
    Some(GraphNode { measured, ..GraphNode::new(kind, site.location.clone()) })
}

/// Returns an operation as the operation table describes it, without the arguments of a call.
fn operation(name: &str) -> Mpi {
    let known = mpi_abi::find(name).and_then(mpi_abi::operation);
    let movements = known.map_or(&[][..], |it| it.movements.as_slice());
    let transfers: Vec<DataTransfer> = movements
        .iter()
        .map(|it| DataTransfer { side: Side::of(it.flow), peer: None, bytes: None })
        .collect();
    let has = |side: Side| transfers.iter().any(|it| it.side == side || it.side == Side::Both);
    Mpi {
        operation: name.to_owned(),
        class: known.map_or("", |it| it.class.name()),
        mode: known.map_or("", |it| it.mode.name()),
        send_mode: known.and_then(SendMode::of),
        side: Side::joined(has(Side::Sends), has(Side::Receives)),
        transfers,
        root: None,
        tag: None,
        scope: String::new(),
        request: None,
    }
}
