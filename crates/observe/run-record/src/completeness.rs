//! Comparison of two summaries of one run by their information.
//!
//! A record is finished again after a full disk or a killed launcher, from the data that is left then. These
//! may be fewer than the data of the first summary.

use crate::summary::Summary;

/// Describes the information in `kept` that `new` lacks; `None` if nothing is lost.
#[must_use]
pub fn missing_in(kept: &Summary, new: &Summary) -> Option<String> {
    let counts = |summary: &Summary| {
        [
            (count(summary.n_ranks), "ranks"),
            (summary.tool.calls, "MPI calls"),
            (summary.tool.records, "recorded events"),
            (sum(summary.functions.iter().map(|totals| totals.total.calls)), "calls of functions"),
            (sum(summary.function_sums.iter().map(|sums| sums.n)), "passages of functions"),
            (count(summary.resizes.len()), "resizes"),
            (u64::from(summary.tuning.is_some()), "record of tuning"),
            (u64::from(summary.dealt.is_some()), "record of dealt work"),
            (u64::from(summary.outcome.complete), "end of the command"),
        ]
    };
    let pairs = counts(kept).into_iter().zip(counts(new));
    let lost = pairs.filter(|((kept, _), (new, _))| new < kept);
    let words: Vec<String> =
        lost.map(|((kept, what), (new, _))| format!("{kept} {what}, not {new}")).collect();
    (!words.is_empty()).then(|| words.join("; "))
}

fn sum(numbers: impl Iterator<Item = u64>) -> u64 {
    numbers.fold(0, u64::saturating_add)
}

fn count(n: usize) -> u64 {
    u64::try_from(n).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::summary::{Outcome, ToolCost};

    fn summary(n_ranks: usize, calls: u64, records: u64, complete: bool) -> Summary {
        let tool = ToolCost { calls, records, ..ToolCost::default() };
        let outcome = Outcome { complete, ..Outcome::default() };
        Summary { n_ranks, tool, outcome, ..Summary::default() }
    }

    #[track_caller]
    fn check(kept: (usize, u64, u64, bool), new: (usize, u64, u64, bool), expected: Option<&str>) {
        let of = |it: (usize, u64, u64, bool)| summary(it.0, it.1, it.2, it.3);
        assert_eq!(missing_in(&of(kept), &of(new)).as_deref(), expected);
    }

    #[test]
    fn less_of_anything_is_a_loss() {
        check((2, 10, 5, true), (2, 10, 5, true), None);
        check((2, 10, 0, false), (3, 11, 5, true), None);
        check((2, 10, 5, true), (0, 0, 5, true), Some("2 ranks, not 0; 10 MPI calls, not 0"));
        check((2, 10, 5, true), (2, 10, 4, true), Some("5 recorded events, not 4"));
        check((2, 10, 5, true), (3, 11, 6, false), Some("1 end of the command, not 0"));
    }
}
