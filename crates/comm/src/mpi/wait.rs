//! Waiting for messages: at first busily, then giving way, then asleep.
//!
//! A message mostly comes within microseconds, and a sleeper would see it late. With more ranks than cores
//! the sender may need this core to send it. And a rank that waits long must not slow the others down:
//! it sleeps a hundredth of the time that it has waited, so that it is late by one percent at most. What was waited
//! before counts too, when nothing was sent or received since: who looks after something else every now and then
//! does not begin busily each time.
//!
//! A clock costs as much as a short message does: it is read only when a message does not come at once.

use crate::deadline::Deadline;
use std::time::Duration;

/// Looks before the first that gives way.
const N_BUSY: u32 = 64;
/// Time after which it sleeps between looks.
const AWAKE: Duration = Duration::from_millis(10);
/// Longest sleep: a rank that nobody needs for long hardly takes a core.
const SLEEP_MAX: Duration = Duration::from_millis(5);
/// Longest sleep while messages are on their way, which need us to move on.
const NAP_MAX: Duration = Duration::from_micros(50);

/// One wait, with the looks that it took so far.
#[derive(Debug)]
pub(super) struct Wait {
    at_most: Duration,
    /// Known from the first look on that gives way.
    deadline: Option<Deadline>,
    n_looks: u32,
    /// What was waited before.
    before: Duration,
}

impl Wait {
    pub(super) fn until(deadline: Deadline) -> Self {
        let (at_most, before) = (Duration::MAX, Duration::ZERO);
        Self { at_most, deadline: Some(deadline), n_looks: 0, before }
    }

    /// For this time, after so long a wait before.
    pub(super) fn at_most(at_most: Duration, before: Duration) -> Self {
        Self { at_most, deadline: None, n_looks: 0, before }
    }

    /// How long it was waited, with what was before.
    pub(super) fn waited(&self) -> Duration {
        self.before + self.deadline.map_or(Duration::ZERO, Deadline::waited)
    }

    /// Lets some time pass, less when messages are on their way; `false` when there is none left.
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
