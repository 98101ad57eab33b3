//! Computes iterations of loops and shares of branches from counts of the operations in them.
//!
//! An operation that is an unconditional part of a sequence is executed as often as the sequence. The iterations of a
//! loop are the executions of its body over the times it is reached; the share of an arm is its executions over the
//! times the branch is reached. Where there is no such operation, the times that the loop or the arm was entered from
//! an operation outside are used.

use crate::shape::{Arm, GraphNode, GraphNodeKind, Loop, NodeMeasurements};
use display::units::whole;
use std::collections::BTreeMap;

/// Known facts besides counts of operations.
pub(super) struct KnownCounts {
    /// Number of entries from an operation outside, by the number of a loop or a branch, and of its body.
    pub(super) entries: BTreeMap<(usize, usize), f64>,
    pub(super) n_ranks: usize,
    pub(super) constants: BTreeMap<String, i64>,
}

/// Executions of a sequence.
#[derive(Clone, Copy)]
pub(super) struct Passed {
    pub(super) times: Option<f64>,
    /// True if an operation outside the sequence's contents occurs between two executions, so that all entries are
    /// counted.
    pub(super) is_told: bool,
}

/// Fills in the numbers that follow from counts, in a sequence that was executed this often.
pub(super) fn share(nodes: &mut [GraphNode], mut passed: Passed, facts: &KnownCounts) {
    for at in 0..nodes.len() {
        if let Some(count) = nodes.get(at..).and_then(known) {
            passed.times = Some(count);
        }
        let Some(node) = nodes.get_mut(at) else { return };
        match &mut node.kind {
            GraphNodeKind::Loop(_) => share_loop(node, passed, facts),
            GraphNodeKind::Branch(_) => share_branch(node, passed, facts),
            GraphNodeKind::Call(group) => share(&mut group.body, passed, facts),
            // What follows an early exit is executed less often.
            GraphNodeKind::Jump(_) => passed.times = None,
            _ => {}
        }
    }
}

fn share_loop(node: &mut GraphNode, passed: Passed, facts: &KnownCounts) {
    let entries = facts.entries.get(&(node.id, 0)).copied();
    let GraphNodeKind::Loop(of) = &mut node.kind else { return };
    let counted = known(&of.body);
    let reached = passed.times.or_else(|| entries.filter(|_| passed.is_told));
    let inner = counted.or_else(|| Some(reached? * foretold(of, facts)?));
    share(&mut of.body, Passed { times: inner, is_told: counted.is_some() }, facts);
    // Iterations known only from the source are not measured.
    let iterations = counted.zip(reached).and_then(|(counted, reached)| ratio(counted, reached));
    if let (Some(counted), Some(_)) = (counted, iterations) {
        let count = whole(counted);
        node.measured = Some(NodeMeasurements { count, iterations, ..NodeMeasurements::default() });
    }
}

/// Returns the iterations that the source specifies, as a number.
fn foretold(of: &Loop, facts: &KnownCounts) -> Option<f64> {
    let value = of.count.value(&|name| match name {
        "p" => Some(facts.n_ranks as f64),
        name => facts.constants.get(name).map(|value| *value as f64),
    });
    value.filter(|value| 0.0 <= *value)
}

fn share_branch(node: &mut GraphNode, passed: Passed, facts: &KnownCounts) {
    let id = node.id;
    let GraphNodeKind::Branch(branch) = &mut node.kind else { return };
    let count = |(at, arm): (usize, &Arm)| {
        let entries = facts.entries.get(&(id, at)).copied();
        known(&arm.body).or_else(|| entries.filter(|_| passed.is_told))
    };
    let counts: Vec<Option<f64>> = branch.arms.iter().enumerate().map(count).collect();
    let all: Option<f64> = counts.iter().copied().sum();
    let reached = all.or(passed.times);
    let shares = counts.iter().map(|count| ratio((*count)?, reached?));
    let mut shares: Vec<Option<f64>> =
        shares.map(|share| share.filter(|share| *share <= 1.0)).collect();
    complete(&mut shares);
    for (arm, (share_of, count)) in branch.arms.iter_mut().zip(shares.into_iter().zip(counts)) {
        arm.probability = share_of;
        let times = count.or_else(|| Some(share_of? * reached?));
        share(&mut arm.body, Passed { times, ..passed }, facts);
    }
}

/// Computes a single unknown share as the rest of the others.
fn complete(shares: &mut [Option<f64>]) {
    let known: f64 = shares.iter().flatten().sum();
    let mut left = shares.iter_mut().filter(|share| share.is_none());
    if let (Some(one), None) = (left.next(), left.next()) {
        *one = (0.0..=1.0).contains(&known).then_some(1.0 - known);
    }
}

/// Returns the executions of a sequence, from its first unconditional operation before an early exit.
fn known(nodes: &[GraphNode]) -> Option<f64> {
    for node in nodes {
        match &node.kind {
            GraphNodeKind::Mpi(_) => {
                let measured = node.measured.filter(|it| it.n_places == 1);
                return measured.map(|it| it.count as f64);
            }
            GraphNodeKind::Jump(_) => return None,
            // A function that may return early ends only itself.
            GraphNodeKind::Call(group) => match known(&group.body) {
                None => {}
                count => return count,
            },
            _ => {}
        }
    }
    None
}

fn ratio(one: f64, other: f64) -> Option<f64> {
    (0.0 < other).then(|| one / other)
}
