//! Waiting for messages: at first busily, then giving way, then asleep.
//!
//! A message mostly comes within microseconds, and a sleeper would see it late. With more ranks than cores
//! the sender may need this core to send it. And a rank that waits long must not slow the others down:
//! it sleeps a hundredth of the time that it has waited, so that it is late by one percent at most. What was waited
//! before counts too, when nothing was sent or received since: who looks after something else every now and then
//! does not begin busily each time.

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
    deadline: Option<Deadline>,
    n_looks: u32,
    /// What was waited before.
    before: Duration,
}

impl Wait {
    pub(super) fn until(deadline: Deadline) -> Self {
        Self { deadline: Some(deadline), n_looks: 0, before: Duration::ZERO }
    }

    /// For this time from now, after so long a wait before; a wait of no time reads no clock.
    pub(super) fn at_most(at_most: Duration, before: Duration) -> Self {
        let deadline = (!at_most.is_zero()).then(|| Deadline::after(at_most));
        Self { deadline, n_looks: 0, before }
    }

    /// How long it was waited, with what was before.
    pub(super) fn waited(&self) -> Duration {
        self.before + self.deadline.map_or(Duration::ZERO, Deadline::waited)
    }

    /// Lets some time pass, less when messages are on their way; `false` when there is none left.
    pub(super) fn pause(&mut self, is_moving: bool) -> bool {
        let Some(deadline) = self.deadline else { return false };
        self.n_looks = self.n_looks.saturating_add(1);
        if self.n_looks < N_BUSY {
            std::hint::spin_loop();
            return true;
        }
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
