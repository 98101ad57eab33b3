//! Overall finding: whether the run is efficient.

use super::{Finding, Run};
use display::units::percent;

/// Parallel efficiency above which there is little to gain.
const GOOD: f64 = 0.9;

/// Returns whether there is little to gain.
pub(super) fn is_good(run: &Run<'_>, causes: &[Finding]) -> bool {
    let is_worth = causes.first().is_some_and(|first| super::WORTH <= first.share);
    GOOD <= run.summary.pop.parallel_efficiency && !is_worth
}

/// Returns the sentence that stands among the causes, or alone.
pub(super) fn finding(run: &Run<'_>, causes: &[Finding]) -> Option<Finding> {
    let pop = &run.summary.pop;
    let efficiency = percent(pop.parallel_efficiency);
    let text = if is_good(run, causes) {
        format!(
            "The run is efficient: {efficiency} of the ranks' time is computation, so at most {} can be gained.",
            percent(1.0 - pop.parallel_efficiency)
        )
    } else if GOOD <= pop.parallel_efficiency {
        format!("{efficiency} of the ranks' time is computation: MPI costs little.")
    } else {
        let openmp = pop.openmp_parallel_efficiency.unwrap_or(1.0);
        let cores = pop.core_availability.unwrap_or(1.0);
        let of_mpi = pop.load_balance.min(pop.communication_efficiency);
        let what = if cores < of_mpi.min(openmp) {
            format!("shortage of cores (availability {})", percent(cores))
        } else if openmp < of_mpi {
            format!("OpenMP (efficiency {})", percent(openmp))
        } else if pop.load_balance < pop.communication_efficiency {
            format!("load imbalance (balance {})", percent(pop.load_balance))
        } else {
            format!("communication (efficiency {})", percent(pop.communication_efficiency))
        };
        let cause = if causes.is_empty() { " No single call site stands out." } else { "" };
        format!("{efficiency} of the ranks' time is computation; the main limit is {what}.{cause}")
    };
    Some(Finding { text, call_site: None, share: 1.0 - pop.parallel_efficiency })
        .filter(|_| 0.0 < run.rank_time_s)
}

#[cfg(test)]
mod tests {
    use super::super::runs::SummaryBuilder;
    use super::*;

    #[track_caller]
    fn check(useful_s: &[f64], causes: &[Finding], words: &[&str]) {
        let summary = SummaryBuilder::ranks(useful_s).summary();
        let text = finding(&Run::new(&summary), causes).unwrap().text;
        for word in words {
            assert!(text.contains(word), "`{word}` is not in `{text}`");
        }
    }

    #[test]
    fn good_runs_are_called_good() {
        check(&[9.6, 9.4], &[], &["is efficient: 95.0 %", "at most 5.0 %"]);
    }

    #[test]
    fn other_runs_have_a_main_limit() {
        let dear = Finding { share: 0.4, ..Finding::default() };
        check(&[9.6, 9.4], &[dear], &["95.0 % of", "MPI costs little"]);
        let words = &["50.0 % of", "load imbalance (balance 62.5 %)."];
        check(&[8.0, 2.0], &[Finding::default()], words);
        check(&[5.0, 5.0], &[], &["communication (efficiency 50.0 %)", "No single call site"]);
    }
}
