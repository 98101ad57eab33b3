//! The moment until which something is awaited.

use crate::CommError;
use std::time::{Duration, Instant};

/// A moment, and since when it is awaited.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Deadline {
    began: Instant,
    at_most: Duration,
}

impl Deadline {
    /// `at_most` from now.
    pub(crate) fn after(at_most: Duration) -> Self {
        Self { began: Instant::now(), at_most }
    }

    /// What is left of the time; `None` when it is over.
    pub(crate) fn left(self) -> Option<Duration> {
        self.at_most.checked_sub(self.began.elapsed()).filter(|left| !left.is_zero())
    }

    /// The time that has passed.
    pub(crate) fn waited(self) -> Duration {
        self.began.elapsed()
    }

    /// The error that `what` did not happen in time.
    pub(crate) fn late(self, what: &'static str, rank: u32) -> CommError {
        CommError::Late { what, rank, waited: self.waited() }
    }
}
