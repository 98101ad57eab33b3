//! Whether a program that has died is started again, and after how long.

use std::time::Duration;

/// Time before the first restart; it doubles with each.
pub(super) const FIRST_WAIT: Duration = Duration::from_secs(1);
const LONGEST_WAIT: Duration = Duration::from_mins(1);

/// Restarts so far.
#[derive(Clone, Debug)]
pub(super) struct RestartPolicy {
    pub(super) n_max: u32,
    n_made: u32,
    first_wait: Duration,
    /// Iteration of the checkpoint at the last death; the inner `None` if there was no checkpoint.
    died_at: Option<Option<u64>>,
}

/// What follows a death.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum AfterDeath {
    /// It is started again, for the `number`-th time.
    Again { wait: Duration, number: u32 },
    /// It has died twice with the same checkpoint.
    NoProgress,
    /// There were as many restarts as allowed.
    Exhausted,
}

impl RestartPolicy {
    pub(super) fn new(n_max: u32, first_wait: Duration) -> Self {
        Self { n_max, n_made: 0, first_wait, died_at: None }
    }

    /// The program has died; its newest checkpoint, if any, is that of this iteration.
    pub(super) fn after(&mut self, iteration: Option<u64>) -> AfterDeath {
        if self.died_at.replace(iteration) == Some(iteration) {
            return AfterDeath::NoProgress;
        }
        if self.n_made == self.n_max {
            return AfterDeath::Exhausted;
        }
        let wait = self.first_wait * 2_u32.saturating_pow(self.n_made.min(10));
        self.n_made += 1;
        AfterDeath::Again { wait: wait.min(LONGEST_WAIT), number: self.n_made }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn again(seconds: u64, number: u32) -> AfterDeath {
        AfterDeath::Again { wait: Duration::from_secs(seconds), number }
    }

    #[test]
    fn waits_grow_up_to_a_minute() {
        let mut policy = RestartPolicy::new(100, FIRST_WAIT);
        let waits = (0..8).map(|iteration| policy.after(Some(iteration)));
        let expected = [1, 2, 4, 8, 16, 32, 60, 60].into_iter().zip(1..);
        let expected = expected.map(|(seconds, number)| again(seconds, number));
        assert_eq!(waits.collect::<Vec<_>>(), expected.collect::<Vec<_>>());
    }

    #[test]
    fn who_dies_twice_at_the_same_iteration_stays_dead() {
        let mut policy = RestartPolicy::new(10, FIRST_WAIT);
        assert_eq!(policy.after(None), again(1, 1));
        assert_eq!(policy.after(Some(5)), again(2, 2));
        assert_eq!(policy.after(Some(5)), AfterDeath::NoProgress);
        let mut policy = RestartPolicy::new(10, FIRST_WAIT);
        assert_eq!(policy.after(None), again(1, 1));
        assert_eq!(policy.after(None), AfterDeath::NoProgress);
    }

    #[test]
    fn restarts_are_bounded() {
        let mut policy = RestartPolicy::new(1, FIRST_WAIT);
        assert_eq!(policy.after(Some(1)), again(1, 1));
        assert_eq!(policy.after(Some(2)), AfterDeath::Exhausted);
        assert_eq!(RestartPolicy::new(0, FIRST_WAIT).after(None), AfterDeath::Exhausted);
    }
}
