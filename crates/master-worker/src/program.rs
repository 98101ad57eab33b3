//! What the user writes.

use crate::message::{Message, MessageError};
use crate::report::{IterationReport, Report};
use std::error::Error;
use std::ops::Range;

/// What may go wrong in a user's own code.
pub type BoxError = Box<dyn Error + Send + Sync>;

/// A program of a master and workers.
///
/// Tasks are numbers from 0 on; what they are is the program's business. Every rank has a program of its
/// own (a clone, where ranks are threads): what the master changes in its one does not reach the
/// workers, except as the shared data of an iteration and the inputs of chunks.
///
/// The methods of the master are called one after the other in the order in which they stand here.
pub trait Program: Clone + Send {
    /// What all workers need for an iteration.
    type Shared: Message;
    /// What goes to a worker with a chunk of tasks; `()` when their numbers say it all.
    type Input: Message;
    /// What a worker returns for a chunk of tasks.
    type Output: Message;

    /// Worker: takes up work, before its first chunk.
    fn enter(&mut self, rank: u32) {
        let _ = rank;
    }

    /// Master: the tasks of the next iteration, counted from 0; `None` when there is none.
    fn next(&mut self, iteration: u64) -> Option<Iteration<Self::Shared>>;

    /// Master: how many iterations there will be in all, where that is known: `--progress` then says how much
    /// time is left.
    fn n_iterations(&self) -> Option<u64> {
        None
    }

    /// Master: what goes with these tasks. It may be asked again for tasks that come back.
    fn input(&self, tasks: Range<u64>) -> Self::Input;

    /// Worker: computes a chunk of tasks.
    ///
    /// It depends on nothing but its arguments and what the program was at the start: it may be called
    /// again on another rank when it panics, or when a rank is lost.
    fn work(&self, shared: &Self::Shared, tasks: Range<u64>, input: Self::Input) -> Self::Output;

    /// Master: takes the results of a chunk, once for every task, chunks in any order.
    fn recover(&mut self, tasks: Range<u64>, output: Self::Output);

    /// Master, after each chunk: whether the other tasks of this iteration need not be computed any more.
    fn is_settled(&self) -> bool {
        false
    }

    /// Master: all tasks of the iteration are recovered, or it is settled.
    fn end_iteration(&mut self, report: &IterationReport) {
        let _ = report;
    }

    /// Master: what [`restore`](Self::restore) needs to go on after this iteration; `None` when the program
    /// has no checkpoints. [`to_bytes`](crate::to_bytes) writes most things.
    ///
    /// # Errors
    /// When something refuses to be written.
    fn save(&self) -> Result<Option<Vec<u8>>, MessageError> {
        Ok(None)
    }

    /// Master: goes back to what was saved; [`from_bytes`](crate::from_bytes) reads it.
    ///
    /// # Errors
    /// When the program cannot go on with this.
    fn restore(&mut self, saved: &[u8]) -> Result<(), BoxError> {
        let _ = saved;
        Ok(())
    }

    /// Master: after the last iteration.
    ///
    /// # Errors
    /// What the program cannot finish, such as writing its result; the run then fails with it.
    fn finish(&mut self, report: &Report) -> Result<(), BoxError> {
        let _ = report;
        Ok(())
    }

    /// Worker: there will be no more chunks.
    fn leave(&mut self) {}
}

/// The tasks of an iteration.
#[derive(Clone, Debug)]
pub struct Iteration<S> {
    pub(crate) n_tasks: u64,
    pub(crate) shared: Option<S>,
    pub(crate) priorities: Vec<(Range<u64>, i32)>,
}

impl<S> Iteration<S> {
    /// So many tasks, and what all workers need for them.
    pub fn new(n_tasks: u64, shared: S) -> Self {
        Self { n_tasks, shared: Some(shared), priorities: Vec::new() }
    }

    /// So many tasks, and the workers have what they need since an earlier iteration.
    pub fn unchanged(n_tasks: u64) -> Self {
        Self { n_tasks, shared: None, priorities: Vec::new() }
    }

    /// Some tasks are dealt before those of a lower priority; all others have priority 0. Where priorities
    /// of two calls overlap, the first one counts.
    #[must_use]
    pub fn priority(mut self, tasks: Range<u64>, priority: i32) -> Self {
        self.priorities.push((tasks, priority));
        self
    }
}
