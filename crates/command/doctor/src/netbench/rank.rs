//! Rank that measures: `sintonia netbench-rank`.

use super::MARK;
use anyhow::Context;
use clap::Args;
use comm::netbench::{NetbenchPlan, answer, measure};
use comm::{MpiTransport, Tag, Transport};
use models::network::{NetModel, Pair};
use std::collections::BTreeMap;
use std::io::Write;
use std::process::ExitCode;
use std::time::Duration;
use user_io::terminal::Terminal;

/// Measure as one rank of `sintonia netbench`
#[derive(Args, Debug)]
pub struct Options {
    /// Time for each pair of ranks
    #[arg(long)]
    seconds: f64,
}

/// Tag of messages to rank 0.
const NEWS: Tag = Tag(0);

/// Lets one pair after the other measure; rank 0 prints the results at the end.
pub fn run(options: &Options, _: Terminal) -> anyhow::Result<ExitCode> {
    let at_most = Duration::try_from_secs_f64(options.seconds)?;
    let plan = NetbenchPlan { at_most, n_rounds: u32::MAX - 1, ..NetbenchPlan::default() };
    let mut end = MpiTransport::init()?;
    anyhow::ensure!(1 < end.n_ranks(), "one rank is not enough; start at least two");
    // A pair may exceed its time by the slowest of its rounds.
    let patience = Duration::from_mins(1) + at_most * end.n_ranks().saturating_mul(2);
    let nodes = nodes(&mut end, patience)?;
    let mut pairs = Vec::new();
    for (from, to) in to_measure(&nodes) {
        let model = take_part(&mut end, (from, to), &plan, patience)?;
        let [one, other] = [from, to].map(|rank| nodes[rank as usize].as_str());
        pairs.extend(model.map(|model| Pair::new((from, to), [one, other], model)));
        // The other ranks sleep as they wait, so that they do not disturb the pair.
        end.barrier(patience)?;
    }
    if end.rank() == 0 {
        let line = format!("{MARK}{}\n", serde_json::to_string(&pairs)?);
        std::io::stdout().write_all(line.as_bytes())?;
    }
    end.leave(patience)?;
    Ok(ExitCode::SUCCESS)
}

/// Names of the nodes of all ranks, by rank.
fn nodes(end: &mut MpiTransport, patience: Duration) -> anyhow::Result<Vec<String>> {
    let own = rustix::system::uname().nodename().to_string_lossy().into_owned();
    let mut bytes = Vec::new();
    if end.rank() == 0 {
        let mut names = vec![own];
        for rank in 1..end.n_ranks() {
            let heard = end.receive(Some(rank), patience, &mut bytes)?;
            heard.with_context(|| format!("rank {rank} does not say where it is"))?;
            names.push(String::from_utf8_lossy(&bytes).into_owned());
        }
        bytes = serde_json::to_vec(&names)?;
    } else {
        end.send(0, NEWS, &[own.as_bytes()])?;
    }
    end.broadcast(0, &mut bytes, patience)?;
    Ok(serde_json::from_slice(&bytes)?)
}

/// Measures, answers or does nothing, by this rank's part in the pair; returns the model where this rank is 0.
fn take_part(
    end: &mut MpiTransport,
    (from, to): (u32, u32),
    plan: &NetbenchPlan,
    patience: Duration,
) -> anyhow::Result<Option<NetModel>> {
    let own = end.rank();
    if own == to {
        answer(end, from)?;
    }
    let measured = if own == from { measure(end, to, plan)? } else { None };
    if from == 0 {
        return Ok(measured);
    }
    if own == from {
        end.send(0, NEWS, &[&serde_json::to_vec(&measured)?])?;
    }
    if own != 0 {
        return Ok(None);
    }
    let mut bytes = Vec::new();
    let heard = end.receive(Some(from), patience, &mut bytes)?;
    heard.with_context(|| format!("rank {from} does not say what it measured"))?;
    Ok(serde_json::from_slice(&bytes)?)
}

/// Pairs of rank 0 with each other rank, as a master talks to its workers; then, on every node without rank 0, its
/// first two ranks, so that messages inside a node are known wherever two ranks share one.
fn to_measure(nodes: &[String]) -> Vec<(u32, u32)> {
    let mut on_node: BTreeMap<&str, Vec<u32>> = BTreeMap::new();
    for (rank, node) in (0..).zip(nodes) {
        on_node.entry(node).or_default().push(rank);
    }
    let n_ranks = u32::try_from(nodes.len()).unwrap_or(u32::MAX);
    let mut inside: Vec<(u32, u32)> = on_node
        .values()
        .filter_map(|ranks| Some((*ranks.first()?, *ranks.get(1)?)))
        .filter(|(first, _)| *first != 0)
        .collect();
    inside.sort_unstable();
    (1..n_ranks).map(|to| (0, to)).chain(inside).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// `nodes` has a letter for each rank: the name of its node.
    #[track_caller]
    fn check(nodes: &str, expected: &[(u32, u32)]) {
        let nodes: Vec<String> = nodes.chars().map(String::from).collect();
        assert_eq!(to_measure(&nodes), expected);
    }

    #[test]
    fn every_node_with_two_ranks_is_measured_inside() {
        check("a", &[]);
        check("aaa", &[(0, 1), (0, 2)]);
        check("ab", &[(0, 1)]);
        check("aabb", &[(0, 1), (0, 2), (0, 3), (2, 3)]);
        check("abb", &[(0, 1), (0, 2), (1, 2)]);
        check("zbzbbc", &[(0, 1), (0, 2), (0, 3), (0, 4), (0, 5), (1, 3)]);
        check("acbbcc", &[(0, 1), (0, 2), (0, 3), (0, 4), (0, 5), (1, 4), (2, 3)]);
    }
}
