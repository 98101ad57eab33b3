//! Iterations of loops and shares of branches, from counts of the operations in them.
//!
//! An operation that stands in a sequence, and not behind a condition, is passed as often as the sequence. How often
//! a loop is passed over how often it is reached is its iterations; how often an arm is passed over how often the
//! branch is reached, its share.

use crate::shape::{Kind, Measured, Node};
use std::collections::BTreeMap;

/// Fills in what counts tell, in a sequence that was passed this often. `entries` says of loops, by the number of the
/// node, how often they were come to from an operation outside, which counts where nothing else tells how often.
pub(super) fn share(nodes: &mut [Node], passed: Option<f64>, entries: &BTreeMap<usize, f64>) {
    let mut passed = passed;
    for at in 0..nodes.len() {
        if let Some(count) = nodes.get(at..).and_then(known) {
            passed = Some(count);
        }
        let Some(node) = nodes.get_mut(at) else { return };
        match &mut node.kind {
            Kind::Loop(of) => {
                let inner = known(&of.body);
                share(&mut of.body, inner, entries);
                let reached = passed.or_else(|| entries.get(&node.id).copied());
                let iterations =
                    inner.zip(reached).and_then(|(inner, reached)| ratio(inner, reached));
                if let (Some(inner), Some(_)) = (inner, iterations) {
                    let count = whole(inner);
                    node.measured = Some(Measured { count, iterations, ..Measured::default() });
                }
            }
            Kind::Branch(branch) => {
                let counts: Vec<Option<f64>> =
                    branch.arms.iter().map(|arm| known(&arm.body)).collect();
                let all: Option<f64> = counts.iter().copied().sum();
                let reached = all.or(passed);
                let shares = counts.iter().map(|count| ratio((*count)?, reached?));
                let mut shares: Vec<Option<f64>> =
                    shares.map(|share| share.filter(|share| *share <= 1.0)).collect();
                complete(&mut shares);
                for (arm, (share_of, count)) in
                    branch.arms.iter_mut().zip(shares.into_iter().zip(counts))
                {
                    arm.probability = share_of;
                    let inner = count.or_else(|| Some(share_of? * reached?));
                    share(&mut arm.body, inner, entries);
                }
            }
            Kind::Group(group) => share(&mut group.body, passed, entries),
            // Behind a way out the program comes by less often.
            Kind::Exit(_) => passed = None,
            _ => {}
        }
    }
}

/// The one share that is not known is what the others leave.
fn complete(shares: &mut [Option<f64>]) {
    let known: f64 = shares.iter().flatten().sum();
    let mut left = shares.iter_mut().filter(|share| share.is_none());
    if let (Some(one), None) = (left.next(), left.next()) {
        *one = (0.0..=1.0).contains(&known).then_some(1.0 - known);
    }
}

/// How often a sequence is passed, by the first operation that stands in it before a way out.
fn known(nodes: &[Node]) -> Option<f64> {
    for node in nodes {
        match &node.kind {
            Kind::Mpi(_) => {
                let measured = node.measured.filter(|it| it.n_places == 1);
                #[expect(clippy::cast_precision_loss, reason = "a count, for a ratio")]
                return measured.map(|it| it.count as f64);
            }
            Kind::Exit(_) => return None,
            Kind::Group(group) => {
                let count = known(&group.body);
                if count.is_some() {
                    return count;
                }
                // A function that may end early ends only itself.
            }
            _ => {}
        }
    }
    None
}

fn ratio(one: f64, other: f64) -> Option<f64> {
    (0.0 < other).then(|| one / other)
}

#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "a count that was a whole number before"
)]
fn whole(count: f64) -> u64 {
    count as u64
}
