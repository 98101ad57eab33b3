//! Tasks that wait behind a long one.

use super::run;
use comm::Transport;
use master_worker::{Iteration, Options, Prefetch, Program, Workers};
use std::ops::Range;
use std::time::Duration;

/// Program of four tasks, of which the first takes long.
#[derive(Clone, Debug)]
struct Uneven;

impl Program for Uneven {
    type Shared = ();
    type Input = ();
    type Output = ();

    fn next(&mut self, iteration: u64) -> Option<Iteration<()>> {
        (iteration == 0).then(|| Iteration::new(4, ()))
    }

    fn input(&self, _tasks: Range<u64>) {}

    fn work(&self, (): &(), tasks: Range<u64>, (): ()) {
        if tasks.contains(&0) {
            std::thread::sleep(Duration::from_millis(300));
        }
    }

    fn recover(&mut self, _tasks: Range<u64>, (): ()) {}
}

pub(super) fn what_waits_behind_a_long_task_is_taken_back<T: Transport>(transport: &mut T) {
    let options = Options::new().policy("ss").prefetch(Prefetch::Always).workers(Workers::Fixed(2));
    if let Some(report) = run(&mut Uneven, transport, &options) {
        let report = report.unwrap();
        let expected = u64::from(2 < transport.n_ranks());
        assert_eq!(report.last().unwrap().n_retracted, expected);
    }
}
