//! Laws of randomly generated programs.

use super::{collective, compute, program, receive, send};
use crate::compose::{
    CollectiveKind, ComposedTime, Machine, Network, RankOperation, SendMode, evaluate,
};
use proptest::prelude::*;

/// Joint action of several ranks; a list of these never deadlocks.
#[derive(Clone, Copy, Debug)]
enum Together {
    Compute(u32, f64),
    Message(u32, u32, u64),
    /// The same, started by both ranks before other steps, with the wait directly after.
    Started(u32, u32, u64),
    All(CollectiveKind, u64),
}

const N_RANKS: u32 = 5;

fn together() -> impl Strategy<Value = Together> {
    let rank = || 0..N_RANKS;
    let bytes = || prop_oneof![0_u64..2000, 60_000_u64..3_000_000];
    let kind = (0..CollectiveKind::ALL.len()).prop_map(|at| CollectiveKind::ALL[at].1);
    prop_oneof![
        4 => (rank(), 0.0..1e-2).prop_map(|(rank, seconds)| Together::Compute(rank, seconds)),
        4 => (rank(), 1..N_RANKS, bytes())
            .prop_map(|(from, by, bytes)| Together::Message(from, (from + by) % N_RANKS, bytes)),
        2 => (rank(), 1..N_RANKS, bytes())
            .prop_map(|(from, by, bytes)| Together::Started(from, (from + by) % N_RANKS, bytes)),
        1 => (kind, bytes()).prop_map(|(kind, bytes)| Together::All(kind, bytes)),
    ]
}

/// Returns the steps of each rank, with ranks renumbered by `rank`.
fn ranks(all: &[Together], rank: impl Fn(u32) -> u32) -> Vec<Vec<RankOperation>> {
    let mut ranks = vec![Vec::new(); N_RANKS as usize];
    for (request, step) in (1_u64..).zip(all) {
        match *step {
            Together::Compute(at, seconds) => ranks[rank(at) as usize].push(compute(seconds)),
            Together::Message(from, to, bytes) => {
                ranks[rank(from) as usize].push(send(rank(to), bytes));
                ranks[rank(to) as usize].push(receive(rank(from)));
            }
            Together::Started(from, to, bytes) => {
                let (from, to, mode) = (rank(from), rank(to), SendMode::Standard);
                let wait = RankOperation::Wait { request };
                let request = Some(request);
                let send = RankOperation::Send { to, tag: 1, bytes, mode, request };
                ranks[from as usize].extend([send, compute(1e-3), wait]);
                let receive = RankOperation::Receive { from, tag: 1, request };
                ranks[to as usize].extend([receive, compute(2e-3), wait]);
            }
            Together::All(kind, bytes) => {
                ranks.iter_mut().for_each(|steps| steps.push(collective(kind, bytes)));
            }
        }
    }
    ranks
}

fn run(all: &[Together], machine: &Machine) -> ComposedTime {
    evaluate(&program(&ranks(all, |rank| rank)), machine).expect("it never stops")
}

fn machine(latency_s: f64) -> Machine {
    Machine::of(Network::uniform(latency_s, 1e-9))
}

proptest! {
    #[test]
    fn time_is_no_less_than_what_a_rank_computes(all in prop::collection::vec(together(), 1..60)) {
        let outcome = run(&all, &machine(5e-6));
        for rank in &outcome.ranks {
            prop_assert!(rank.compute_s <= rank.end_s + 1e-12 && rank.end_s <= outcome.total_s);
            prop_assert!(0.0 <= rank.waiting_s && 0.0 <= rank.transfer_s);
            let sum_s = rank.compute_s + rank.waiting_s + rank.transfer_s;
            prop_assert!((sum_s - rank.end_s).abs() < 1e-9, "{sum_s} is not {}", rank.end_s);
        }
        prop_assert!((0.0..=1.0).contains(&outcome.waiting_share()));
    }

    #[test]
    fn more_of_anything_is_never_faster(
        all in prop::collection::vec(together(), 1..60),
        at in 0_usize..60,
        rank in 0..N_RANKS,
        more_s in 0.0..1e-2,
    ) {
        let total_s = run(&all, &machine(5e-6)).total_s;
        let mut longer = all.clone();
        longer.insert(at.min(all.len()), Together::Compute(rank, more_s));
        prop_assert!(total_s <= run(&longer, &machine(5e-6)).total_s + 1e-12);
        prop_assert!(total_s <= run(&all, &machine(6e-6)).total_s + 1e-12);
    }

    #[test]
    fn the_path_adds_up_to_the_total(all in prop::collection::vec(together(), 1..60)) {
        let outcome = run(&all, &machine(5e-6));
        let on_path_s: f64 = outcome.regions.iter().map(|region| region.on_path_s).sum();
        prop_assert!((on_path_s - outcome.total_s).abs() < 1e-9, "{on_path_s}: {outcome:?}");
        let stays_s: f64 = outcome.path.iter().map(|interval| interval.to_s - interval.from_s).sum();
        prop_assert!((stays_s + outcome.path_transfer_s - outcome.total_s).abs() < 1e-9);
        prop_assert!(outcome.path.windows(2).all(|intervals| intervals[0].to_s <= intervals[1].from_s + 1e-12));
    }

    #[test]
    fn other_numbers_for_ranks_change_nothing(
        all in prop::collection::vec(together(), 1..60),
        by in 1..N_RANKS,
    ) {
        // Trees depend on the root's number, so only operations that are symmetric in the ranks are kept.
        let same = |step: &Together| !matches!(step, Together::All(kind, _)
            if !matches!(kind, CollectiveKind::Barrier | CollectiveKind::Allgather | CollectiveKind::Alltoall));
        let all: Vec<Together> = all.into_iter().filter(same).collect();
        let plain = run(&all, &machine(5e-6));
        let turned = ranks(&all, |rank| (rank + by) % N_RANKS);
        let turned = evaluate(&program(&turned), &machine(5e-6)).expect("it never stops");
        for rank in 0..N_RANKS {
            let moved = turned.ranks[((rank + by) % N_RANKS) as usize].end_s;
            prop_assert!((plain.ranks[rank as usize].end_s - moved).abs() < 1e-12);
        }
    }
}
