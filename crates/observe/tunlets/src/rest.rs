//! Pause of a tunlet after one of its changes did not help.

use app_description::Past;

const N_FIRST: u32 = 8;
const N_AFTER_TRIAL: u32 = 64;
const N_MAX: u32 = 1024;

/// Pause that doubles each time, counted in calls of `pass`: iterations, or news.
#[derive(Clone, Debug, Default)]
pub(crate) struct Rest {
    n_left: u32,
    n_last: u32,
}

impl Rest {
    /// Returns the pause before the first change: the longest one, if the change did not help in earlier runs.
    pub(crate) fn first(past: Past) -> Self {
        if past == Past::Failed { Self { n_left: N_MAX, n_last: N_MAX } } else { Self::default() }
    }

    /// Begins a pause after a change that did not help.
    pub(crate) fn begin(&mut self) {
        self.begin_of(N_FIRST);
    }

    /// Begins a pause after a change that was tried, which costs a program that does not like it: a long one.
    pub(crate) fn begin_after_trial(&mut self) {
        self.begin_of(N_AFTER_TRIAL);
    }

    fn begin_of(&mut self, n_min: u32) {
        self.n_last = (2 * self.n_last).clamp(n_min, N_MAX);
        self.n_left = self.n_last;
    }

    /// Resets the length of the next pause after a change that helped.
    pub(crate) fn forget(&mut self) {
        self.n_last = 0;
    }

    /// Counts one iteration or one piece of news.
    pub(crate) fn pass(&mut self) {
        self.n_left = self.n_left.saturating_sub(1);
    }

    pub(crate) fn is_resting(&self) -> bool {
        0 < self.n_left
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_failed_before_waits_longest() {
        assert!(!Rest::first(Past::Unknown).is_resting());
        assert_eq!(Rest::first(Past::Failed).n_left, N_MAX);
    }

    #[test]
    fn what_was_tried_waits_longer() {
        let mut rest = Rest::default();
        rest.begin();
        rest.begin_after_trial();
        assert_eq!(rest.n_left, N_AFTER_TRIAL);
        rest.begin();
        assert_eq!(rest.n_left, 2 * N_AFTER_TRIAL);
    }

    #[test]
    fn each_rest_is_twice_as_long() {
        let mut rest = Rest::default();
        for expected in [8, 16, 32, 64, 128, 256, 512, 1024, 1024] {
            rest.begin();
            let mut n_passed = 0;
            while rest.is_resting() {
                rest.pass();
                n_passed += 1;
            }
            assert_eq!(n_passed, expected);
        }
    }
}
