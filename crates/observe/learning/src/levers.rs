//! What trials inside of runs told about levers.
//!
//! Only levers that may hurt are learnt to be set from the start; the others follow what the system says about cores at
//! any moment. A lever that did not help is not tried soon again, whichever it is.

use serde::{Deserialize, Serialize};

/// Runs after which a lever that did not help may be tried early again.
const N_RUNS_LATER: u64 = 8;

/// Trial of a lever in a run.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct LeverTrial {
    /// Name of the lever.
    pub lever: String,
    /// True if the lever was off in the second half of the trial: a check of one that was set from the start.
    pub is_check: bool,
    /// True if the change that was tried is kept.
    pub is_kept: bool,
    /// True if the lever may be set before its effect can be measured, once it was learnt.
    pub is_for_start: bool,
    /// Time of an iteration before the change in s.
    pub before_s: f64,
    /// Time of an iteration after it in s.
    pub after_s: f64,
    /// Relative difference that chance explains.
    pub noise: f64,
}

/// Verdict about a lever.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum LeverVerdict {
    /// It helped.
    Kept,
    /// It did not.
    Failed,
}

/// Lever with what was learnt about it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct LearntLever {
    /// Name.
    pub name: String,
    /// Verdict of the last trial.
    pub verdict: LeverVerdict,
    /// True if it is set from the start once it helped; others follow what the system says.
    pub is_for_start: bool,
    /// Time of an iteration with it in s.
    pub with_s: f64,
    /// Time of an iteration without it in s.
    pub without_s: f64,
    /// Relative difference that chance explains.
    pub noise: f64,
    /// Number of the run of the trial that these times are of.
    pub run: u64,
    /// Start of that run, in s since 1970.
    pub at_s: f64,
    /// Number of trials and checks in a row with this verdict.
    pub n_trials: u64,
}

impl LearntLever {
    /// Returns what a trial in run number `run` tells; `before` is what was known.
    pub(crate) fn of(trial: &LeverTrial, (run, at_s): (u64, f64), before: Option<&Self>) -> Self {
        let helps = trial.is_kept != trial.is_check;
        let verdict = if helps { LeverVerdict::Kept } else { LeverVerdict::Failed };
        let (with_s, without_s) = match trial.is_check {
            true => (trial.before_s, trial.after_s),
            false => (trial.after_s, trial.before_s),
        };
        if let Some(before) = before.filter(|it| trial.is_check && helps && it.verdict == verdict) {
            // A lever that is taken back leaves traces, so that the trial at first tells more.
            return Self { n_trials: before.n_trials + 1, ..before.clone() };
        }
        let n_before = before.filter(|it| it.verdict == verdict).map_or(0, |it| it.n_trials);
        Self {
            name: trial.lever.clone(),
            verdict,
            is_for_start: trial.is_for_start,
            with_s,
            without_s,
            noise: trial.noise,
            run,
            at_s,
            n_trials: n_before + 1,
        }
    }

    /// Gain as a share of the time without it; below 0 it is slower.
    pub fn gain(&self) -> f64 {
        if 0.0 < self.without_s { 1.0 - self.with_s / self.without_s } else { 0.0 }
    }

    /// Returns whether the lever is set from the start of the next run.
    pub(crate) fn is_first(&self) -> bool {
        self.verdict == LeverVerdict::Kept && self.is_for_start
    }

    /// Returns whether the lever is tried late in a run after `n_runs`.
    pub(crate) fn is_late(&self, n_runs: u64) -> bool {
        self.verdict == LeverVerdict::Failed && n_runs < self.run + N_RUNS_LATER
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(is_check: bool, is_kept: bool, verdict: LeverVerdict, with_s: f64) {
        let lever = "memory".to_owned();
        let (before_s, after_s, noise, is_for_start) = (2.0, 1.0, 0.1, true);
        let trial = LeverTrial { lever, is_check, is_kept, is_for_start, before_s, after_s, noise };
        let learnt = LearntLever::of(&trial, (3, 0.0), None);
        assert_eq!((learnt.verdict, learnt.with_s), (verdict, with_s));
    }

    #[test]
    fn a_check_is_read_backwards() {
        check(false, true, LeverVerdict::Kept, 1.0);
        check(false, false, LeverVerdict::Failed, 1.0);
        check(true, true, LeverVerdict::Failed, 2.0);
        check(true, false, LeverVerdict::Kept, 2.0);
    }

    #[test]
    fn what_failed_is_late_for_some_runs() {
        let trial = LeverTrial { lever: "waiting".to_owned(), ..LeverTrial::default() };
        let learnt = LearntLever::of(&trial, (3, 0.0), None);
        assert!(learnt.is_late(4) && learnt.is_late(10) && !learnt.is_late(11));
        assert_eq!(LearntLever::of(&trial, (4, 0.0), Some(&learnt)).n_trials, 2);
    }

    #[test]
    fn a_check_leaves_the_times_of_the_trial() {
        let lever = "memory".to_owned();
        let (is_kept, is_for_start, before_s, after_s) = (true, true, 2.0, 1.0);
        let trial =
            LeverTrial { lever, is_kept, is_for_start, before_s, after_s, ..LeverTrial::default() };
        let learnt = LearntLever::of(&trial, (1, 0.0), None);
        let check = LeverTrial { is_check: true, is_kept: false, before_s: 1.0, ..trial };
        let checked = LearntLever::of(&check, (2, 0.0), Some(&learnt));
        assert_eq!(checked, LearntLever { n_trials: 2, ..learnt });
    }
}
