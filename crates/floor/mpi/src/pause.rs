//! Waiting between polls: first spinning, then yielding, then sleeping.
//!
//! Most messages arrive within microseconds, and a sleeping rank would see them late. With more ranks than cores
//! the sender may need this core to send. And a rank that waits long must not slow the others down:
//! it sleeps a hundredth of the time waited so far, so that it is late by at most one percent.
//!
//! Reading a clock costs as much as a short message: it is read only when a message does not arrive at once.

use std::time::{Duration, Instant};

/// Number of polls before the first that yields.
const N_BUSY: u32 = 64;
/// Time after which it sleeps between polls.
const AWAKE: Duration = Duration::from_millis(10);

/// State of one wait.
#[derive(Debug)]
pub struct Pause {
    at_most: Duration,
    /// Time of the first poll that yields.
    began: Option<Instant>,
    n_polls: u32,
    /// Time waited before.
    before: Duration,
}

impl Pause {
    /// Longest sleep while transfers are in progress in the background, which need polls to advance.
    pub const SLEEP_MAX: Duration = Duration::from_millis(1);

    /// Creates a wait of at most this time.
    #[must_use]
    pub const fn at_most(at_most: Duration) -> Self {
        Self { at_most, began: None, n_polls: 0, before: Duration::ZERO }
    }

    /// Counts an earlier wait too, since which nothing happened: a rank that polls between other work does not start
    /// spinning each time.
    #[must_use]
    pub const fn after(self, before: Duration) -> Self {
        Self { before, ..self }
    }

    /// Returns the time waited, including earlier waits.
    #[must_use]
    pub fn waited(&self) -> Duration {
        self.before + self.began.map_or(Duration::ZERO, |began| began.elapsed())
    }

    /// Lets some time pass, in one sleep at most `sleep_max`; `false` when no time is left.
    pub fn pause(&mut self, sleep_max: Duration) -> bool {
        if self.at_most.is_zero() {
            return false;
        }
        self.n_polls = self.n_polls.saturating_add(1);
        if self.n_polls < N_BUSY {
            std::hint::spin_loop();
            return true;
        }
        let elapsed = self.began.get_or_insert_with(Instant::now).elapsed();
        let left = self.at_most.checked_sub(elapsed).filter(|left| !left.is_zero());
        let Some(left) = left else { return false };
        match self.before + elapsed {
            waited if waited < AWAKE => std::thread::yield_now(),
            waited => std::thread::sleep((waited / 100).min(sleep_max).min(left)),
        }
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_wait_of_no_time_is_over_at_once() {
        let mut pause = Pause::at_most(Duration::ZERO).after(Duration::from_secs(3));
        assert!(!pause.pause(Pause::SLEEP_MAX) && !pause.pause(Pause::SLEEP_MAX));
        assert_eq!(pause.waited(), Duration::from_secs(3));
    }

    #[test]
    fn a_message_that_comes_at_once_costs_no_clock() {
        let mut pause = Pause::at_most(Duration::from_secs(60));
        assert!((1..N_BUSY).all(|_| pause.pause(Pause::SLEEP_MAX)));
        assert!(pause.began.is_none());
        assert!(pause.pause(Pause::SLEEP_MAX) && pause.began.is_some());
    }

    #[test]
    fn a_wait_ends_after_its_time() {
        let mut pause = Pause::at_most(Duration::from_millis(20)).after(Duration::from_secs(1));
        while pause.pause(Duration::from_millis(5)) {}
        assert!(Duration::from_millis(1020) <= pause.waited());
    }
}
