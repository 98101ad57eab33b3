//! Breakdown of a finished evaluation: times by rank, by region, and on the critical path.

use super::rank::Rank;
use crate::compose::outcome::{ComposedTime, RankTime, RegionTime};
use crate::compose::path::Log;

pub(super) fn of(names: &[String], ranks: &[Rank], log: &Log, n_steps: u64) -> ComposedTime {
    let last = ranks.iter().enumerate().max_by(|a, b| a.1.clock_s.total_cmp(&b.1.clock_s));
    let (last, total_s) = last.map_or((0, 0.0), |(last, rank)| (last, rank.clock_s));
    let path = log.path(last, total_s, names.len());
    let all = names.iter().zip(&path.regions_s).enumerate();
    let mut regions: Vec<RegionTime> = all
        .map(|(number, (name, on_path_s))| region_time(name, number, ranks, *on_path_s))
        .collect();
    regions.sort_by(|a, b| b.mean_s.total_cmp(&a.mean_s));
    ComposedTime {
        total_s,
        ranks: ranks.iter().map(rank_time).collect(),
        regions,
        path: path.intervals,
        path_transfer_s: path.transfer_s,
        n_steps,
    }
}

fn rank_time(rank: &Rank) -> RankTime {
    let Rank { clock_s, compute_s, waited_s, .. } = *rank;
    let transfer_s = (clock_s - compute_s - waited_s).max(0.0);
    RankTime { end_s: clock_s, compute_s, waiting_s: waited_s, transfer_s }
}

fn region_time(name: &str, number: usize, ranks: &[Rank], on_path_s: f64) -> RegionTime {
    let of_rank = |rank: &Rank| rank.regions.get(number).copied().unwrap_or_default();
    let n_ranks = ranks.len().max(1) as f64;
    let sum = |part: usize| ranks.iter().map(|rank| of_rank(rank)[part]).sum::<f64>();
    RegionTime {
        name: name.to_owned(),
        mean_s: sum(0) / n_ranks,
        longest_s: ranks.iter().map(|rank| of_rank(rank)[0]).fold(0.0, f64::max),
        waiting_s: sum(1) / n_ranks,
        on_path_s,
    }
}
