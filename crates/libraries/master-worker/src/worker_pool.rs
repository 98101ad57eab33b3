//! Number of workers that take part, and their source.
//!
//! Between two iterations the wanted number is read: the one set by an outside tool, else that of the run's own
//! model, else that of the options. Then [`WorkerPool`] may start or end ranks; workers beyond the number are parked:
//! they block in their receive.

mod elastic;
mod growth;
mod hosts;
mod iteration_progress;
mod spawned;
mod trials;
mod worker_model;
mod worker_target;

pub(crate) use elastic::{ElasticPool, WorkerSource};
pub(crate) use growth::GrowthLimits;
pub(crate) use iteration_progress::ChunkTimes;
pub(crate) use worker_target::WorkerTarget;

pub use spawned::Spawned;

use comm::CommError;

/// Source that starts and ends workers. `T` is the transport that reaches them.
pub trait WorkerPool<T> {
    /// Returns the largest possible number of workers when `n_present` are present.
    fn n_workers_max(&self, n_present: u32) -> u32 {
        n_present
    }

    /// Brings the number of present workers nearer to the wanted one; called between iterations. If starting or
    /// ending a worker fails, the others stay as they are.
    ///
    /// # Errors
    /// If the transport can no longer be used.
    fn follow(&mut self, transport: &mut T, demand: &WorkerDemand)
    -> Result<PoolChange, CommError>;
}

/// Wanted number of workers, and the workers present.
#[derive(Clone, Debug, Default, PartialEq)]
#[non_exhaustive]
pub struct WorkerDemand {
    /// Number of workers wanted.
    pub n_workers: u32,
    /// Gain expected by the model; `None` when the options or an outside tool set the number.
    pub forecast: Option<Forecast>,
    /// Iterations that this run has done.
    pub n_iterations: u64,
    /// Ranks of the workers present. When there are too many, the first ones take part.
    pub present: Vec<u32>,
    /// Ranks among them that hold no work and may be released.
    pub idle: Vec<u32>,
}

/// Model of the gain of other numbers of workers, from the last iteration.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
#[non_exhaustive]
pub struct Forecast {
    /// Number of workers that took part in the iteration.
    pub n_workers: u32,
    /// Computing time of all of them together, in seconds.
    pub compute_s: f64,
    /// Time of a message to a worker, in seconds.
    pub message_s: f64,
}

impl Forecast {
    /// Returns by how many seconds an iteration is shorter with `n_workers`: the computing time saved per worker,
    /// less the messages to the additional ones.
    pub fn gain_s(&self, n_workers: u32) -> f64 {
        let [now, then] = [self.n_workers, n_workers].map(|n| f64::from(n.max(1)));
        self.compute_s * (1.0 / now - 1.0 / then) - (then - now) * self.message_s
    }
}

/// Result of [`WorkerPool::follow`].
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PoolChange {
    /// Ranks that were released.
    pub left: Vec<u32>,
    /// Remark for the user; empty when there is none.
    pub remark: String,
}

/// Fixed set of workers, all present from the start; those not needed are parked.
#[derive(Clone, Copy, Debug, Default)]
pub struct FixedPool;

impl<T> WorkerPool<T> for FixedPool {
    fn follow(
        &mut self,
        _transport: &mut T,
        _wish: &WorkerDemand,
    ) -> Result<PoolChange, CommError> {
        Ok(PoolChange::default())
    }
}

/// Number of cores of this host.
pub(crate) fn n_cores() -> u32 {
    let n_cores = std::thread::available_parallelism().map_or(1, std::num::NonZero::get);
    u32::try_from(n_cores).unwrap_or(u32::MAX)
}
