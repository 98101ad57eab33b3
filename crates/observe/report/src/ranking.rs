//! Selection of ranks to show when there are too many: the extremes and the median.

use display::units::share_of;
use run_record::Summary;
use run_record::summary::{OperationTotals, RankTotals};

/// Ranks chosen to represent all, as positions in [`Summary::ranks`].
pub(crate) struct RepresentativeRanks {
    /// Ranks with the longest computation, longest first: the others wait for them.
    pub(crate) busiest: Vec<usize>,
    /// Rank with the median computation.
    pub(crate) median: Option<usize>,
    /// Ranks with the shortest computation, shortest last: they wait most.
    pub(crate) idlest: Vec<usize>,
}

/// Reduces all ranks to at most `2 * n_ends + 1`.
pub(crate) fn representatives(summary: &Summary, n_ends: usize) -> RepresentativeRanks {
    let mut order: Vec<usize> = (0..summary.ranks.len()).collect();
    order.sort_by(|a, b| summary.ranks[*b].useful_s.total_cmp(&summary.ranks[*a].useful_s));
    let n_ends = n_ends.min(order.len() / 2);
    let idlest = order[order.len() - n_ends..].to_vec();
    let median = order.get(order.len() / 2).copied();
    order.truncate(n_ends);
    RepresentativeRanks { busiest: order, median, idlest }
}

/// Returns the elapsed time of all ranks together in s, the basis of shares.
pub(crate) fn time_of_all_s(summary: &Summary) -> f64 {
    summary.ranks.iter().map(|rank| rank.elapsed_s).sum()
}

/// Returns the share of its own time that a rank computed.
pub(crate) fn useful_share(rank: &RankTotals) -> f64 {
    share_of(rank.useful_s, rank.elapsed_s)
}

/// Returns the ranks that did not end regularly; ranks still running in an unfinished run are not among them.
pub(crate) fn cut_short(summary: &Summary) -> Vec<&RankTotals> {
    let goes_on = |rank: &RankTotals| rank.end == "running" && !summary.outcome.complete;
    let in_order = |rank: &RankTotals| ["", "finalized", "detached"].contains(&rank.end.as_str());
    summary.ranks.iter().filter(|rank| !in_order(rank) && !goes_on(rank)).collect()
}

/// Returns the operations in descending order of time.
pub(crate) fn operations_by_time(summary: &Summary) -> Vec<(&str, &OperationTotals)> {
    let mut operations: Vec<(&str, &OperationTotals)> =
        summary.operations.iter().map(|(name, totals)| (name.as_str(), totals)).collect();
    operations.sort_by(|a, b| b.1.time_s.total_cmp(&a.1.time_s));
    operations
}

/// Returns `3`, or `1.3` in a run with several worlds.
pub(crate) fn name(summary: &Summary, rank: &RankTotals) -> String {
    if summary.worlds.len() > 1 {
        format!("{}.{}", rank.world, rank.rank)
    } else {
        rank.rank.to_string()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use run_record::summary::CommandOutcome;

    #[track_caller]
    fn check(n_ranks: usize, n_ends: usize, expected: (usize, Option<usize>, usize)) {
        let rank = |r: usize| RankTotals { useful_s: -(r as f64), ..RankTotals::default() };
        let summary = Summary { ranks: (0..n_ranks).map(rank).collect(), ..Summary::default() };
        let chosen = representatives(&summary, n_ends);
        assert_eq!((chosen.busiest.len(), chosen.median, chosen.idlest.len()), expected);
    }

    #[test]
    fn folding_keeps_the_ends_and_the_middle() {
        check(0, 3, (0, None, 0));
        check(1, 3, (0, Some(0), 0));
        check(512, 3, (3, Some(256), 3));
        check(4, 3, (2, Some(2), 2));
    }

    #[track_caller]
    fn check_cut_short(end: &str, complete: bool, expected: usize) {
        let rank = RankTotals { end: end.to_owned(), ..RankTotals::default() };
        let outcome = CommandOutcome { complete, ..CommandOutcome::default() };
        let summary = Summary { ranks: vec![rank], outcome, ..Summary::default() };
        assert_eq!(cut_short(&summary).len(), expected);
    }

    #[test]
    fn a_rank_is_cut_short_unless_it_may_still_finalize() {
        check_cut_short("finalized", true, 0);
        check_cut_short("detached", true, 0);
        check_cut_short("running", false, 0);
        check_cut_short("running", true, 1);
        check_cut_short("ended without MPI_Finalize", false, 1);
    }
}
