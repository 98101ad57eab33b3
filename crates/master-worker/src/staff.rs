//! How many workers take part, and where they come from.
//!
//! Between two iterations the wished number is read: that of a tool outside when it set one, else that of the
//! run's own model, else what the options say. [`Staff`] then may start or end ranks; workers above
//! the number are parked, blocked in their receive.

mod elastic;
mod growth;
mod headcount;
mod hosts;
mod pulse;
mod spawned;
mod trials;
mod tuned;

pub(crate) use elastic::{Elastic, Source};
pub(crate) use growth::Limits;
pub(crate) use headcount::{Headcount, Timed};

pub use spawned::Spawned;

use comm::CommError;

/// Who starts and ends workers. `T` is the transport that they are reached by.
pub trait Staff<T> {
    /// How many workers there can be at most, when `n_present` are there.
    fn n_workers_max(&self, n_present: u32) -> u32 {
        n_present
    }

    /// Brings the workers that are there nearer to those wished for; called between iterations. Where it fails it
    /// leaves things as they are.
    ///
    /// # Errors
    /// When the transport can no longer be used.
    fn follow(&mut self, transport: &mut T, wish: &Wish) -> Result<Change, CommError>;
}

/// How many workers are wished for, and who is there.
#[derive(Clone, Debug, Default, PartialEq)]
#[non_exhaustive]
pub struct Wish {
    /// So many.
    pub n_workers: u32,
    /// What the model expects of them; `None` when somebody simply wants so many.
    pub forecast: Option<Forecast>,
    /// Iterations that this run has done.
    pub n_iterations: u64,
    /// Ranks of the workers that are there. When there are too many, the first ones take part.
    pub present: Vec<u32>,
    /// Those of them that hold no work, and may be let go.
    pub idle: Vec<u32>,
}

/// What other numbers of workers would gain, as the last iteration was.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
#[non_exhaustive]
pub struct Forecast {
    /// Workers that took part in it.
    pub n_workers: u32,
    /// Computing of all of them together, in seconds.
    pub compute_s: f64,
    /// What a message to a worker took, in seconds.
    pub message_s: f64,
}

impl Forecast {
    /// By how much an iteration is shorter with so many: what the computing of each gets less, without the messages
    /// to the further ones.
    pub fn gain_s(&self, n_workers: u32) -> f64 {
        let [now, then] = [self.n_workers, n_workers].map(|n| f64::from(n.max(1)));
        self.compute_s * (1.0 / now - 1.0 / then) - (then - now) * self.message_s
    }
}

/// What [`Staff::follow`] did.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Change {
    /// Ranks that were let go.
    pub left: Vec<u32>,
    /// What a person should know of it; empty when there is nothing.
    pub remark: String,
}

/// All workers are there from the start; those not needed are parked.
#[derive(Clone, Copy, Debug, Default)]
pub struct Parked;

impl<T> Staff<T> for Parked {
    fn follow(&mut self, _transport: &mut T, _wish: &Wish) -> Result<Change, CommError> {
        Ok(Change::default())
    }
}

/// Cores of this host.
pub(crate) fn n_cores() -> u32 {
    let n_cores = std::thread::available_parallelism().map_or(1, std::num::NonZero::get);
    u32::try_from(n_cores).unwrap_or(u32::MAX)
}
