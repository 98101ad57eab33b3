//! Tasks that arrive while an iteration runs.

use super::run;
use comm::Transport;
use master_worker::{Hint, Iteration, IterationReport, Options, Prefetch, Program, Workers};
use std::collections::BTreeSet;
use std::ops::Range;

const N_TASKS: u64 = 200;

/// Each result brings two more tasks.
#[derive(Clone, Debug, Default)]
struct Growth {
    n_arrived: u64,
    recovered: BTreeSet<u64>,
}

impl Program for Growth {
    type Shared = ();
    type Input = u64;
    type Output = u64;

    fn next(&mut self, iteration: u64) -> Option<Iteration<()>> {
        (self.n_arrived, self.recovered) = (1, BTreeSet::new());
        (iteration < 2).then(|| Iteration::new(1, ()))
    }

    fn n_arrived(&self) -> Option<u64> {
        Some(self.n_arrived)
    }

    fn input(&self, tasks: Range<u64>) -> u64 {
        assert!(tasks.end <= self.n_arrived);
        tasks.sum()
    }

    fn work(&self, (): &(), tasks: Range<u64>, sum: u64) -> u64 {
        assert_eq!(sum, tasks.clone().sum::<u64>());
        2 * (tasks.end - tasks.start)
    }

    fn recover(&mut self, tasks: Range<u64>, n_new: u64) {
        self.n_arrived = N_TASKS.min(self.n_arrived + n_new);
        for task in tasks {
            assert!(self.recovered.insert(task));
        }
    }

    fn end_iteration(&mut self, report: &IterationReport) {
        assert!(self.recovered.iter().copied().eq(0..N_TASKS));
        assert_eq!(report.n_tasks, N_TASKS);
    }
}

pub(super) fn what_arrives_belongs_to_the_iteration<T: Transport>(transport: &mut T) {
    for options in [
        Options::new(),
        Options::new().policy("ss").prefetch(Prefetch::Always),
        Options::new().policy("static").master_works(),
    ] {
        if let Some(report) = run(&mut Growth::default(), transport, &options) {
            assert_eq!(report.expect("no task fails").n_tasks, 2 * N_TASKS);
        }
    }
}

/// Tasks 0 to 3 bring those from 4 to 9, of which later ones come first.
#[derive(Clone, Debug, Default)]
struct Urgent {
    n_arrived: u64,
    order: Vec<u64>,
}

impl Program for Urgent {
    type Shared = ();
    type Input = ();
    type Output = ();

    fn next(&mut self, iteration: u64) -> Option<Iteration<()>> {
        self.n_arrived = 4;
        (iteration == 0).then(|| Iteration::new(4, ()))
    }

    fn n_arrived(&self) -> Option<u64> {
        Some(self.n_arrived)
    }

    fn hints(&self, arrived: Range<u64>) -> Vec<Hint> {
        arrived
            .map(|task| Hint::new(task..task + 1).priority(i32::try_from(task).unwrap_or(0)))
            .collect()
    }

    fn input(&self, _tasks: Range<u64>) {}

    fn work(&self, (): &(), _tasks: Range<u64>, (): ()) {}

    fn recover(&mut self, tasks: Range<u64>, (): ()) {
        self.order.extend(tasks);
        self.n_arrived = 10;
    }
}

pub(super) fn what_arrives_may_come_first<T: Transport>(transport: &mut T) {
    let options = Options::new().policy("ss").workers(Workers::Fixed(1)).prefetch(Prefetch::Off);
    let mut program = Urgent::default();
    if let Some(report) = run(&mut program, transport, &options) {
        report.expect("no task fails");
        assert_eq!(program.order, [0, 9, 8, 7, 6, 5, 4, 1, 2, 3]);
    }
}

/// Three iterations of tasks that begin with other workers than they would.
#[derive(Clone, Debug, Default)]
struct Kept {
    rank: u32,
    ranks: Vec<u32>,
}

impl Program for Kept {
    type Shared = ();
    type Input = ();
    type Output = u32;

    fn enter(&mut self, rank: u32) {
        self.rank = rank;
    }

    fn next(&mut self, iteration: u64) -> Option<Iteration<()>> {
        self.ranks = vec![0; 20];
        let all = Iteration::new(20, ()).keep_places();
        match iteration {
            0 => Some(all.near(0..10, 2).near(10..20, 1)),
            1 | 2 => Some(all),
            _ => None,
        }
    }

    fn input(&self, _tasks: Range<u64>) {}

    fn work(&self, (): &(), _tasks: Range<u64>, (): ()) -> u32 {
        self.rank
    }

    fn recover(&mut self, tasks: Range<u64>, rank: u32) {
        tasks.for_each(|task| self.ranks[usize::try_from(task).unwrap_or(0)] = rank);
    }

    fn end_iteration(&mut self, _report: &IterationReport) {
        let expected = (0..20).map(|task| if task < 10 { 2 } else { 1 });
        assert!(self.ranks.iter().copied().eq(expected), "{:?}", self.ranks);
    }
}

pub(super) fn tasks_stay_where_they_were<T: Transport>(transport: &mut T) {
    if transport.n_ranks() != 3 {
        return;
    }
    let options = Options::new().policy("static").prefetch(Prefetch::Off);
    if let Some(report) = run(&mut Kept::default(), transport, &options) {
        assert_eq!(report.expect("no task fails").n_tasks, 60);
    }
}
