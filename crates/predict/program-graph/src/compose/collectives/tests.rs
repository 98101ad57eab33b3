//! Compares each operation with the formula of its algorithm.

use super::*;
use crate::compose::Network;

const LATENCY_S: f64 = 8e-6;
const S_PER_BYTE: f64 = 1e-9;

fn network() -> Network {
    Network::uniform(LATENCY_S, S_PER_BYTE)
}

fn one_way_s(n_bytes: u64) -> f64 {
    LATENCY_S + S_PER_BYTE * n_bytes as f64
}

fn run(kind: CollectiveKind, bytes: u64, entries_s: &[f64]) -> Clocks {
    let mut clocks = Clocks::default();
    clocks.enter(entries_s);
    let part = Collective { kind, root: 0, bytes, bytes_received: bytes };
    advance(
        &mut clocks,
        &vec![part; entries_s.len()],
        &Links::uniform(&network()),
        Rules::default(),
    );
    clocks
}

/// Checks the time until the last of `n_ranks` that enter together has left.
#[track_caller]
fn check(kind: CollectiveKind, n_ranks: usize, bytes: u64, expected_s: f64) {
    let clocks = run(kind, bytes, &vec![0.0; n_ranks]);
    let last_s = clocks.at_s.iter().copied().fold(0.0, f64::max);
    let tells = format!("{kind:?} of {bytes} bytes, {n_ranks} ranks: {last_s}, not {expected_s}");
    assert!((last_s - expected_s).abs() < 1e-12, "{tells}");
}

#[test]
fn rounds_are_those_of_the_algorithm() {
    check(CollectiveKind::Barrier, 1024, 0, 10.0 * one_way_s(0));
    check(CollectiveKind::Barrier, 5, 0, 3.0 * one_way_s(0));
    check(CollectiveKind::Barrier, 1, 0, 0.0);
    check(CollectiveKind::Allreduce, 16, 8, 4.0 * one_way_s(8));
    let halves = [4096, 2048, 2048, 4096].map(one_way_s);
    check(CollectiveKind::Allreduce, 4, 8192, halves.iter().sum());
    check(CollectiveKind::Allgather, 8, 100, one_way_s(100) + one_way_s(200) + one_way_s(400));
    check(CollectiveKind::Allgather, 6, 100, one_way_s(100) + 2.0 * one_way_s(200));
    check(CollectiveKind::Allgather, 6, 100_000, 5.0 * one_way_s(100_000));
    check(CollectiveKind::Alltoall, 16, 64, 4.0 * one_way_s(512));
    check(CollectiveKind::Alltoall, 16, 100_000, 15.0 * one_way_s(100_000));
    check(CollectiveKind::Alltoall, 3, 1000, LATENCY_S / 2.0 + 2.0 * (LATENCY_S / 2.0 + 1e-6));
    check(CollectiveKind::ReduceScatter, 4, 4096, one_way_s(2048) + one_way_s(1024));
    check(CollectiveKind::ReduceScatter, 4, 1 << 20, 3.0 * one_way_s(1 << 18));
}

#[test]
fn trees_are_as_high_as_they_should_be() {
    // Eager: the last leaf is three messages away from the root.
    check(CollectiveKind::Bcast, 8, 1000, 3.0 * one_way_s(1000));
    check(CollectiveKind::Reduce, 8, 1000, 3.0 * one_way_s(1000));
    check(CollectiveKind::Gather, 8, 100, one_way_s(100) + one_way_s(200) + one_way_s(400));
    check(CollectiveKind::Scatter, 8, 100, one_way_s(100) + one_way_s(200) + one_way_s(400));
    // Up to 3 workers are served one after the other: the sender is busy with two before the third.
    let busy_s = LATENCY_S / 4.0 + 1e-6;
    check(CollectiveKind::Bcast, 4, 1000, 2.0 * busy_s + one_way_s(1000));
    // Long: the sender waits for each receiver.
    check(CollectiveKind::Scatterv, 4, 100_000, 3.0 * one_way_s(100_000));
}

#[test]
fn a_tree_reaches_every_rank_once_from_any_root() {
    for n_ranks in 2..20 {
        for root in 0..n_ranks {
            let mut clocks = Clocks::default();
            clocks.enter(&vec![0.0; n_ranks]);
            let part = Collective {
                kind: CollectiveKind::Bcast,
                root: u32::try_from(root).expect("small"),
                bytes: 8,
                bytes_received: 0,
            };
            let rules = Rules { linear_up_to: 0 };
            advance(&mut clocks, &vec![part; n_ranks], &Links::uniform(&network()), rules);
            let mut reached: Vec<usize> =
                clocks.dependencies.iter().map(|(rank, _)| *rank).collect();
            reached.sort_unstable();
            let others: Vec<usize> = (0..n_ranks).filter(|rank| *rank != root).collect();
            assert_eq!(reached, others, "{n_ranks} ranks, root {root}");
        }
    }
}

#[test]
fn who_comes_late_is_waited_for_by_those_that_depend_on_it() {
    let late = run(CollectiveKind::Allreduce, 8, &[0.0, 0.0, 1.0, 0.0]);
    assert_eq!(late.waited_s, [1.0, 1.0, 0.0, 1.0]);
    assert!(late.at_s.iter().all(|at_s| (at_s - 1.0 - 2.0 * one_way_s(8)).abs() < 1e-12));
    // No rank waits for a leaf of a broadcast, and all wait for its root.
    let leaf = run(CollectiveKind::Bcast, 8, &[0.0, 0.0, 1.0, 0.0]);
    assert!(leaf.waited_s.iter().all(|waited_s| *waited_s < 1e-4), "{:?}", leaf.waited_s);
    let root = run(CollectiveKind::Bcast, 8, &[1.0, 0.0, 0.0, 0.0]);
    assert!(root.waited_s[1..].iter().all(|waited_s| 1.0 <= *waited_s));
}

/// `t_i = max(t_i, t_(i-k)) + c` in rounds `k = 1 .. p - 1`, written out.
fn pairwise_by_rounds(entries_s: &[f64], round_s: f64) -> Vec<f64> {
    let n_ranks = entries_s.len();
    (1..n_ranks).fold(entries_s.to_vec(), |at_s, k| {
        let after = |i: usize| at_s[i].max(at_s[(i + n_ranks - k) % n_ranks]) + round_s;
        (0..n_ranks).map(after).collect()
    })
}

#[test]
fn the_closed_form_of_an_alltoall_is_what_its_rounds_give() {
    let entries_s: Vec<f64> = (0..13_u32).map(|i| f64::from(i * 7 % 13) * 1e-4).collect();
    let bytes = 100_000;
    let rounds = pairwise_by_rounds(&entries_s, one_way_s(bytes));
    let closed = run(CollectiveKind::Alltoall, bytes, &entries_s);
    for (found, expected) in closed.at_s.iter().zip(&rounds) {
        assert!((found - expected).abs() < 1e-12, "{found}, not {expected}");
    }
}
