//! Laws that hold for every policy, whatever workers do.

use chunking::{ChunkRequest, ChunkScheduler, Completed, Settings, Spread, Work, all};
use proptest::prelude::*;
use std::collections::BTreeSet;
use std::ops::Range;

/// Next action of a worker.
#[derive(Clone, Copy, Debug)]
enum Deed {
    Asks(u32),
    Returns { worker: u32, task_s: f64, overhead_s: f64 },
    GivesBack { worker: u32, n_tasks: u64 },
    Leaves(u32),
    Joins,
    NextIteration,
}

fn deed() -> impl Strategy<Value = Deed> {
    let worker = 0..6_u32;
    prop_oneof![
        8 => worker.clone().prop_map(Deed::Asks),
        6 => (worker.clone(), measured(), measured())
            .prop_map(|(worker, task_s, overhead_s)| Deed::Returns { worker, task_s, overhead_s }),
        1 => (worker.clone(), 0..1000_u64)
            .prop_map(|(worker, n_tasks)| Deed::GivesBack { worker, n_tasks }),
        1 => worker.prop_map(Deed::Leaves),
        1 => Just(Deed::Joins),
        1 => Just(Deed::NextIteration),
    ]
}

/// Usual times, and any value that a float can have.
fn measured() -> impl Strategy<Value = f64> {
    prop_oneof![6 => 0.0..5e-3, 1 => Just(0.0), 1 => any::<f64>(), 1 => Just(f64::NAN)]
}

fn settings() -> impl Strategy<Value = Settings> {
    let spread =
        (measured(), measured()).prop_map(|(mean_s, deviation_s)| Spread { mean_s, deviation_s });
    let share = prop_oneof![4 => 0.0..=1.0, 1 => any::<f64>()];
    let known = (prop::option::of(measured()), prop::option::of(spread), any::<bool>());
    (0..40_u64, share, 0..4_usize, known).prop_map(
        |(n_tasks_min, share, n_iterations, (overhead_s, spread, asks_ahead))| Settings {
            n_tasks_min,
            share,
            n_iterations,
            overhead_s,
            spread,
            asks_ahead,
        },
    )
}

fn count(tasks: &Range<u64>) -> u64 {
    tasks.end - tasks.start
}

/// Deals with a policy and keeps its own count of the tasks.
struct Account {
    scheduler: ChunkScheduler,
    n_tasks: u64,
    n_workers: u32,
    n_completed: u64,
    done: BTreeSet<u64>,
    chunks: Vec<(u32, Range<u64>)>,
    now_s: f64,
}

impl Account {
    fn new(scheduler: ChunkScheduler, n_tasks: u64, n_workers: u32) -> Self {
        let (done, chunks) = (BTreeSet::new(), Vec::new());
        Self { scheduler, n_tasks, n_workers, n_completed: 0, done, chunks, now_s: 0.0 }
    }

    fn begin(&mut self) {
        self.scheduler.begin(self.n_tasks, self.n_workers);
        self.n_completed = 0;
        self.done.clear();
        self.chunks.clear();
    }

    fn ask(&mut self, worker: u32) {
        let n_left = self.scheduler.n_left();
        let tasks = self.scheduler.deal(worker, self.now_s);
        self.now_s += 1e-5;
        assert_eq!(n_left - count(&tasks), self.scheduler.n_left());
        assert!(!tasks.is_empty() || n_left == 0 || !self.chunks.is_empty());
        if !tasks.is_empty() {
            self.chunks.push((worker, tasks));
        }
    }

    fn take(&mut self, worker: u32) -> Option<Range<u64>> {
        let at = self.chunks.iter().position(|(holder, _)| *holder == worker)?;
        Some(self.chunks.remove(at).1)
    }

    fn complete(&mut self, worker: u32, task_s: f64, overhead_s: f64) {
        let Some(tasks) = self.take(worker) else { return };
        let (first, n_tasks, now_s) = (tasks.start, count(&tasks), self.now_s);
        let compute_s = task_s * n_tasks as f64;
        let done = Completed { worker, first, n_tasks, compute_s, overhead_s, now_s };
        self.scheduler.completed(&done);
        self.n_completed += n_tasks;
        let twice = tasks.filter(|task| !self.done.insert(*task)).count();
        assert_eq!(twice, 0);
    }

