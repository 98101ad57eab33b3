//! Compares runs with a setting to those without it.
//!
//! Run times scatter in ways that nobody knows: other jobs, clocks, the state of memory. So no distribution is assumed.
//! If a setting has no effect, all orders of `n` runs with it and `m` runs without are equally likely, and all with it
//! are the fastest in one of `(n + m)! / (n! m!)`: for 3 and 5 runs in 1.8 %. Runs with and without it alternate, so that
//! a machine that gets faster by itself is no gain.

use serde::{Deserialize, Serialize};
use statistics::median;

/// Runs with a setting after which it is judged, and those without it that are needed before it is tried, and compared at
/// most.
pub(crate) const N_WITH: usize = 3;
pub(crate) const N_BEFORE: usize = 3;
pub(crate) const N_WITHOUT_MIN: usize = 5;
pub(crate) const N_WITHOUT_MAX: usize = 8;
/// Smallest gain for which a setting is kept.
const GAIN_MIN: f64 = 0.02;

/// Times of runs with and without a setting.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Figures {
    /// Median with it in s.
    pub with_s: f64,
    /// Median without it in s.
    pub without_s: f64,
    /// Relative difference of the slowest to the fastest run without it: their noise.
    pub spread: f64,
    /// Number of runs with it.
    pub n_with: usize,
    /// Number of runs without it.
    pub n_without: usize,
}

/// Verdict about a setting.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum CandidateVerdict {
    /// More runs are needed.
    Open,
    /// Each run with it was faster than all without it.
    Better,
    /// A run with it was not.
    NotBetter,
}

/// Judges from times in s, oldest first.
pub(crate) fn judge(with: &[f64], without: &[f64]) -> (CandidateVerdict, Figures) {
    let without = &without[without.len().saturating_sub(N_WITHOUT_MAX)..];
    let figures = figures(with, without);
    let fastest_s = without.iter().copied().fold(f64::INFINITY, f64::min);
    let verdict = match () {
        () if without.len() < N_BEFORE || with.is_empty() => CandidateVerdict::Open,
        () if with.iter().any(|with_s| fastest_s <= *with_s) => CandidateVerdict::NotBetter,
        () if with.len() < N_WITH || without.len() < N_WITHOUT_MIN => CandidateVerdict::Open,
        () if figures.with_s <= (1.0 - GAIN_MIN) * figures.without_s => CandidateVerdict::Better,
        () => CandidateVerdict::NotBetter,
    };
    (verdict, figures)
}

fn figures(with: &[f64], without: &[f64]) -> Figures {
    let middle = |side: &[f64]| median(side.iter().copied()).unwrap_or_default();
    let fastest = without.iter().copied().fold(f64::INFINITY, f64::min);
    let slowest = without.iter().copied().fold(0.0, f64::max);
    let spread = if without.is_empty() || fastest <= 0.0 { 0.0 } else { slowest / fastest - 1.0 };
    let (n_with, n_without) = (with.len(), without.len());
    Figures { with_s: middle(with), without_s: middle(without), spread, n_with, n_without }
}

impl Figures {
    /// Gain as a share of the time without it; below 0 it is slower.
    pub fn gain(&self) -> f64 {
        if 0.0 < self.without_s { 1.0 - self.with_s / self.without_s } else { 0.0 }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use random::Random;

    #[track_caller]
    fn check(with: &[f64], without: &[f64], expected: CandidateVerdict) {
        assert_eq!(judge(with, without).0, expected);
    }

    #[test]
    fn each_run_with_it_has_to_be_faster() {
        let without = [10.0, 10.2, 9.9, 10.1, 10.0];
        check(&[], &without, CandidateVerdict::Open);
        check(&[9.0], &without[..2], CandidateVerdict::Open);
        check(&[9.0, 9.1], &without, CandidateVerdict::Open);
        check(&[9.0, 9.1, 9.0], &without[..4], CandidateVerdict::Open);
        check(&[9.0, 9.1, 9.0], &without, CandidateVerdict::Better);
        check(&[9.0, 10.0], &without, CandidateVerdict::NotBetter);
        check(&[9.89, 9.88, 9.89], &without, CandidateVerdict::NotBetter);
    }

    /// Runs trials as a profile does, with and without in turns, until one is judged; returns whether it is kept.
    fn is_kept(mut run_s: impl FnMut(bool) -> f64) -> bool {
        let mut without: Vec<f64> = (0..N_BEFORE).map(|_| run_s(false)).collect();
        let mut with = Vec::new();
        loop {
            with.push(run_s(true));
            match judge(&with, &without).0 {
                CandidateVerdict::Open => without.push(run_s(false)),
                verdict => return verdict == CandidateVerdict::Better,
            }
        }
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(12))]

        /// However runs scatter, what has no effect is kept in at most a few percent of all histories.
        #[test]
        fn what_has_no_effect_is_hardly_ever_kept(seed: u64, scatter in 0.0..0.5_f64, is_skewed: bool) {
            let mut random = Random::new(seed);
            let mut run_s = |_| {
                let excess = if is_skewed { random.exponential() } else { random.share() };
                10.0 * (1.0 + scatter * excess)
            };
            let n_kept = (0..1000).filter(|_| is_kept(&mut run_s)).count();
            prop_assert!(n_kept <= 45, "{n_kept} of 1000");
        }

        /// A gain that exceeds the scatter is kept always.
        #[test]
        fn what_helps_beyond_the_noise_is_kept(seed: u64, scatter in 0.0..0.1_f64) {
            let mut random = Random::new(seed);
            let run_s = |with: bool| {
                (if with { 8.5 } else { 10.0 }) * (1.0 + scatter * random.share())
            };
            prop_assert!(is_kept(run_s));
        }

        /// A machine that gets faster by itself from run to run is no gain of what is tried meanwhile.
        #[test]
        fn a_steady_drift_is_no_gain(seed: u64, scatter in 0.02..0.2_f64) {
            let mut random = Random::new(seed);
            let mut n_kept = 0;
            for _ in 0..200 {
                let mut at = 0.0;
                n_kept += usize::from(is_kept(|_| {
                    at += 1.0;
                    (10.0 - 0.02 * at) * (1.0 + scatter * random.share())
                }));
            }
            prop_assert!(n_kept <= 24, "{n_kept} of 200");
        }
    }
}
