//! Values of options; `None` where a text is none.

use std::str::FromStr;
use std::time::Duration;

/// Distance between two actions of an iterative program.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Interval {
    /// Number of iterations.
    Iterations(u64),
    /// Time.
    Time(Duration),
}

impl Interval {
    /// Returns whether the next action is due, so many iterations and so long after the last one.
    #[must_use]
    pub fn is_over(self, n_iterations: u64, elapsed: Duration) -> bool {
        match self {
            Self::Iterations(n) => n <= n_iterations,
            Self::Time(time) => time <= elapsed,
        }
    }
}

/// Reads iterations or a time, with their unit: `10it`, `30s`, `5min`.
#[must_use]
pub fn interval(text: &str) -> Option<Interval> {
    match text.strip_suffix("it") {
        Some(number) => positive(number).map(Interval::Iterations),
        None => with_unit(text).map(Interval::Time),
    }
}

/// Reads a time above 0, in seconds unless its unit follows: `30`, `0.5`, `100ms`, `5min`, `2h`.
#[must_use]
pub fn time(text: &str) -> Option<Duration> {
    with_unit(text).or_else(|| seconds(text, 1.0))
}

fn with_unit(text: &str) -> Option<Duration> {
    let units = [("ms", 1e-3), ("s", 1.0), ("min", 60.0), ("h", 3600.0)];
    units.iter().find_map(|(unit, in_s)| seconds(text.strip_suffix(unit)?, *in_s))
}

fn seconds(number: &str, unit_s: f64) -> Option<Duration> {
    let time = Duration::try_from_secs_f64(number.parse::<f64>().ok()? * unit_s);
    time.ok().filter(|time| !time.is_zero())
}

/// Reads a number above 0.
#[must_use]
pub fn positive<N: FromStr + Default + PartialOrd>(text: &str) -> Option<N> {
    text.parse().ok().filter(|number| N::default() < *number)
}

/// Reads one of some words.
#[must_use]
pub fn one_of<T: Copy>(text: &str, words: &[(&str, T)]) -> Option<T> {
    words.iter().find(|(word, _)| *word == text).map(|(_, value)| *value)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_have_units() {
        let ms = |ms| Some(Duration::from_millis(ms));
        assert_eq!([time("0.5"), time("30s"), time("2ms")], [ms(500), ms(30_000), ms(2)]);
        assert_eq!([time("5min"), time("1h")], [ms(300_000), ms(3_600_000)]);
        assert_eq!(["0", "-1", "inf", "nan", "1e99s", "s", "", "1d"].map(time), [None; 8]);
    }

    #[test]
    fn an_interval_says_its_unit() {
        let half = Duration::from_millis(500);
        assert_eq!(interval("10it"), Some(Interval::Iterations(10)));
        assert_eq!(interval("0.5s"), Some(Interval::Time(half)));
        assert_eq!(["10", "0it", "1.5it", "0s"].map(interval), [None; 4]);
        assert!(Interval::Iterations(3).is_over(3, Duration::ZERO));
        assert!(!Interval::Time(half).is_over(9, half / 2));
    }

    #[test]
    fn numbers_are_above_0() {
        assert_eq!(["1", "0", "-1", "x"].map(positive::<u32>), [Some(1), None, None, None]);
    }
}