    fn carry_out(&mut self, deed: Deed) {
        match deed {
            Deed::Asks(worker) => self.ask(worker),
            Deed::Returns { worker, task_s, overhead_s } => {
                self.complete(worker, task_s, overhead_s);
            }
            Deed::GivesBack { worker, n_tasks } => {
                if let Some(held) = self.take(worker) {
                    let middle = held.end - n_tasks.min(count(&held));
                    self.scheduler.returned(worker, middle..held.end);
                    if held.start < middle {
                        self.chunks.push((worker, held.start..middle));
                    }
                }
            }
            Deed::Leaves(worker) => {
                let held: u64 =
                    std::iter::from_fn(|| self.take(worker)).map(|tasks| count(&tasks)).sum();
                assert_eq!(self.scheduler.left(worker), held);
                self.n_workers = (self.n_workers - 1).max(1);
            }
            Deed::Joins => {
                self.scheduler.joined();
                self.n_workers += 1;
            }
            Deed::NextIteration => self.begin(),
        }
    }

    fn check(&self) {
        let n_in_flight: u64 = self.chunks.iter().map(|(_, tasks)| count(tasks)).sum();
        assert_eq!(self.scheduler.n_in_flight(), n_in_flight);
        assert_eq!(self.scheduler.n_left() + n_in_flight + self.n_completed, self.n_tasks);
    }

    /// Deals and completes the remaining tasks.
    fn end(&mut self) {
        while 0 < self.scheduler.n_left() + self.scheduler.n_in_flight() {
            (0..6).for_each(|worker| self.ask(worker));
            (0..6).for_each(|worker| self.complete(worker, 1e-3, 1e-5));
            self.check();
        }
        assert_eq!(self.n_completed, self.n_tasks);
    }
}

proptest! {
    #[test]
    fn every_task_is_dealt_until_it_is_done(
        settings in settings(),
        n_tasks in 0..3000_u64,
        n_workers in 1..8_u32,
        deeds in prop::collection::vec(deed(), 0..60),
    ) {
        for spec in all() {
            let scheduler = ChunkScheduler::new(spec.policy(&settings));
            let mut account = Account::new(scheduler, n_tasks, n_workers);
            account.begin();
            for deed in &deeds {
                account.carry_out(*deed);
                account.check();
            }
            account.end();
        }
    }

    #[test]
    fn the_same_questions_have_the_same_answers(
        settings in settings(),
        n_tasks in 1..3000_u64,
        deeds in prop::collection::vec(deed(), 0..40),
    ) {
        for spec in all() {
            let [one, other] = [(), ()].map(|()| {
                let scheduler = ChunkScheduler::new(spec.policy(&settings));
                let mut account = Account::new(scheduler, n_tasks, 4);
                account.begin();
                deeds.iter().for_each(|deed| account.carry_out(*deed));
                account.chunks
            });
            prop_assert_eq!(one, other, "{}", spec.name);
        }
    }

    /// An invalid time changes nothing: the same is dealt as without it.
    #[test]
    fn what_is_no_time_is_not_heard(
        n_tasks in 1..3000_u64,
        wrong in prop::sample::select(vec![f64::NAN, f64::INFINITY, f64::NEG_INFINITY, 1e300]),
        is_overhead in any::<bool>(),
    ) {
        for spec in all() {
            let dealt = [false, true].map(|is_said| {
                let mut policy = spec.policy(&Settings::default());
                policy.begin(&Work { n_tasks, n_workers: 4 });
                let (compute_s, overhead_s) = (9e-3, 1e-4);
                let told =
                    Completed { worker: 1, n_tasks: 9, compute_s, overhead_s, ..Completed::default() };
                policy.completed(&told);
                if is_said {
                    let (compute_s, overhead_s) =
                        if is_overhead { (9e-3, wrong) } else { (wrong, 1e-4) };
                    policy.completed(&Completed { compute_s, overhead_s, ..told });
                }
                policy.begin(&Work { n_tasks, n_workers: 4 });
                let request = |worker| ChunkRequest {
                    worker,
                    n_left: n_tasks,
                    n_workers: 4,
                    ..ChunkRequest::default()
                };
                [0, 1, 2, 3, 0, 1].map(|worker| policy.next(&request(worker)))
            });
            prop_assert_eq!(dealt[0], dealt[1], "{}", spec.name);
        }
    }

    #[test]
    fn a_smallest_chunk_is_kept_but_for_the_last_one(n_tasks in 1..5000_u64, smallest in 1..50_u64) {
        let settings = Settings { n_tasks_min: smallest, ..Settings::default() };
        for spec in all().iter().filter(|spec| !["static", "dpf", "daf"].contains(&spec.name)) {
            let mut scheduler = ChunkScheduler::new(spec.policy(&settings));
            scheduler.begin(n_tasks, 4);
            let deal = || Some(count(&scheduler.deal(0, 0.0))).filter(|n| *n != 0);
            let sizes: Vec<u64> = std::iter::from_fn(deal).collect();
            let but_the_last = &sizes[..sizes.len() - 1];
            prop_assert!(but_the_last.iter().all(|n| smallest <= *n), "{}: {sizes:?}", spec.name);
        }
    }
}
