//! Totals by operation over all ranks and threads.

use super::roster::Roster;
use events::{OperationId, SizeHistogram};
use mpi_abi::Class;
use run_record::summary::OperationTotals;
use std::collections::BTreeMap;

/// Returns totals by MPI name, and the number of calls of operations unknown to this version.
pub(super) fn totals(roster: &Roster<'_>) -> (BTreeMap<String, OperationTotals>, u64) {
    let mut sums: BTreeMap<u16, (OperationTotals, SizeHistogram)> = BTreeMap::new();
    for rank in &roster.ranks {
        for thread in &rank.report.threads {
            for counters in &thread.regions {
                let (totals, sizes) = sums.entry(counters.operation).or_default();
                totals.calls += counters.n_calls;
                totals.bytes += counters.bytes;
                totals.time_s += rank.clock.seconds(counters.mpi_ticks);
                sizes.add(&counters.sizes);
            }
            if let Some(open) = rank.open_call(thread) {
                let (totals, _) = sums.entry(open.call.operation).or_default();
                totals.time_s += rank.clock.seconds(open.ticks);
            }
        }
    }
    let mut n_unknown = 0;
    let mut known = BTreeMap::new();
    for (number, (totals, sizes)) in sums {
        match mpi_abi::operation(OperationId(number)) {
            Some(operation) => {
                let class = class_name(operation.class).to_owned();
                let totals = OperationTotals { class, sizes: filled_bins(&sizes), ..totals };
                known.insert(operation.name.clone(), totals);
            }
            None => n_unknown += totals.calls,
        }
    }
    (known, n_unknown)
}

/// Returns the non-empty bins of a histogram: smallest size in the bin, and number of calls.
pub(super) fn filled_bins(sizes: &SizeHistogram) -> Vec<(u64, u64)> {
    let bins = sizes.counts().iter().enumerate().filter(|(_, count)| **count != 0);
    bins.map(|(bin, count)| (SizeHistogram::smallest_bytes(bin), u64::from(*count))).collect()
}

/// Returns the name of a class in the summary.
pub(super) fn class_name(class: Class) -> &'static str {
    Class::NAMES.iter().find(|(_, known)| *known == class).map_or("", |(name, _)| name)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::samples::{
        FIRST_TICKS, SECOND, measured, operation_number, process, process_with, region, thread,
    };
    use events::Ticks;
    use wire::InCall;

    #[test]
    fn operations_are_added_over_ranks_threads_and_regions() {
        let processes = [0, 1].map(|rank| {
            let regions = vec![
                region(rank, (0, 0x10), "MPI_Send", 3, (0.5, 0.0)),
                region(rank, (0x10, 0x20), "MPI_Send", 1, (0.5, 0.0)),
            ];
            let mut process = process_with(0, rank, regions);
            let other = vec![region(rank, (0, 0), "MPI_Barrier", 1, (2.0, 0.0))];
            process.threads.push(thread(1, other));
            process
        });
        let measured = measured(processes);
        let (totals, n_unknown) = totals(&Roster::new(&measured, 0.0));
        assert_eq!(n_unknown, 0);
        let send = &totals["MPI_Send"];
        assert_eq!((send.calls, send.bytes, send.class.as_str()), (8, 512, "point-to-point"));
        assert!((send.time_s - 2.0).abs() < 1e-9);
        assert_eq!(send.sizes, [(64, 8)]);
        assert_eq!(totals["MPI_Barrier"].calls, 2);
        assert_eq!(totals.len(), 2);
    }

    #[test]
    fn a_call_that_never_returned_has_time_and_is_no_call() {
        let mut process = process(0, 0);
        process.finalize_begin = None;
        process.threads[0].in_call =
            Some(InCall { operation: operation_number("MPI_Recv"), address: 0 });
        process.threads[0].since = Ticks(FIRST_TICKS + 4 * SECOND);
        let measured = measured([process]);
        let (totals, _) = totals(&Roster::new(&measured, 0.0));
        assert_eq!(totals["MPI_Recv"].calls, 0);
        assert!((totals["MPI_Recv"].time_s - 7.0).abs() < 1e-9);
    }

    #[test]
    fn operations_of_a_newer_probe_are_counted() {
        let mut unknown = region(0, (0, 0x10), "MPI_Send", 3, (0.5, 0.0));
        unknown.operation = u16::MAX;
        let measured = measured([process_with(0, 0, vec![unknown])]);
        let (totals, n_unknown) = totals(&Roster::new(&measured, 0.0));
        assert!(totals.is_empty());
        assert_eq!(n_unknown, 3);
    }
}
