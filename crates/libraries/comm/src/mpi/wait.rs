//! Waiting for messages: first spinning, then yielding, then sleeping.
//!
//! Most messages arrive within microseconds, and a sleeping rank would see them late. With more ranks than cores
//! the sender may need this core to send. And a rank that waits long must not slow the others down:
//! it sleeps a hundredth of the time waited so far, so that it is late by at most one percent. Earlier
//! waits count too when nothing was sent or received since: a rank that polls between other work
//! does not start spinning each time.
//!
//! Reading a clock costs as much as a short message: it is read only when a message does not arrive at once.

use crate::deadline::Deadline;
use std::time::Duration;

/// Number of polls before the first that yields.
const N_BUSY: u32 = 64;
/// Time after which it sleeps between polls.
const AWAKE: Duration = Duration::from_millis(10);
/// Longest sleep: a rank that is not needed for long hardly uses a core.
const SLEEP_MAX: Duration = Duration::from_millis(5);
/// Longest sleep while messages are in transit, whose progress needs this rank.
const NAP_MAX: Duration = Duration::from_micros(50);

/// State of one wait.
#[derive(Debug)]
pub(super) struct Wait {
    at_most: Duration,
    /// Set at the first poll that yields.
    deadline: Option<Deadline>,
    n_looks: u32,
    /// Time waited before.
    before: Duration,
}

impl Wait {
    pub(super) fn until(deadline: Deadline) -> Self {
        let (at_most, before) = (Duration::MAX, Duration::ZERO);
        Self { at_most, deadline: Some(deadline), n_looks: 0, before }
    }

    /// Creates a wait of at most this time, after an earlier wait of `before`.
    pub(super) fn at_most(at_most: Duration, before: Duration) -> Self {
        Self { at_most, deadline: None, n_looks: 0, before }
    }

    /// Returns the time waited, including earlier waits.
    pub(super) fn waited(&self) -> Duration {
        self.before + self.deadline.map_or(Duration::ZERO, Deadline::waited)
    }

    /// Lets some time pass, less when messages are in transit; `false` when no time is left.
    pub(super) fn pause(&mut self, is_moving: bool) -> bool {
        if self.at_most.is_zero() {
            return false;
        }
        self.n_looks = self.n_looks.saturating_add(1);
        if self.n_looks < N_BUSY {
            std::hint::spin_loop();
            return true;
        }
        let deadline = *self.deadline.get_or_insert_with(|| Deadline::after(self.at_most));
        let Some(left) = deadline.left() else { return false };
        match self.before + deadline.waited() {
            waited if waited < AWAKE => std::thread::yield_now(),
            waited => {
                let longest = if is_moving { NAP_MAX } else { SLEEP_MAX };
                std::thread::sleep((waited / 100).min(longest).min(left));
            }
        }
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_wait_of_no_time_is_over_at_once() {
        let mut wait = Wait::at_most(Duration::ZERO, Duration::from_secs(3));
        assert!(!wait.pause(true) && !wait.pause(true));
        assert_eq!(wait.waited(), Duration::from_secs(3));
    }

    #[test]
    fn a_message_that_comes_at_once_costs_no_clock() {
        let mut wait = Wait::at_most(Duration::from_secs(60), Duration::ZERO);
        assert!((1..N_BUSY).all(|_| wait.pause(true)));
        assert!(wait.deadline.is_none());
        assert!(wait.pause(true) && wait.deadline.is_some());
    }

    #[test]
    fn a_wait_ends_after_its_time() {
        let mut wait = Wait::at_most(Duration::from_millis(20), Duration::from_secs(1));
        while wait.pause(false) {}
        assert!(Duration::from_millis(1020) <= wait.waited());
    }
}
