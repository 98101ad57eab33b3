//! Compares the iterations after a change with those before.
//!
//! Times scatter, and programs get slower or faster by themselves. The difference of the medians counts as far as it
//! exceeds its own *noise*, twice the standard error that follows from the scatter on both sides; while that leaves open
//! on which side of the limit the change is, more iterations are awaited. A trend before the change is continued, and
//! only what differs from it is taken for an effect.

use super::Options;
use super::iterations::Iterations;
use events::tuning::Effect;
use statistics::median;

/// Windows of iterations that a trial may take until it is judged as it is.
const N_WINDOWS_MAX: usize = 4;
/// Standard error of a median of normal values, in units of their median deviation from the median.
const ERROR_PER_DEVIATION: f64 = 1.4826 * 1.2533;
/// Least number of iterations that show a trend.
const N_TREND_MIN: usize = 6;
/// Least excess of pairs of iterations that grow over those that shrink, or the reverse, as a share of all pairs.
const TREND_MIN: f64 = 0.7;
/// Largest relative difference that a trend may explain.
const TREND_MAX: f64 = 0.5;

/// Comparison under way.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Trial {
    /// Ends and times per unit of work before the first change.
    before: Vec<(f64, f64)>,
    /// Time at which the last change took effect.
    changed_s: f64,
    /// Relative slowdown above which the change is undone.
    limit: f64,
    /// Source of the iterations, which must stay the same.
    n_sources: u64,
}

/// Progress of a trial.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum TrialProgress {
    /// More iterations are needed.
    Open,
    /// A comparison is impossible, with the reason.
    Unmeasurable(String),
    /// The trial is over.
    Judged {
        /// Times before and after the change.
        effect: Effect,
        is_good: bool,
    },
}

impl Trial {
    /// Creates a trial of changes that took effect between `first_s` and `last_s`.
    pub(super) fn new(iterations: &Iterations, (first_s, last_s): (f64, f64), limit: f64) -> Self {
        let before = iterations.before(first_s, N_WINDOWS_MAX * iterations.n_window());
        Self { before, changed_s: last_s, limit, n_sources: iterations.n_sources }
    }

    /// Returns the progress of the trial with these iterations.
    pub(super) fn look(&self, iterations: &Iterations, options: &Options) -> TrialProgress {
        if let Some(why) = iterations.why_none() {
            return TrialProgress::Unmeasurable(why.to_owned());
        }
        if self.n_sources != iterations.n_sources {
            let why = "the program's iterations are others than before it";
            return TrialProgress::Unmeasurable(why.to_owned());
        }
        if !median(times(&self.before)).is_some_and(|before_s| 0.0 < before_s) {
            let why = "no iteration had ended before it";
            return TrialProgress::Unmeasurable(why.to_owned());
        }
        let n_window = iterations.n_window();
        let n_max = N_WINDOWS_MAX * n_window;
        let after = iterations.after(self.changed_s, options.n_settle, n_max);
        if after.len() < n_window {
            return TrialProgress::Open;
        }
        let newest = self.before.len().saturating_sub(n_window.max(after.len()));
        let effect = compare(&self.before[newest..], &after);
        match judge(&effect, self.limit, n_max <= after.len()) {
            Some(is_good) => TrialProgress::Judged { effect, is_good },
            None => TrialProgress::Open,
        }
    }
}

/// Returns whether a change is good; `None` if more iterations can tell, unless these are the last.
///
/// A difference within its noise is none: such a change is good if it need not help.
fn judge(effect: &Effect, limit: f64, is_last: bool) -> Option<bool> {
    let Effect { change, noise, .. } = *effect;
    if change + noise <= limit {
        return Some(true);
    }
    if limit < change - noise {
        return Some(false);
    }
    let counted = if change.abs() <= noise { 0.0 } else { change };
    is_last.then_some(counted <= limit)
}

/// Returns the difference between iterations before and after, given by end and time.
fn compare(before: &[(f64, f64)], after: &[(f64, f64)]) -> Effect {
    let trend = trend(before).unwrap_or_default();
    let (before, after) = (Side::of(before, trend), Side::of(after, trend));
    let bound_s = TREND_MAX * before.time_s;
    let drift_s = (trend * (after.end_s - before.end_s)).clamp(-bound_s, bound_s);
    let (before_s, after_s) = (before.time_s + drift_s, after.time_s);
    let error_s = before.error_s.hypot(after.error_s);
    let (change, noise) = (after_s / before_s - 1.0, 2.0 * error_s / before_s);
    Effect { before_s, after_s, change, noise }
}

/// Iterations before, or after.
struct Side {
    /// Median end in s.
    end_s: f64,
    /// Median time in s.
    time_s: f64,
    /// Standard error of the median time in s, without the trend.
    error_s: f64,
}

