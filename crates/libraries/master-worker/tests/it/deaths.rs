//! Workers that die, and code that panics, in any number and order.
#![expect(clippy::unwrap_used, reason = "these are tests")]

use comm::{CommError, Envelope, Tag, ThreadTransport, Transport};
use master_worker::{Iteration, Options, Plain, Prefetch, Program, lead, serve};
use proptest::prelude::*;
use std::collections::BTreeSet;
use std::ops::Range;
use std::sync::{Arc, Mutex};
use std::time::Duration;

/// Transport of a rank that dies at its `n_sends`-th send.
struct Mortal {
    end: ThreadTransport,
    n_sends: u32,
}

impl Transport for Mortal {
    fn rank(&self) -> u32 {
        self.end.rank()
    }

    fn n_ranks(&self) -> u32 {
        self.end.n_ranks()
    }

    fn is_present(&self, rank: u32) -> bool {
        self.end.is_present(rank)
    }

    fn send(&mut self, to: u32, tag: Tag, parts: &[&[u8]]) -> Result<(), CommError> {
        self.n_sends = self.n_sends.checked_sub(1).ok_or(CommError::Finalized)?;
        self.end.send(to, tag, parts)
    }

    fn receive(
        &mut self,
        from: Option<u32>,
        at_most: Duration,
        into: &mut Vec<u8>,
    ) -> Result<Option<Envelope>, CommError> {
        self.end.receive(from, at_most, into)
    }

    fn broadcast(
        &mut self,
        root: u32,
        bytes: &mut Vec<u8>,
        at_most: Duration,
    ) -> Result<(), CommError> {
        self.end.broadcast(root, bytes, at_most)
    }

    fn barrier(&mut self, at_most: Duration) -> Result<(), CommError> {
        self.end.barrier(at_most)
    }

    fn leave(&mut self, at_most: Duration) -> Result<(), CommError> {
        self.end.leave(at_most)
    }

    fn release(&mut self, rank: u32, at_most: Duration) -> Result<(), CommError> {
        self.end.release(rank, at_most)
    }

    fn now_s(&self) -> f64 {
        self.end.now_s()
    }
}

/// Counts how often each task is recovered; some tasks panic at the first attempt.
#[derive(Clone, Debug)]
struct Counted {
    n_recovered: Vec<u32>,
    n_iterations: u64,
    panics: Arc<Mutex<BTreeSet<u64>>>,
}

impl Program for Counted {
    type Shared = u64;
    type Input = ();
    type Output = Plain<u64>;

    fn next(&mut self, iteration: u64) -> Option<Iteration<u64>> {
        let n_tasks = self.n_recovered.len() as u64;
        (iteration < self.n_iterations).then(|| Iteration::new(n_tasks, iteration))
    }

    fn input(&self, _tasks: Range<u64>) {}

    fn work(&self, iteration: &u64, tasks: Range<u64>, (): ()) -> Plain<u64> {
        let is_panic = {
            let mut panics = self.panics.lock().unwrap();
            tasks.clone().filter(|task| panics.remove(task)).count() != 0
        };
        assert!(!is_panic, "as planned");
        tasks.map(|task| task + 1000 * iteration).collect()
    }

    fn recover(&mut self, tasks: Range<u64>, output: Plain<u64>) {
        for (task, result) in tasks.zip(&output) {
            assert_eq!(result % 1000, task);
            self.n_recovered[usize::try_from(task).unwrap()] += 1;
        }
    }
}

/// Runs the program; the `n`-th worker dies at its `n_sends[n]`-th send.
fn recovered(program: Counted, n_sends: &[Option<u32>], options: &Options) -> (Vec<u32>, u64) {
    let n_ranks = u32::try_from(n_sends.len()).unwrap() + 1;
    let mut ends = comm::threads(n_ranks).into_iter();
    let mut master = ends.next().unwrap();
    let mut leading = program.clone();
    std::thread::scope(|scope| {
        for (end, n_sends) in ends.zip(n_sends) {
            let mut program = program.clone();
            let mut end = Mortal { end, n_sends: n_sends.unwrap_or(u32::MAX) };
            scope.spawn(move || {
                if serve(&mut program, &mut end, options).is_ok() {
                    end.leave(Duration::from_secs(60)).unwrap();
                }
            });
        }
        let report = lead(&mut leading, &mut master, options).unwrap();
        let n_lost = report.history.iter().map(|iteration| iteration.n_lost).sum();
        (leading.n_recovered, n_lost)
    })
}

fn counted(n_tasks: usize, panics: &[u64]) -> Counted {
    let panics = Arc::new(Mutex::new(panics.iter().copied().collect()));
    Counted { n_recovered: vec![0; n_tasks], n_iterations: 3, panics }
}

#[test]
fn the_work_of_a_dead_worker_is_dealt_again() {
    let options = Options::new().policy("gss");
    let found = recovered(counted(100, &[]), &[Some(1), None, Some(2)], &options);
    assert_eq!(found, (vec![3; 100], 2));
}

#[test]
fn the_master_goes_on_alone_when_all_are_dead() {
    let found = recovered(counted(100, &[7]), &[Some(0), Some(2)], &Options::new().policy("ss"));
    assert_eq!(found, (vec![3; 100], 2));
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]
    #[test]
    fn every_task_is_recovered_once(
        policy in 0..chunking::all().len(),
        prefetch in prop_oneof![Just(Prefetch::Off), Just(Prefetch::Late), Just(Prefetch::Always)],
        is_synchronous: bool,
        is_master_working: bool,
        n_tasks in 0usize..200,
        n_sends in prop::collection::vec(prop::option::weighted(0.3, 0u32..20), 0..5),
        panics in prop::collection::vec(0u64..200, 0..4),
    ) {
        let mut options = Options::new().policy(chunking::all()[policy].name).prefetch(prefetch);
        options = if is_synchronous { options.synchronous() } else { options };
        options = if is_master_working { options.master_works() } else { options };
        let (recovered, _) = recovered(counted(n_tasks, &panics), &n_sends, &options.attempts(10));
        prop_assert_eq!(recovered, vec![3; n_tasks]);
    }
}
