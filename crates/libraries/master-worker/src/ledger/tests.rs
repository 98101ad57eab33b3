//! Tests of the ledger alone: its decisions, and that every task is done once whatever happens.

mod ahead;

use super::*;
use chunking::{Settings, by_name};
use proptest::prelude::*;
use std::collections::BTreeMap;

const PATIENCE_S: f64 = 100.0;
const N_RANKS: u32 = 4;

fn ledger(policy: &str, prefetch: Prefetch) -> Ledger {
    let policy = by_name(policy).unwrap().policy(&Settings::default());
    let rules = Rules {
        prefetch,
        n_attempts: 1000,
        patience_s: PATIENCE_S,
        n_times_overdue: f64::INFINITY,
        is_master_working: false,
    };
    Ledger::new(policy, rules, N_RANKS)
}

fn measured(compute_s: f64) -> WorkerTimes {
    WorkerTimes { compute_s, waited_s: 0.0, n_bytes: 8 }
}

/// All steps at one time: which worker gets which tasks, and which chunks are taken back (as `0..0`).
fn steps(ledger: &mut Ledger, now_s: f64) -> Vec<(u32, Range<u64>)> {
    let mut dealt = Vec::new();
    while let Some(step) = ledger.next_action(now_s) {
        match step {
            LedgerAction::Deal(chunk) => dealt.push((chunk.worker, chunk.tasks)),
            LedgerAction::Retract { worker, .. } => dealt.push((worker, 0..0)),
            LedgerAction::Missed { worker, n_tasks } => dealt.push((worker, n_tasks..n_tasks)),
        }
    }
    dealt
}

/// Ledger of one worker with tasks of 1 s; two chunks of one task were measured, with round trips of 0.5
/// s.
fn measured_ledger(prefetch: Prefetch) -> Ledger {
    let mut ledger = ledger("ss", prefetch);
    for chunk in [1, 2] {
        ledger.begin(1, Wishes::default(), 1);
        assert_eq!(steps(&mut ledger, 0.0), [(1, 0..1)]);
        ledger.finished(1, chunk, measured(1.0), 1.5).unwrap();
        assert!(ledger.is_done());
    }
    ledger
}

#[test]
fn the_next_chunk_leaves_just_before_the_present_one_ends() {
    let mut ledger = measured_ledger(Prefetch::Late);
    ledger.begin(3, Wishes::default(), 1);
    assert_eq!(steps(&mut ledger, 10.0), [(1, 0..1)]);
    // The chunk arrives after a quarter of a second and takes one; the lead is twice the round trip of
    // half a second.
    let leave_s = 10.25 + 1.0 - 2.0 * 0.5;
    assert!((ledger.pause_s(10.0) - (leave_s - 10.0)).abs() < 1e-9);
    assert_eq!(steps(&mut ledger, leave_s - 0.01), []);
    assert_eq!(steps(&mut ledger, leave_s + 0.01), [(1, 1..2)]);
}

#[test]
fn without_prefetch_a_worker_has_one_chunk_and_with_it_always_two() {
    for (prefetch, expected) in [(Prefetch::Off, 1), (Prefetch::Always, 2)] {
        let mut ledger = measured_ledger(prefetch);
        ledger.begin(3, Wishes::default(), 1);
        assert_eq!(steps(&mut ledger, 10.0).len(), expected);
        assert_eq!(steps(&mut ledger, 11.0), []);
    }
}

#[test]
fn an_idle_worker_gets_what_another_one_has_not_begun() {
    let mut ledger = ledger("ss", Prefetch::Always);
    ledger.begin(3, Wishes::default(), 2);
    assert_eq!(steps(&mut ledger, 0.0), [(1, 0..1), (2, 1..2), (1, 2..3)]);
    ledger.finished(2, 2, measured(10.0), 10.0).unwrap();
    // The chunk that worker 1 computes is overdue only a little later.
    assert_eq!(steps(&mut ledger, 10.0), []);
    assert_eq!(steps(&mut ledger, 11.0), [(1, 0..0), (2, 2..3)]);
    assert_eq!(ledger.finished(1, 3, measured(1.0), 12.0), None);
    ledger.finished(1, 1, measured(10.0), 12.0).unwrap();
    ledger.finished(2, 4, measured(1.0), 12.0).unwrap();
    assert!(ledger.is_done());
}

