//! Tasks that arrive while an iteration runs.

use super::run;
use comm::Transport;
use master_worker::{Iteration, IterationReport, Options, Prefetch, Program};
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
