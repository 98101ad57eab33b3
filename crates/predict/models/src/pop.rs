//! Efficiencies of a run, named as in the POP methodology and computed as in TALP.
//!
//! With `T` the elapsed time of the longest rank, `m_i` the time of rank `i` inside MPI, and
//! `u_i = T - m_i` its useful time (one processor per rank):
//!
//! | efficiency | formula |
//! |---|---|
//! | parallel | `avg(u) / T` |
//! | communication | `max(u) / T` |
//! | load balance | `avg(u) / max(u)` |
//! | load balance in nodes | `max over nodes of avg(u in the node) / max(u)` |
//! | load balance between nodes | `avg(u) / max over nodes of avg(u in the node)` |
//!
//! Source: DLB 3.5, TALP, `perf_metrics.c`, the metrics normalized by the number of processors; POP
//! Standard Metrics for Parallel Performance Analysis (pop-coe.eu).
//!
//! # Invariants
//! - Each lies in 0..=1; parallel = communication * load balance; load balance = in nodes * between nodes.
//!
//! # Not here
//! The further split of communication efficiency: [`crate::ideal_network`]; the factors of OpenMP: `openmp`.

mod openmp;

pub use openmp::{OpenMpEfficiencies, TeamTime, openmp_efficiencies};

use std::collections::BTreeMap;

/// Measured times of one rank.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct RankTime {
    /// Node that the rank ran on, as any number that identifies it.
    pub node: usize,
    /// Time from the end of `MPI_Init` to the start of `MPI_Finalize`, in seconds.
    pub elapsed_s: f64,
    /// Part of this time inside MPI, in seconds.
    pub mpi_s: f64,
}

/// Efficiencies of a run; each lies in 0..=1.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Efficiencies {
    /// Average useful time over elapsed time.
    pub parallel: f64,
    /// Longest useful time over elapsed time.
    pub communication: f64,
    /// Average useful time over longest useful time.
    pub load_balance: f64,
    /// Load balance inside the nodes.
    pub load_balance_in: f64,
    /// Load balance between the nodes.
    pub load_balance_out: f64,
    /// Longest useful time, in seconds.
    pub useful_max_s: f64,
}

/// Returns the efficiencies of these ranks; `None` without ranks or without time.
pub fn efficiencies(ranks: &[RankTime]) -> Option<Efficiencies> {
    let elapsed_s = ranks.iter().map(|rank| rank.elapsed_s).fold(0.0, f64::max);
    if elapsed_s <= 0.0 || !elapsed_s.is_finite() {
        return None;
    }
    let useful_s = |rank: &RankTime| elapsed_s - rank.mpi_s.clamp(0.0, elapsed_s);
    let mut nodes: BTreeMap<usize, Vec<f64>> = BTreeMap::new();
    for rank in ranks {
        nodes.entry(rank.node).or_default().push(useful_s(rank));
    }
    let average_s = average(ranks.iter().map(useful_s));
    let longest_s = ranks.iter().map(useful_s).fold(0.0, f64::max);
    let best_node_s = nodes.values().map(|n| average(n.iter().copied())).fold(0.0, f64::max);
    Some(Efficiencies {
        parallel: ratio(average_s, elapsed_s),
        communication: ratio(longest_s, elapsed_s),
        load_balance: ratio(average_s, longest_s),
        load_balance_in: ratio(best_node_s, longest_s),
        load_balance_out: ratio(average_s, best_node_s),
        useful_max_s: longest_s,
    })
}

fn average(values: impl ExactSizeIterator<Item = f64>) -> f64 {
    let n_values = values.len() as f64;
    values.sum::<f64>() / n_values
}

/// Returns `part / whole`; 1 when `whole` is 0: a run without work is in balance.
fn ratio(part: f64, whole: f64) -> f64 {
    // Rounding of sums can put an average a little above the longest of equal values.
    if whole <= 0.0 { 1.0 } else { (part / whole).min(1.0) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn rank(node: usize, mpi_s: f64) -> RankTime {
        RankTime { node, elapsed_s: 10.0, mpi_s }
    }

    #[track_caller]
    fn check(ranks: &[RankTime], expected: [f64; 5]) {
        let e = efficiencies(ranks).unwrap();
        let found =
            [e.parallel, e.communication, e.load_balance, e.load_balance_in, e.load_balance_out];
        for (found, expected) in found.iter().zip(expected) {
            assert!((found - expected).abs() < 1e-12, "{e:?}");
        }
    }

    #[test]
    fn known_cases() {
        check(&[rank(0, 0.0)], [1.0, 1.0, 1.0, 1.0, 1.0]);
        check(&[rank(0, 5.0), rank(0, 5.0)], [0.5, 0.5, 1.0, 1.0, 1.0]);
        // Useful 8 and 4 on one node.
        check(&[rank(0, 2.0), rank(0, 6.0)], [0.6, 0.8, 0.75, 0.75, 1.0]);
        // The same on two nodes: all imbalance is between them.
        check(&[rank(0, 2.0), rank(1, 6.0)], [0.6, 0.8, 0.75, 1.0, 0.75]);
        // Useful 8, 4 | 6, 2: nodes average 6 and 4.
        check(
            &[rank(0, 2.0), rank(0, 6.0), rank(1, 4.0), rank(1, 8.0)],
            [0.5, 0.8, 0.625, 0.75, 5.0 / 6.0],
        );
        check(&[rank(0, 10.0), rank(1, 10.0)], [0.0, 0.0, 1.0, 1.0, 1.0]);
    }

    #[test]
    fn the_longest_rank_is_the_elapsed_time() {
        let short = RankTime { node: 0, elapsed_s: 6.0, mpi_s: 4.0 };
        check(&[rank(0, 4.0), short], [0.6, 0.6, 1.0, 1.0, 1.0]);
    }

    #[test]
    fn nothing_measured_is_no_efficiency() {
        assert_eq!(efficiencies(&[]), None);
        assert_eq!(efficiencies(&[RankTime { node: 0, elapsed_s: 0.0, mpi_s: 0.0 }]), None);
    }

    fn ranks() -> impl Strategy<Value = Vec<RankTime>> {
        let rank =
            (0..4_usize, 0.0..100.0_f64, 0.0..1.5_f64).prop_map(|(node, elapsed_s, share)| {
                RankTime { node, elapsed_s, mpi_s: elapsed_s * share }
            });
        prop::collection::vec(rank, 1..20)
    }

    proptest! {
        #[test]
        fn products_hold_and_all_are_shares(ranks in ranks(), seed in any::<prop::sample::Index>()) {
            prop_assume!(ranks.iter().any(|rank| 1e-3 < rank.elapsed_s));
            let e = efficiencies(&ranks).unwrap();
            prop_assert!((e.parallel - e.communication * e.load_balance).abs() < 1e-9);
            prop_assert!((e.load_balance - e.load_balance_in * e.load_balance_out).abs() < 1e-9);
            let all = [e.parallel, e.communication, e.load_balance, e.load_balance_in, e.load_balance_out];
            prop_assert!(all.iter().all(|share| (0.0..=1.0).contains(share)));
            let mut turned = ranks.clone();
            turned.rotate_left(seed.index(ranks.len()));
            let turned = efficiencies(&turned).unwrap();
            prop_assert!((turned.parallel - e.parallel).abs() < 1e-12);
            prop_assert!((turned.load_balance_in - e.load_balance_in).abs() < 1e-12);
        }
    }
}