#[test]
fn who_is_silent_is_missed_and_welcome_again() {
    let mut ledger = ledger("static", Prefetch::Late);
    ledger.begin(2, Wishes::default(), 2);
    assert_eq!(steps(&mut ledger, 0.0), [(1, 0..1), (2, 1..2)]);
    ledger.finished(2, 2, measured(1.0), 1.0).unwrap();
    assert_eq!(steps(&mut ledger, PATIENCE_S), []);
    assert_eq!(steps(&mut ledger, PATIENCE_S + 20.0), []);
    assert_eq!(steps(&mut ledger, PATIENCE_S + 21.0), [(1, 1..1), (2, 0..1)]);
    assert!(!ledger.workers.is_in_use(1));
    assert_eq!(ledger.workers.missing().collect::<Vec<_>>(), [1]);
    assert_eq!(ledger.finished(1, 1, measured(1.0), 130.0).unwrap().tasks, 0..1);
    assert!(ledger.workers.is_in_use(1) && ledger.is_done());
    assert_eq!(ledger.workers.missing().collect::<Vec<_>>(), [2]);
    assert_eq!(ledger.finished(2, 3, measured(1.0), 131.0), None);
    assert_eq!(ledger.workers.missing().count(), 0);
}

/// Two workers with tasks of 1 s, of which worker 1 does not answer the last one; at 21 s worker 2 gets it as well.
fn overdue_ledger() -> Ledger {
    let mut ledger = ledger("ss", Prefetch::Off);
    ledger.rules.n_times_overdue = 15.0;
    ledger.begin(3, Wishes::default(), 2);
    assert_eq!(steps(&mut ledger, 0.0), [(1, 0..1), (2, 1..2)]);
    ledger.finished(1, 1, measured(1.0), 1.0).unwrap();
    assert_eq!(steps(&mut ledger, 1.0), [(1, 2..3)]);
    ledger.finished(2, 2, measured(1.0), 1.5).unwrap();
    assert_eq!(steps(&mut ledger, 15.9), []);
    assert_eq!(steps(&mut ledger, 20.0), [], "the master may have been away itself");
    assert_eq!(steps(&mut ledger, 21.0), [(1, 1..1), (2, 2..3)]);
    assert_eq!(ledger.workers.missing().collect::<Vec<_>>(), [1]);
    ledger
}

#[test]
fn of_an_overdue_chunk_the_first_answer_counts() {
    for first in [1, 2] {
        let mut ledger = overdue_ledger();
        let answers = if first == 1 { [(1, 3), (2, 4)] } else { [(2, 4), (1, 3)] };
        let counted = answers.map(|(worker, chunk)| {
            let done = ledger.finished(worker, chunk, measured(40.0), 50.0);
            (done.map(|done| done.tasks), ledger.is_done())
        });
        assert_eq!(counted, [(Some(2..3), true), (None, true)]);
        assert_eq!(ledger.workers.missing().count(), 0);
        ledger.begin(2, Wishes::default(), 2);
        assert_eq!(steps(&mut ledger, 60.0).len(), 2);
        // By as much as chunks were late before, they may be again.
        assert_eq!((steps(&mut ledger, 100.0), steps(&mut ledger, 110.0)), (vec![], vec![]));
    }
}

#[test]
fn a_worker_that_is_missed_leaves_the_master_alone_only_after_the_patience() {
    let mut ledger = overdue_ledger();
    ledger.gone(2);
    assert_eq!(steps(&mut ledger, PATIENCE_S), []);
    assert!(!ledger.workers.is_alone());
    assert_eq!(steps(&mut ledger, PATIENCE_S + 20.0), []);
    assert_eq!(steps(&mut ledger, PATIENCE_S + 21.0), []);
    assert!(ledger.workers.is_alone());
    assert_eq!(ledger.deal_to_master(PATIENCE_S + 21.0).unwrap().tasks, 2..3);
}

