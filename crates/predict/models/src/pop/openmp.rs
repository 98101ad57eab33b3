//! Factors of OpenMP in the parallel efficiency of a hybrid program.
//!
//! The processors of a rank are those of its largest team of threads; while its first thread is in MPI, all of them are counted to
//! MPI. Outside MPI, the time of all processors of all ranks is the sum of
//!
//! | time | processors |
//! |---|---|
//! | `useful` | compute, in a parallel region or outside |
//! | `serialization` | have no work, since their rank computes outside of regions, or in one with fewer threads |
//! | `imbalance` | wait in a region for other threads of their team |
//! | `scheduling` | are not yet in the region that their rank has started |
//!
//! | efficiency | formula |
//! |---|---|
//! | OpenMP parallel | `useful / (useful + serialization + imbalance + scheduling)` |
//! | serialization | `useful / (useful + serialization)` |
//! | load balance | `(useful + serialization) / (useful + serialization + imbalance)` |
//! | scheduling | `(useful + serialization + imbalance) / (useful + serialization + imbalance + scheduling)` |
//!
//! Source: DLB 3.5, TALP, hybrid model in `perf_metrics.c`, which also counts the time in MPI in each of these sums; without it
//! they describe the part outside MPI, and parallel = MPI parallel * OpenMP parallel holds with MPI parallel efficiency
//! as for one processor per rank.

/// Times of the threads of one rank, in seconds; those in regions are sums over its threads.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct TeamTime {
    /// Threads of the largest team; 1 without regions.
    pub n_threads: f64,
    /// Time of the rank outside MPI.
    pub outside_mpi_s: f64,
    /// Time of the rank in regions, without its MPI calls.
    pub regions_s: f64,
    /// Time of each region times the threads of its team, without MPI calls.
    pub teams_s: f64,
    /// Threads compute in regions.
    pub busy_s: f64,
    /// Threads have not begun their part of a region.
    pub late_s: f64,
}

/// Factors of OpenMP; each lies in 0..=1.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct OpenMpEfficiencies {
    /// Product of the others.
    pub parallel: f64,
    /// Lost to computation outside of regions.
    pub serialization: f64,
    /// Lost to threads with less work than others.
    pub load_balance: f64,
    /// Lost to starting regions.
    pub scheduling: f64,
}

/// Returns the factors of OpenMP; `None` without time outside MPI.
pub fn openmp_efficiencies(ranks: &[TeamTime]) -> Option<OpenMpEfficiencies> {
    let mut sums = [0.0; 4];
    for rank in ranks {
        for (sum, part) in sums.iter_mut().zip(parts(rank)) {
            *sum += part;
        }
    }
    let [useful, serialization, imbalance, scheduling] = sums;
    let with_serialization = useful + serialization;
    let with_imbalance = with_serialization + imbalance;
    let all = with_imbalance + scheduling;
    (0.0 < all && all.is_finite()).then(|| OpenMpEfficiencies {
        parallel: super::ratio(useful, all),
        serialization: super::ratio(useful, with_serialization),
        load_balance: super::ratio(with_serialization, with_imbalance),
        scheduling: super::ratio(with_imbalance, all),
    })
}

/// Returns useful, serialization, imbalance and scheduling time of a rank's processors.
fn parts(rank: &TeamTime) -> [f64; 4] {
    let n_threads = rank.n_threads.max(1.0);
    let all_s = n_threads * rank.outside_mpi_s.max(0.0);
    let serial_s = (rank.outside_mpi_s - rank.regions_s).max(0.0);
    let useful_s = (serial_s + rank.busy_s).min(all_s);
    let idle_s =
        serial_s * (n_threads - 1.0) + (n_threads * rank.regions_s - rank.teams_s).max(0.0);
    let serialization_s = idle_s.min(all_s - useful_s);
    let scheduling_s = rank.late_s.min(all_s - useful_s - serialization_s);
    [useful_s, serialization_s, all_s - useful_s - serialization_s - scheduling_s, scheduling_s]
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// Checks parallel, serialization, load balance and scheduling of ranks that were 10 s outside MPI.
    #[track_caller]
    fn check(ranks: &[TeamTime], expected: [f64; 4]) {
        let e = openmp_efficiencies(ranks).unwrap();
        let found = [e.parallel, e.serialization, e.load_balance, e.scheduling];
        for (found, expected) in found.iter().zip(expected) {
            assert!((found - expected).abs() < 1e-12, "{e:?}");
        }
    }

    fn rank(n_threads: f64, regions_s: f64, busy_s: f64, late_s: f64) -> TeamTime {
        let teams_s = n_threads * regions_s;
        TeamTime { n_threads, outside_mpi_s: 10.0, regions_s, teams_s, busy_s, late_s }
    }

    #[test]
    fn known_cases() {
        check(&[rank(2.0, 10.0, 20.0, 0.0)], [1.0; 4]);
        check(&[rank(1.0, 0.0, 0.0, 0.0)], [1.0; 4]);
        // Nothing in regions: one of two processors computes.
        check(&[rank(2.0, 0.0, 0.0, 0.0)], [0.5, 0.5, 1.0, 1.0]);
        // Half the time in regions, in which one thread has no work.
        check(&[rank(2.0, 5.0, 5.0, 0.0)], [0.5, 10.0 / 15.0, 0.75, 1.0]);
        check(&[rank(2.0, 10.0, 15.0, 1.0)], [0.75, 1.0, 15.0 / 19.0, 0.95]);
        let smaller_team = TeamTime { teams_s: 10.0, ..rank(2.0, 10.0, 10.0, 0.0) };
        check(&[smaller_team], [0.5, 0.5, 1.0, 1.0]);
        check(&[rank(2.0, 10.0, 20.0, 0.0), rank(2.0, 0.0, 0.0, 0.0)], [0.75, 0.75, 1.0, 1.0]);
        assert_eq!(openmp_efficiencies(&[TeamTime::default()]), None);
    }

    proptest! {
        #[test]
        fn products_hold_and_all_are_shares(
            numbers in prop::collection::vec((1.0..9.0_f64, 0.0..12.0_f64, 0.0..99.0_f64, 0.0..9.0_f64), 1..9)
        ) {
            let ranks = numbers.iter().map(|(n, regions, busy, late)| rank(n.floor(), *regions, *busy, *late));
            let e = openmp_efficiencies(&ranks.collect::<Vec<_>>()).unwrap();
            let all = [e.parallel, e.serialization, e.load_balance, e.scheduling];
            prop_assert!(all.iter().all(|share| (0.0..=1.0).contains(share)), "{e:?}");
            prop_assert!((e.parallel - e.serialization * e.load_balance * e.scheduling).abs() < 1e-9);
        }
    }
}
