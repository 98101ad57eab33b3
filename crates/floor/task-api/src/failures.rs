//! Rules of a submission for tasks that fail.

use serde::{Deserialize, Serialize};

use crate::TaskOutcome;

/// Longest time between two attempts at a task that fails, in ms.
pub const RETRY_DELAY_MS_MAX: u64 = 300_000;

/// What is done when tasks of a submission fail.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(default)]
pub struct FailureRules {
    /// Most times that a task is tried again after an attempt that ended with a code other than 0 or by a signal.
    pub n_retries_max: u32,
    /// Time before the first of these, in ms; it doubles each time, up to [`RETRY_DELAY_MS_MAX`].
    pub retry_delay_ms: u64,
    /// Most tasks that may fail for good: when one more has, all others of the submission are canceled.
    pub n_fails_max: Option<u64>,
}

impl Default for FailureRules {
    fn default() -> Self {
        Self { n_retries_max: 0, retry_delay_ms: 1_000, n_fails_max: None }
    }
}

impl FailureRules {
    /// Returns whether a failure has no consequence.
    pub fn are_plain(&self) -> bool {
        self.n_retries_max == 0 && self.n_fails_max.is_none()
    }

    /// Time in ms before a task is tried again whose last attempt ended with `outcome`, after `n_before` that failed;
    /// `None` where it is not: an attempt that succeeded, was canceled or could not be started is the last one.
    pub fn retry_after_ms(&self, outcome: &TaskOutcome, n_before: u32) -> Option<u64> {
        let ran = matches!(outcome, TaskOutcome::Exit(_) | TaskOutcome::Signal(_));
        if !ran || outcome.is_success() || self.n_retries_max <= n_before {
            return None;
        }
        let factor = 1_u64.checked_shl(n_before).unwrap_or(u64::MAX);
        Some(self.retry_delay_ms.saturating_mul(factor).min(RETRY_DELAY_MS_MAX))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(outcome: &TaskOutcome, n_before: u32, expected: Option<u64>) {
        let rules = FailureRules { n_retries_max: 100, ..FailureRules::default() };
        assert_eq!(rules.retry_after_ms(outcome, n_before), expected);
    }

    #[test]
    fn the_time_before_a_retry_doubles_up_to_a_bound() {
        let failed = TaskOutcome::Exit(3);
        check(&failed, 0, Some(1_000));
        check(&failed, 1, Some(2_000));
        check(&failed, 8, Some(256_000));
        check(&failed, 9, Some(RETRY_DELAY_MS_MAX));
        check(&failed, 99, Some(RETRY_DELAY_MS_MAX));
        check(&failed, 100, None);
        check(&TaskOutcome::Signal(11), 0, Some(1_000));
        check(&TaskOutcome::Exit(0), 0, None);
        check(&TaskOutcome::Canceled, 0, None);
        check(&TaskOutcome::Lost, 0, None);
        check(&TaskOutcome::NotStarted("no `x`".to_owned()), 0, None);
        assert_eq!(FailureRules::default().retry_after_ms(&failed, 0), None);
    }
}
