//! Rounds shares of tasks to whole tasks.

/// Rounds a share up to whole tasks, at most `n_max`; `n_max` when it is NaN.
#[expect(clippy::cast_possible_truncation, reason = "a conversion of floats saturates")]
#[expect(clippy::cast_sign_loss, reason = "a conversion of floats saturates")]
pub(crate) fn up(share: f64, n_max: u64) -> u64 {
    if share.is_nan() { n_max } else { ((share * (1.0 - SLACK)).ceil() as u64).min(n_max) }
}

/// Relative tolerance by which a share that is whole but for rounding errors is not rounded up.
const SLACK: f64 = 1e-12;

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(share: f64, expected: u64) {
        assert_eq!(up(share, 100), expected);
    }

    #[test]
    fn parts_of_a_task_are_rounded_up() {
        check(2.0, 2);
        check(2.1, 3);
        check(0.1 * 30.0, 3);
        check(-7.0, 0);
        check(f64::INFINITY, 100);
        check(f64::NAN, 100);
    }
}