impl Side {
    fn of(iterations: &[(f64, f64)], trend: f64) -> Self {
        let middle = |values: Vec<f64>| median(values).unwrap_or_default();
        let end_s = middle(iterations.iter().map(|(end_s, _)| *end_s).collect());
        let time_s = middle(times(iterations).collect());
        let expected_s = |at_s: f64| time_s + trend * (at_s - end_s);
        let deviations = iterations.iter().map(|(at_s, it_s)| (it_s - expected_s(*at_s)).abs());
        let deviation_s = middle(deviations.collect());
        let error_s = ERROR_PER_DEVIATION * deviation_s / (iterations.len().max(1) as f64).sqrt();
        Self { end_s, time_s, error_s }
    }
}

/// Returns by how much iterations grow per second: the median slope between two of them (Theil and Sen), if nearly all
/// pairs agree on its sign.
fn trend(before: &[(f64, f64)]) -> Option<f64> {
    if before.len() < N_TREND_MIN {
        return None;
    }
    let pairs = before.iter().enumerate().flat_map(|(idx, one)| {
        before[idx + 1..].iter().map(move |other| (other.0 - one.0, other.1 - one.1))
    });
    let slopes = pairs.filter(|(distance_s, _)| 0.0 < *distance_s).map(|(s, grown_s)| grown_s / s);
    let slopes: Vec<f64> = slopes.collect();
    let signs = slopes.iter().map(|slope| if *slope == 0.0 { 0.0 } else { slope.signum() });
    let is_clear = TREND_MIN * slopes.len() as f64 <= signs.sum::<f64>().abs();
    median(slopes).filter(|_| is_clear)
}

fn times(side: &[(f64, f64)]) -> impl Iterator<Item = f64> {
    side.iter().map(|(_, time_s)| *time_s)
}

/// Describes an effect on what is compared in words: `iterations became 12.3 % faster`.
pub(super) fn in_words(compared: &str, effect: &Effect) -> String {
    let Effect { change, noise, .. } = *effect;
    let percent = (100.0 * change).abs();
    let direction = if change < 0.0 { "faster" } else { "slower" };
    if 0.0 < noise && change.abs() <= noise {
        let noise = 100.0 * noise;
        return format!(
            "{compared} became {percent:.1} % {direction}, within their noise of {noise:.1} %"
        );
    }
    format!("{compared} became {percent:.1} % {direction}")
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Iterations of these times in ms, one after the other.
    fn side(times_ms: &[f64]) -> Vec<(f64, f64)> {
        let end = |end_s: &mut f64, ms: &f64| {
            *end_s += ms * 1e-3;
            Some((*end_s, ms * 1e-3))
        };
        times_ms.iter().scan(0.0, end).collect()
    }

    /// Checks the change in percent, rounded, and whether it is good with a limit of 5 % while more could come.
    #[track_caller]
    fn check(before_ms: &[f64], after_ms: &[f64], expected: (f64, Option<bool>)) {
        let before = side(before_ms);
        let start_s = before.last().unwrap().0;
        let after: Vec<_> = side(after_ms).iter().map(|(end_s, s)| (end_s + start_s, *s)).collect();
        let effect = compare(&before, &after);
        let found = ((100.0 * effect.change).round() + 0.0, judge(&effect, 0.05, false));
        assert_eq!(found, expected, "{effect:?}");
    }

    #[test]
    fn what_exceeds_the_noise_is_an_effect() {
        check(&[10.0; 5], &[9.0; 5], (-10.0, Some(true)));
        check(&[10.0; 5], &[11.0; 5], (10.0, Some(false)));
        check(&[10.0; 5], &[10.4; 5], (4.0, Some(true)));
        check(&[8.0, 12.0, 10.0, 9.0, 11.0], &[8.5, 12.5, 10.5, 9.5, 11.5], (5.0, None));
        check(&[8.0, 12.0, 10.0, 9.0, 11.0], &[20.0; 5], (100.0, Some(false)));
    }

    #[test]
    fn a_trend_is_no_effect() {
        let growing: Vec<f64> = (0..16).map(|n| 10.0 + 0.5 * f64::from(n)).collect();
        check(&growing[..8], &growing[8..], (-4.0, Some(true)));
        let shrinking: Vec<f64> = growing.iter().rev().copied().collect();
        check(&shrinking[..8], &shrinking[8..], (-4.0, Some(true)));
        let slower: Vec<f64> = shrinking[8..].iter().map(|ms| 1.3 * ms).collect();
        check(&shrinking[..8], &slower, (30.0, Some(false)));
    }

    #[test]
    fn at_last_a_difference_within_the_noise_is_none() {
        let effect = |change, noise| Effect { change, noise, ..Effect::default() };
        assert_eq!(judge(&effect(0.08, 0.1), 0.05, true), Some(true));
        assert_eq!(judge(&effect(0.08, 0.04), 0.05, true), Some(false));
        assert_eq!(judge(&effect(-0.02, 0.03), -0.01, true), Some(false), "it has to help");
        assert_eq!(
            in_words("iterations", &effect(-0.02, 0.03)),
            "iterations became 2.0 % faster, within their noise of 3.0 %"
        );
    }
}
