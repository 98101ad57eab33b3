//! Waiting between polls: spinning at first, then yielding, then sleeping.
//!
//! A thread that waits long must not slow others down: it sleeps a hundredth of the time waited so far, and so is late
//! by at most one percent.

use std::time::{Duration, Instant};

/// Number of polls before the first that yields.
const N_BUSY: u32 = 32;
/// Time after which it sleeps between polls.
const AWAKE: Duration = Duration::from_millis(5);
/// Longest sleep: transfers in progress need polls to advance.
const SLEEP_MAX: Duration = Duration::from_millis(1);

/// State of one wait.
#[derive(Debug)]
pub(crate) struct Pause {
    began: Instant,
    at_most: Duration,
    n_looks: u32,
}

impl Pause {
    pub(crate) fn at_most(at_most: Duration) -> Self {
        Self { began: Instant::now(), at_most, n_looks: 0 }
    }

    pub(crate) fn waited(&self) -> Duration {
        self.began.elapsed()
    }

    /// Lets some time pass; `false` when no time is left.
    pub(crate) fn pause(&mut self) -> bool {
        self.n_looks = self.n_looks.saturating_add(1);
        if self.n_looks < N_BUSY && !self.at_most.is_zero() {
            std::hint::spin_loop();
            return true;
        }
        let waited = self.waited();
        let Some(left) = self.at_most.checked_sub(waited).filter(|left| !left.is_zero()) else {
            return false;
        };
        if waited < AWAKE {
            std::thread::yield_now();
        } else {
            std::thread::sleep((waited / 100).min(SLEEP_MAX).min(left));
        }
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_wait_of_no_time_is_over_at_once() {
        assert!(!Pause::at_most(Duration::ZERO).pause());
    }

    #[test]
    fn a_wait_ends_after_its_time() {
        let mut pause = Pause::at_most(Duration::from_millis(20));
        while pause.pause() {}
        assert!(Duration::from_millis(20) <= pause.waited());
    }
}
