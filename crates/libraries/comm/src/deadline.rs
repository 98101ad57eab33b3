//! Deadline of a wait.

use crate::CommError;
use mpi::Pause;
use std::time::{Duration, Instant};

/// Start and length of a wait.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Deadline {
    began: Instant,
    at_most: Duration,
}

impl Deadline {
    /// Creates a deadline `at_most` from now.
    pub(crate) fn after(at_most: Duration) -> Self {
        Self { began: Instant::now(), at_most }
    }

    /// Returns the remaining time; `None` when it is over.
    pub(crate) fn left(self) -> Option<Duration> {
        self.at_most.checked_sub(self.began.elapsed()).filter(|left| !left.is_zero())
    }

    /// Returns the wait for what is left.
    pub(crate) fn pause(self) -> Pause {
        Pause::at_most(self.left().unwrap_or_default())
    }

    /// Returns the time waited so far.
    pub(crate) fn waited(self) -> Duration {
        self.began.elapsed()
    }

    /// Returns the error for `what` not happening in time.
    pub(crate) fn late(self, what: &'static str, rank: u32) -> CommError {
        CommError::Late { what, rank, waited: self.waited() }
    }
}
