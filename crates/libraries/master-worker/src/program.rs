//! The trait that the user implements.

use crate::ledger::Wishes;
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

    /// Master: returns what is wished for tasks that have arrived; nothing for those that it leaves out.
    fn hints(&self, arrived: Range<u64>) -> Vec<Hint> {
        let _ = arrived;
        Vec::new()
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
    /// be called again on another rank when it panics, when a rank is lost, or when it takes far longer than expected.
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
    pub(crate) wishes: Wishes,
}

impl<S> Iteration<S> {
    /// Iteration of `n_tasks` tasks, with the data that all workers need for them.
    pub fn new(n_tasks: u64, shared: S) -> Self {
        Self { n_tasks, shared: Some(shared), wishes: Wishes::default() }
    }

    /// Iteration of `n_tasks` tasks that uses the shared data of an earlier iteration.
    pub fn unchanged(n_tasks: u64) -> Self {
        Self { n_tasks, shared: None, wishes: Wishes::default() }
    }

    /// Sets the priority of some tasks: higher ones are dealt first; all others have priority 0. Where the
    /// ranges of two calls overlap, the first one counts.
    #[must_use]
    pub fn priority(mut self, tasks: Range<u64>, priority: i32) -> Self {
        self.wishes.priorities.push((tasks, priority));
        self
    }

    /// Gives some tasks to the worker with this rank, which has what they need: other workers get them only when they
    /// have nothing else to do of the same priority. Where the ranges of two calls overlap, the first one counts.
    #[must_use]
    pub fn near(mut self, tasks: Range<u64>, rank: u32) -> Self {
        self.wishes.near.push((tasks, rank));
        self
    }

    /// Adds a wish for some tasks, as for those that arrive.
    #[must_use]
    pub fn hint(mut self, hint: Hint) -> Self {
        hint.add_to(&mut self.wishes);
        self
    }

    /// Gives each task to the worker that did it in the iteration before, if that one called this, too; like
    /// [`near`](Self::near), which counts first. For workers that keep what belongs to a task, such as in a cache.
    #[must_use]
    pub fn keep_places(mut self) -> Self {
        self.wishes.keeps_places = true;
        self
    }
}

/// Wish for tasks that have arrived.
#[derive(Clone, Debug)]
pub struct Hint {
    tasks: Range<u64>,
    priority: i32,
    near: Option<u32>,
}

impl Hint {
    /// Wishes nothing yet for these tasks: priority 0, on any worker.
    #[must_use]
    pub fn new(tasks: Range<u64>) -> Self {
        Self { tasks, priority: 0, near: None }
    }

    /// Sets the priority, as [`Iteration::priority`] does.
    #[must_use]
    pub fn priority(mut self, priority: i32) -> Self {
        self.priority = priority;
        self
    }

    /// Sets the worker, as [`Iteration::near`] does.
    #[must_use]
    pub fn near(mut self, rank: u32) -> Self {
        self.near = Some(rank);
        self
    }

    pub(crate) fn add_to(self, wishes: &mut Wishes) {
        wishes.near.extend(self.near.map(|rank| (self.tasks.clone(), rank)));
        wishes.priorities.push((self.tasks, self.priority));
    }
}
