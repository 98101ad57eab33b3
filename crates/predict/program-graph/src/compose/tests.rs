//! Tests of the composition rules of the source, and of laws that hold for any program.

mod cases;
mod laws;

use super::*;

/// Returns a program given by lists of operations by rank.
pub(super) fn program(ranks: &[Vec<RankOperation>]) -> RankPrograms {
    let mut builder = ProgramBuilder::new(ranks.len());
    let regions = ["compute", "message", "collective"].map(|name| builder.region(name));
    for (rank, operations) in (0..).zip(ranks) {
        for (site, operation) in (1..).zip(operations) {
            let region = match operation {
                RankOperation::Compute { .. } => regions[0],
                RankOperation::Collective(_) => regions[2],
                _ => regions[1],
            };
            builder.push(rank, CallSite { region, site }, *operation).expect("a possible step");
        }
    }
    builder.finish()
}

pub(super) fn compute(seconds: f64) -> RankOperation {
    RankOperation::Compute { seconds }
}

pub(super) fn send(to: u32, bytes: u64) -> RankOperation {
    RankOperation::Send { to, tag: 0, bytes, mode: SendMode::Standard, request: None }
}

pub(super) fn receive(from: u32) -> RankOperation {
    RankOperation::Receive { from, tag: 0, request: None }
}

pub(super) fn collective(kind: CollectiveKind, bytes: u64) -> RankOperation {
    RankOperation::Collective(Collective { kind, root: 0, bytes, bytes_received: bytes })
}
