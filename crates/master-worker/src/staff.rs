//! How many workers take part, and where they come from.
//!
//! Between two iterations the wished number is read: that of a tool outside when it set one, else that of the
//! run's own model, else what the options say. [`Staff`] then may start or end ranks; workers above
//! the number are parked, blocked in their receive.

mod headcount;
mod tuned;

pub(crate) use headcount::{Headcount, Timed};

use comm::CommError;

/// Who starts and ends workers. `T` is the transport that they are reached by.
pub trait Staff<T> {
    /// Brings the workers that are there nearer to `n_wished`; called between iterations, when none of those
    /// above the number in use holds work. Where it fails it leaves things as they are.
    ///
    /// # Errors
    /// When the transport can no longer be used.
    fn follow(&mut self, transport: &mut T, n_wished: u32) -> Result<Change, CommError>;
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
    fn follow(&mut self, _transport: &mut T, _n_wished: u32) -> Result<Change, CommError> {
        Ok(Change::default())
    }
}