#[test]
fn who_is_missed_gets_nothing_in_later_iterations_either() {
    let mut ledger = ledger("static", Prefetch::Off);
    ledger.begin(2, Wishes::default(), 2);
    assert_eq!(steps(&mut ledger, 0.0), [(1, 0..1), (2, 1..2)]);
    ledger.finished(1, 1, measured(1.0), 1.0).unwrap();
    assert_eq!(steps(&mut ledger, PATIENCE_S + 20.0), []);
    assert_eq!(steps(&mut ledger, PATIENCE_S + 21.0), [(2, 1..1), (1, 1..2)]);
    ledger.finished(1, 3, measured(1.0), 130.0).unwrap();
    for (n_workers, now_s) in [(1, 200.0), (2, 300.0)] {
        ledger.begin(4, Wishes::default(), n_workers);
        let dealt = steps(&mut ledger, now_s);
        assert_eq!(dealt, [(1, 0..4)]);
        assert_eq!(ledger.workers.missing().collect::<Vec<_>>(), [2]);
        ledger.settle();
        ledger.finished(1, 3 + u64::from(n_workers), measured(1.0), now_s + 1.0);
    }
}

#[test]
fn what_failed_goes_elsewhere_until_it_failed_too_often() {
    let mut ledger = ledger("static", Prefetch::Off);
    ledger.rules.n_attempts = 2;
    ledger.begin(2, Wishes::default(), 2);
    assert_eq!(steps(&mut ledger, 0.0), [(1, 0..1), (2, 1..2)]);
    assert_eq!(ledger.failed(1, 1, 1.0), None);
    assert_eq!(steps(&mut ledger, 1.0), []);
    ledger.finished(2, 2, measured(1.0), 2.0).unwrap();
    assert_eq!(steps(&mut ledger, 2.0), [(2, 0..1)]);
    assert_eq!(ledger.failed(2, 3, 3.0), Some(0..1));
}

#[test]
fn workers_above_the_number_are_parked() {
    let mut ledger = ledger("static", Prefetch::Off);
    ledger.begin(6, Wishes::default(), 2);
    assert_eq!(steps(&mut ledger, 0.0), [(1, 0..3), (2, 3..6)]);
    assert_eq!(ledger.settle(), []);
    assert!(!ledger.workers.is_alone(), "they will be back");
    ledger.begin(6, Wishes::default(), 3);
    // The first two workers are still busy with tasks that are no longer wanted.
    assert_eq!(steps(&mut ledger, 1.0), [(3, 0..6)]);
    ledger.gone(3);
    assert!(!ledger.workers.is_alone());
    assert_eq!(steps(&mut ledger, PATIENCE_S + 2.0), []);
    let mut missed = steps(&mut ledger, PATIENCE_S + 3.0);
    missed.sort_by_key(|(worker, _)| *worker);
    assert_eq!(missed, [(1, 0..0), (2, 0..0)]);
    assert!(ledger.workers.is_alone());
    assert_eq!(ledger.finished(2, 2, measured(1.0), 104.0), None);
    assert_eq!(steps(&mut ledger, 104.0), [(2, 0..6)]);
    assert_eq!(ledger.workers.present().collect::<Vec<_>>(), [1, 2]);
}

#[test]
fn the_master_takes_what_ends_before_it_is_needed() {
    let mut ledger = measured_ledger(Prefetch::Off);
    ledger.begin(100, Wishes::default(), 1);
    assert_eq!(steps(&mut ledger, 10.0), [(1, 0..1)]);
    assert_eq!(ledger.deal_to_master(10.0).unwrap().tasks, 1..2);
    ledger.finished(0, 4, measured(1.0), 11.0).unwrap();
    ledger.gone(1);
    assert_eq!(ledger.deal_to_master(11.0).unwrap().tasks, 0..1);
}

/// Next event of one worker.
#[derive(Clone, Copy, Debug)]
enum Fate {
    Finishes,
    Fails,
    Dies,
    /// Is silent until it is missing, then continues.
    Sleeps,
}

fn any_fate() -> impl Strategy<Value = (Fate, u32, f64, bool)> {
    let fate = prop_oneof![
        20 => Just(Fate::Finishes),
        3 => Just(Fate::Fails),
        1 => Just(Fate::Dies),
        1 => Just(Fate::Sleeps),
    ];
    (fate, 1..N_RANKS, 0.0..2.0, any::<bool>())
}

