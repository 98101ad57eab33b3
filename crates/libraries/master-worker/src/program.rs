//! The trait that the user implements.

use crate::message::{Message, MessageError};
use crate::report::{IterationReport, Report};
use std::error::Error;
use std::ops::Range;

/// Any error of the user's own code.
pub type BoxError = Box<dyn Error + Send + Sync>;

/// A master/worker program.
///
/// Tasks are numbered from 0; the program defines what they are. Every rank has its own program (a clone,
/// where ranks are threads): changes that the master makes to its program do not reach the workers, except as
/// the shared data of an iteration and the inputs of chunks.
///
/// The master's methods are called one after the other in the order in which they stand here.
pub trait Program: Clone + Send {
    /// Data that all workers need for an iteration.
    type Shared: Message;
    /// Data sent to a worker with a chunk of tasks; `()` when the task numbers suffice.
    type Input: Message;
    /// Result that a worker returns for a chunk of tasks.
    type Output: Message;

    /// Worker: prepares for work, before its first chunk.
    fn enter(&mut self, rank: u32) {
        let _ = rank;
    }

    /// Master: returns the tasks of the next iteration, counted from 0; `None` after the last one.
    fn next(&mut self, iteration: u64) -> Option<Iteration<Self::Shared>>;

    /// Master: returns the number of tasks of the present iteration so far, where tasks arrive while it runs; `None`
    /// when it has those that it began with. The iteration ends once all that have arrived are done.
    fn n_arrived(&self) -> Option<u64> {
        None
    }

    /// Master: returns the total number of iterations, if known: `--progress` then shows the time left.
    fn n_iterations(&self) -> Option<u64> {
        None
    }

    /// Master: returns the input of these tasks. May be called again for tasks that are dealt again.
    fn input(&self, tasks: Range<u64>) -> Self::Input;

    /// Worker: computes a chunk of tasks.
    ///
    /// The result must depend only on the arguments and on what the program was at the start: the method may
    /// be called again on another rank when it panics, or when a rank is lost.
    fn work(&self, shared: &Self::Shared, tasks: Range<u64>, input: Self::Input) -> Self::Output;

    /// Master: takes the results of a chunk; exactly once for every task, chunks in any order.
    fn recover(&mut self, tasks: Range<u64>, output: Self::Output);

    /// Master, after each chunk: returns whether the other tasks of this iteration are no longer needed.
    fn is_settled(&self) -> bool {
        false
    }

    /// Master: called when all tasks of the iteration are recovered, or it is settled.
    fn end_iteration(&mut self, report: &IterationReport) {
        let _ = report;
    }

    /// Master: returns the state that [`restore`](Self::restore) needs to continue after this iteration;
    /// `None` when the program has no checkpoints. [`to_bytes`](crate::to_bytes) serializes most types.
    ///
    /// # Errors
    /// If something cannot be serialized.
    fn save(&self) -> Result<Option<Vec<u8>>, MessageError> {
        Ok(None)
    }

    /// Master: restores the saved state; [`from_bytes`](crate::from_bytes) reads it.
    ///
    /// # Errors
    /// If the program cannot continue from this state.
    fn restore(&mut self, saved: &[u8]) -> Result<(), BoxError> {
        let _ = saved;
        Ok(())
    }

    /// Master: finishes the program after the last iteration.
    ///
    /// # Errors
    /// If the program cannot finish, for example write its result; the run then fails with this error.
    fn finish(&mut self, report: &Report) -> Result<(), BoxError> {
        let _ = report;
        Ok(())
    }

    /// Worker: cleans up after the last chunk.
    fn leave(&mut self) {}
}

/// Tasks of an iteration.
#[derive(Clone, Debug)]
pub struct Iteration<S> {
    pub(crate) n_tasks: u64,
    pub(crate) shared: Option<S>,
    pub(crate) priorities: Vec<(Range<u64>, i32)>,
}

impl<S> Iteration<S> {
    /// Iteration of `n_tasks` tasks, with the data that all workers need for them.
    pub fn new(n_tasks: u64, shared: S) -> Self {
        Self { n_tasks, shared: Some(shared), priorities: Vec::new() }
    }

    /// Iteration of `n_tasks` tasks that uses the shared data of an earlier iteration.
    pub fn unchanged(n_tasks: u64) -> Self {
        Self { n_tasks, shared: None, priorities: Vec::new() }
    }

    /// Sets the priority of some tasks: higher ones are dealt first; all others have priority 0. Where the
    /// ranges of two calls overlap, the first one counts.
    #[must_use]
    pub fn priority(mut self, tasks: Range<u64>, priority: i32) -> Self {
        self.priorities.push((tasks, priority));
        self
    }
}
