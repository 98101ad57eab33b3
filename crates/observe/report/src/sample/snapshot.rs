//! Sample snapshot of a run.

use super::{noise, summary_of};
use crate::live::{OperationRate, RankNow, Snapshot};
use run_record::summary::{Efficiencies, RankTotals};

/// Returns a run of `n_ranks` after some seconds.
#[must_use]
pub fn snapshot(n_ranks: u32) -> Snapshot {
    let summary = summary_of(n_ranks);
    let so_far = summary.pop;
    let operations = summary.operations.iter().map(|(name, totals)| OperationRate {
        name: name.clone(),
        class: totals.class.clone(),
        calls_per_s: totals.calls as f64 / summary.elapsed_s,
        bytes_per_s: totals.bytes as f64 / summary.elapsed_s,
        time_share: totals.time_s / summary.elapsed_s / f64::from(n_ranks),
    });
    Snapshot {
        elapsed_s: 12.5,
        state: "running".to_owned(),
        n_nodes: summary.n_nodes,
        ranks: summary.ranks.iter().map(rank_now).collect(),
        so_far,
        last_interval: Efficiencies {
            parallel_efficiency: so_far.parallel_efficiency - 0.088,
            ..so_far
        },
        operations: operations.collect(),
        call_sites: summary.call_sites,
        output: (0..12)
            .map(|n| format!("iteration {n}: 48213 points, residual 3.1e-0{}", n % 7))
            .collect(),
        ns_per_call: 21.4,
        tool_share: 0.000_06,
        records_dropped: 0,
    }
}

fn rank_now(rank: &RankTotals) -> RankNow {
    let useful_share = rank.useful_s / rank.elapsed_s;
    RankNow {
        world: rank.world,
        rank: rank.rank,
        node: rank.node.clone(),
        useful_share,
        mpi_share: 1.0 - useful_share,
        call: (rank.rank % 3 == 1).then(|| "MPI_Recv".to_owned()),
        since_s: 0.04 * noise(rank.rank + 3),
        calls_per_s: rank.calls as f64 / rank.elapsed_s,
        ended: rank.rank == 6,
    }
}