/// Workers without real messages.
struct World {
    ledger: Ledger,
    now_s: f64,
    queues: BTreeMap<u32, VecDeque<(u64, Range<u64>)>>,
    n_recovered: Vec<u32>,
    chunk_s: f64,
}

impl World {
    /// Carries out the master's steps; a message that takes a chunk back arrives in time, or too late.
    fn master(&mut self, is_late: bool) {
        while let Some(step) = self.ledger.next_action(self.now_s) {
            match step {
                LedgerAction::Deal(chunk) => {
                    let queue = self.queues.get_mut(&chunk.worker).expect("it is not gone");
                    queue.push_back((chunk.id, chunk.tasks));
                }
                LedgerAction::Retract { worker, chunk } if !is_late => {
                    let queue = self.queues.get_mut(&worker).expect("it is not gone");
                    let begun = queue.pop_front();
                    queue.retain(|(id, _)| *id != chunk);
                    queue.extend(begun);
                    queue.rotate_right(1);
                }
                LedgerAction::Retract { .. } | LedgerAction::Missed { .. } => {}
            }
        }
        if self.ledger.workers.is_alone()
            && let Some(chunk) = self.ledger.deal_to_master(self.now_s)
        {
            self.recover(0, chunk.id);
        }
    }

    fn recover(&mut self, worker: u32, id: u64) {
        let done = self.ledger.finished(worker, id, measured(self.chunk_s), self.now_s);
        for task in done.map_or(0..0, |done| done.tasks) {
            self.n_recovered[usize::try_from(task).unwrap()] += 1;
        }
    }

    fn worker(&mut self, fate: Fate, worker: u32) {
        let n_alive = self.queues.len();
        let Some(queue) = self.queues.get_mut(&worker) else { return };
        match fate {
            Fate::Dies if 1 < n_alive => {
                self.queues.remove(&worker);
                self.ledger.gone(worker);
            }
            Fate::Sleeps => self.now_s += if worker == 1 { 12.0 } else { 2.0 * PATIENCE_S },
            Fate::Fails | Fate::Finishes | Fate::Dies => {
                let Some((id, _)) = queue.pop_front() else { return };
                if matches!(fate, Fate::Fails) {
                    assert_eq!(self.ledger.failed(worker, id, self.now_s), None);
                } else {
                    self.recover(worker, id);
                }
            }
        }
    }
}

proptest! {
    #[test]
    fn every_task_is_done_once_whatever_happens(
        policy in 0..chunking::all().len(),
        prefetch in prop_oneof![Just(Prefetch::Off), Just(Prefetch::Late), Just(Prefetch::Always)],
        n_tasks in 0u64..60,
        n_workers in 1..N_RANKS,
        chunk_s in prop_oneof![Just(1.0), Just(1e-6)],
        n_times_overdue in prop_oneof![Just(f64::INFINITY), Just(10.0)],
        fates in prop::collection::vec(any_fate(), 1..80),
    ) {
        let mut world = World {
            ledger: ledger(chunking::all()[policy].name, prefetch),
            now_s: 0.0,
            queues: (1..N_RANKS).map(|worker| (worker, VecDeque::new())).collect(),
            n_recovered: Vec::new(),
            chunk_s,
        };
        world.ledger.rules.n_times_overdue = n_times_overdue;
        let mut fates = fates.into_iter();
        let wishes = Wishes { priorities: vec![(3..9, 1)], near: vec![(6..20, 2), (30..40, 1)], keeps_places: true };
        for _ in 0..3 {
            world.n_recovered = vec![0; usize::try_from(n_tasks).unwrap()];
            world.ledger.begin(n_tasks, wishes.clone(), n_workers);
            let mut n_rounds = 0;
            while !world.ledger.is_done() {
                n_rounds += 1;
                prop_assert!(n_rounds < 10_000, "it goes on for ever");
                world.master(n_rounds % 2 == 0);
                if let Some((fate, worker, passed_s, is_late)) = fates.next() {
                    world.now_s += passed_s;
                    world.worker(fate, worker);
                    world.master(is_late);
                } else {
                    world.now_s += 0.1;
                    (1..N_RANKS).for_each(|worker| world.worker(Fate::Finishes, worker));
                }
            }
            prop_assert!(world.n_recovered.iter().all(|n| *n == 1), "{:?}", world.n_recovered);
        }
    }
}
