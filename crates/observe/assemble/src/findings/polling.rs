//! Findings about busy polling instead of blocking calls.

use super::{Finding, Run, at_site, call_in_words};
use display::units::{count, percent};

/// Minimum number of calls that counts as a busy loop.
const N_POLLS_MIN: u64 = 100_000;

/// Returns whether an operation only checks for completion or messages.
pub(super) fn is_poll(operation: &str) -> bool {
    let known = mpi_abi::find(operation).and_then(mpi_abi::operation);
    known.is_some_and(mpi_abi::Operation::is_poll)
}

pub(super) fn findings(run: &Run<'_>) -> Vec<Finding> {
    let operations = || run.summary.operations.iter();
    let polls = || operations().filter(|(name, _)| is_poll(name));
    let n_polls: u64 = polls().map(|(_, totals)| totals.calls).sum();
    let n_calls: u64 = operations().map(|(_, totals)| totals.calls).sum();
    let share = run.mpi_share(polls().map(|(_, totals)| totals.time_s).sum());
    let sites = run.summary.call_sites.iter().filter(|site| is_poll(&site.operation));
    let Some(site) = sites.max_by_key(|site| site.calls).filter(|_| N_POLLS_MIN <= n_polls) else {
        return Vec::new();
    };
    let text = format!(
        "The program polls: {} of its {} MPI calls only check for messages or completion, most in {}; that takes {} of the ranks' time. Use a blocking call where there is nothing else to do, or check less often.",
        count(n_polls),
        count(n_calls),
        call_in_words(site),
        percent(share),
    );
    vec![at_site(site, share, text)]
}

#[cfg(test)]
mod tests {
    use super::super::runs::{SummaryBuilder, check};
    use super::*;

    #[test]
    fn looking_is_not_waiting() {
        for poll in ["MPI_Iprobe", "MPI_Improbe", "MPI_Test", "MPI_Testsome", "MPI_Testall"] {
            assert!(is_poll(poll), "{poll}");
        }
        for other in ["MPI_Probe", "MPI_Wait", "MPI_Isend", "MPI_Unknown"] {
            assert!(!is_poll(other), "{other}");
        }
    }

    #[test]
    fn millions_of_looks_are_a_finding() {
        let made = |calls| {
            let made = SummaryBuilder::ranks(&[6.0, 6.0]);
            let made = made.site("MPI_Recv", 1000, 8, &[0.0, 0.0]);
            made.site("MPI_Iprobe", calls, 0, &[4.0, 4.0])
        };
        check(findings, made(2_000_000), &[(0.4, Some(1), &["2.00 M of its 2.00 M", "40.0 %"])]);
        check(findings, made(1000), &[]);
    }
}
