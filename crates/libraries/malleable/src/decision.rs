//! Decides whether another size pays: by a model file of the program's time, or by measurements at the sizes it has
//! had.
//!
//! `--model FILE` names a file that `sintonia fit` wrote; `--model FILE:n=943695` fixes its other parameters, so that
//! one is left, the number of processes. The model gives the speedup at another size, and an iteration at the present
//! size is measured, so that a model of another machine will do. `--model learn` needs no file: while only one size was
//! measured, which cannot predict others, it tries another one where that costs little, and then follows the
//! measurements. `--model explore` tries any size of which little is known, where that costs little.
//!
//! # Invariants
//! - Without `--model` nothing is proposed; requests from outside are evaluated all the same.
//! - A size that failed is not proposed again before the size has changed.

use fitting::{ModelFile, ModelFileError};
use resize_api::{ModelDecision, Resize, ResizeOutcome, SizeForecast, SizeJudgment, Strategy};
use resize_plan::payoff::{Cost, CostFactors, Curve, Estimate, History, Prospect, Verdict, pays};
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

/// Error from using a model to decide.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum DecisionError {
    /// The file cannot be read.
    #[error("the model file `{}` cannot be read; write one with `sintonia fit -o`", path.display())]
    File {
        /// Path of the file.
        path: PathBuf,
        /// Cause.
        source: std::io::Error,
    },
    /// The file contains no models.
    #[error("`{}` holds no models", path.display())]
    Models {
        /// Path of the file.
        path: PathBuf,
        /// Cause.
        source: ModelFileError,
    },
    /// The value of a parameter is not a number.
    #[error("`{word}` does not set a parameter; write `--model FILE:NAME=NUMBER,...`")]
    Value {
        /// Text as given.
        word: String,
    },
    /// It is not clear which parameter is the number of processes.
    #[error(
        "of the parameters of `{}` one is the number of processes, and these have no value: {names}; write `--model FILE:NAME=NUMBER,...` for all others", path.display()
    )]
    Parameters {
        /// Path of the file.
        path: PathBuf,
        /// Parameters without a value.
        names: String,
    },
}

/// Failed sizes after which a program that knows one size stops trying others to learn from.
const N_FAILED_MAX: usize = 3;

/// Largest number of sizes in a judgment.
const N_FORECASTS_MAX: u32 = 64;

/// Present state of the program.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct DecisionInput {
    /// Number of the next iteration.
    pub(crate) iteration: u64,
    /// Present number of ranks.
    pub(crate) size: u32,
    /// Smallest and largest number of ranks.
    pub(crate) sizes: (u32, u32),
    /// Size of the distributed data of all ranks, in bytes.
    pub(crate) bytes: u64,
    /// Rule for which ranks continue after a resize.
    pub(crate) strategy: Strategy,
}

/// Recommended size, with its reasons.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Advice {
    /// Size to have: the present one if a resize does not pay.
    pub(crate) size: u32,
    /// Figures behind the advice, for the record.
    pub(crate) decision: ModelDecision,
    /// Whether no size that was weighed is faster than the present one.
    is_fastest: bool,
}

/// Decision maker on rank 0.
#[derive(Debug, Default)]
pub(crate) struct ResizeAdvisor {
    model: Option<Model>,
    proposes: bool,
    may_explore: bool,
    n_iterations: Option<u64>,
    history: History,
    cost: Cost,
    /// Sizes at which a resize failed.
    failed: BTreeSet<u32>,
    /// Reason for keeping the present size at the last evaluation.
    why_not: String,
    /// Whether no size was faster at the last evaluation.
    is_fastest: bool,
    /// Size, and number of iterations seen at it in a row.
    n_seen: (u32, u64),
    /// Last judgment, with the size and the magnitude of the number of iterations that it was made from.
    judgment: Option<((u32, Option<u32>), SizeJudgment)>,
}

impl ResizeAdvisor {
    /// Creates the decision maker for the options `--model` and `--iterations`.
    ///
    /// # Errors
    /// [`DecisionError`] if the model cannot be used.
    pub(crate) fn new(
        model: Option<&Path>,
        n_iterations: Option<u64>,
    ) -> Result<Self, DecisionError> {
        let advisor = Self { proposes: model.is_some(), n_iterations, ..Self::default() };
        Ok(match model {
            None => advisor,
            Some(word) if word == Path::new("learn") => advisor,
            Some(word) if word == Path::new("explore") => Self { may_explore: true, ..advisor },
            Some(file) => Self { model: Some(Model::read(file)?), ..advisor },
        })
    }

    /// Adds the time of an iteration.
    pub(crate) fn saw(&mut self, size: u32, seconds: f64) {
        self.history.add(size, seconds);
        let (before, n_seen) = self.n_seen;
        self.n_seen = (size, if size == before { n_seen + 1 } else { 1 });
    }

    /// Judgment for others who share out nodes of `slots` ranks, made anew whenever twice as many iterations were seen.
    pub(crate) fn judgment(&mut self, now: &DecisionInput, slots: u32) -> SizeJudgment {
        let seen = (now.size, self.n_seen.1.checked_ilog2());
        if self.judgment.as_ref().is_none_or(|(known, _)| *known != seen) {
            self.judgment = Some((seen, self.judge(now, slots.max(1))));
        }
        let judged = self.judgment.as_ref().map(|(_, judgment)| judgment.clone());
        SizeJudgment { is_fastest: self.is_fastest, ..judged.unwrap_or_default() }
    }

    fn judge(&self, now: &DecisionInput, slots: u32) -> SizeJudgment {
        let seconds = self.seconds(now);
        let (least, most) = (now.sizes.0.div_ceil(slots), now.sizes.1 / slots);
        let step = (most.saturating_sub(least) / N_FORECASTS_MAX + 1) as usize;
        let sizes = (least..=most).step_by(step).map(|n_nodes| n_nodes * slots);
        let mut sizes: Vec<u32> = sizes.chain([now.size, now.sizes.1]).collect();
        sizes.sort_unstable();
        sizes.dedup();
        let forecast = |size: u32| {
            let Estimate { value, low, high } = seconds(size)?;
            let is_known = high.is_finite();
            is_known.then_some(SizeForecast { size, seconds: value, low_s: low, high_s: high })
        };
        // Nothing is known before the present size was measured.
        let is_known = seconds(now.size).is_some();
        let forecasts = sizes.into_iter().filter(|_| is_known).filter_map(forecast).collect();
        let resize_s = self.cost.of(&cost_factors(now, now.size.saturating_add(slots))).value;
        SizeJudgment { forecasts, resize_s, is_fastest: false }
    }

    /// Learns from a finished resize what it cost, or that this size cannot be had.
    pub(crate) fn learn(&mut self, resize: &Resize, now: &DecisionInput) {
        if resize.outcome != ResizeOutcome::Done {
            self.failed.insert(resize.to);
            return;
        }
        self.failed.clear();
        let before = DecisionInput { size: resize.from, strategy: resize.strategy, ..*now };
        self.cost.learn(&cost_factors(&before, resize.to), resize.seconds.wait);
    }

    /// Returns the option that the user must add so that other sizes can be proposed, if one is missing.
    pub(crate) fn needs(&self, sizes: (u32, u32)) -> Option<&'static str> {
        match (self.proposes, self.n_iterations) {
            (true, None) => Some(
                "`--model` needs `--iterations N`, how many iterations there will be: without it no other size is proposed",
            ),
            (true, _) if sizes.0 == sizes.1 => {
                Some("`--model` needs `--sizes MIN:MAX`: without it the program keeps its size")
            }
            _ => None,
        }
    }

    /// Reason for keeping the present size at the last evaluation, if the program may propose others.
    pub(crate) fn why_not(&self) -> Option<&str> {
        (self.proposes && !self.why_not.is_empty()).then_some(&self.why_not)
    }

    /// Returns the size that pays most, if there is one and the program may propose it.
    pub(crate) fn advice(&mut self, now: &DecisionInput) -> Option<Advice> {
        if !self.proposes || now.sizes.0 == now.sizes.1 {
            return None;
        }
        let may_be = now.sizes.0..=now.sizes.1;
        let candidates: Vec<u32> = may_be.filter(|size| !self.failed.contains(size)).collect();
        let knows_one = self.model.is_none()
            && self.history.seen().len() < 2
            && self.failed.len() < N_FAILED_MAX;
        let advice = self.weighed(now, &candidates, self.may_explore || knows_one)?;
        self.is_fastest = advice.is_fastest;
        if advice.size != now.size {
            return Some(advice);
        }
        if 0 < advice.decision.iterations_left {
            self.why_not = advice.decision.sentence;
        }
        None
    }

    /// Evaluates a size requested from outside; `None` where the number of iterations is unknown.
    pub(crate) fn weigh(&self, now: &DecisionInput, wanted: u32) -> Option<Advice> {
        self.weighed(now, &[wanted], false)
    }

    fn weighed(
        &self,
        now: &DecisionInput,
        candidates: &[u32],
        may_explore: bool,
    ) -> Option<Advice> {
        let n_iterations_left = self.n_iterations?.saturating_sub(now.iteration);
        let prospect = Prospect { size: now.size, n_iterations_left, candidates, may_explore };
        let seconds = self.seconds(now);
        let cost = |size| self.cost.of(&cost_factors(now, size));
        let payoff = pays(&prospect, &seconds, cost);
        let weighed = match (payoff.verdict, candidates) {
            (Verdict::Stay, [wanted]) => *wanted,
            _ => payoff.size,
        };
        let after = seconds(weighed);
        let is_fastest = payoff.is_fastest;
        let decision = ModelDecision {
            iterations_left: n_iterations_left,
            seconds_before: seconds(now.size).map_or(0.0, |before| before.value),
            seconds_after: after.map_or(0.0, |after| after.value),
            seconds_resize: payoff.cost_s,
            sentence: payoff.reason,
        };
        Some(Advice { size: payoff.size, decision, is_fastest })
    }

    /// Time of an iteration at a size: measured, by the model, or by the curve through what was measured.
    fn seconds(&self, now: &DecisionInput) -> impl Fn(u32) -> Option<Estimate> {
        let curve = Curve::through(&self.history.seen());
        let seen = move |size| curve.as_ref().map(|curve| curve.seconds(size));
        // Nothing is known before the present size was measured.
        let here = self.history.seen().iter().any(|seen| seen.size == now.size);
        let of = now.size;
        move |size: u32| {
            let present = seen(of).filter(|_| here)?;
            let of_model = self.model.as_ref().and_then(|model| model.seconds(of, present, size));
            if size == of { Some(present) } else { of_model.or_else(|| seen(size)) }
        }
    }
}

/// Returns the cost factors of a change to `size`.
fn cost_factors(now: &DecisionInput, size: u32) -> CostFactors {
    let (n_new, n_leaving) = match now.strategy {
        Strategy::Baseline => (size, now.size),
        Strategy::Merge => (size.saturating_sub(now.size), now.size.saturating_sub(size)),
    };
    // With *merge*, ranks that stay keep as many of their rows as possible.
    let (least, most) = (now.size.min(size), u64::from(now.size.max(size)).max(1));
    let kept = if now.strategy == Strategy::Merge { u64::from(least) } else { 0 };
    let bytes_moved = now.bytes / most * (most - kept);
    CostFactors { n_new, n_leaving, bytes_moved }
}

/// Model file with values for all parameters but the number of processes.
#[derive(Debug)]
struct Model {
    file: ModelFile,
    values: Vec<(String, f64)>,
    processes: String,
}

impl Model {
    fn read(word: &Path) -> Result<Self, DecisionError> {
        let text = word.to_string_lossy();
        let (path, values) = match text.split_once(':') {
            Some((path, values)) if !word.exists() => (PathBuf::from(path), pairs(values)?),
            _ => (word.to_owned(), Vec::new()),
        };
        let read = std::fs::read_to_string(&path);
        let text = read.map_err(|source| DecisionError::File { path: path.clone(), source })?;
        let read = ModelFile::read(&text);
        let file = read.map_err(|source| DecisionError::Models { path: path.clone(), source })?;
        Self::of(file, values, &path)
    }

    fn of(file: ModelFile, values: Vec<(String, f64)>, path: &Path) -> Result<Self, DecisionError> {
        let is_open = |name: &&str| values.iter().all(|(given, _)| given != name);
        let open: Vec<&str> = file.parameters().into_iter().filter(is_open).collect();
        let [processes] = open[..] else {
            let names = if open.is_empty() { "none".to_owned() } else { open.join(", ") };
            return Err(DecisionError::Parameters { path: path.to_owned(), names });
        };
        let processes = processes.to_owned();
        Ok(Self { file, values, processes })
    }

    /// Estimates the time of an iteration at size `other` in seconds, if it takes `present` at `size`.
    fn seconds(&self, size: u32, present: Estimate, other: u32) -> Option<Estimate> {
        let given = self.values.iter().map(|(name, value)| (name.as_str(), *value));
        let mut point: Vec<(&str, f64)> = given.collect();
        point.push((&self.processes, f64::from(size)));
        let more = f64::from(other) - f64::from(size);
        let speedup = self.file.speedup(&point, &self.processes, more).ok()??;
        let value = present.value / speedup.value;
        let is_use = 0.0 < speedup.low && speedup.high.is_finite();
        is_use.then(|| Estimate {
            value,
            low: present.value / speedup.high,
            high: present.value / speedup.low,
        })
    }
}

fn pairs(text: &str) -> Result<Vec<(String, f64)>, DecisionError> {
    let pair = |word: &str| {
        let (name, value) = word.split_once('=')?;
        let value: f64 = value.parse().ok()?;
        (!name.is_empty() && value.is_finite()).then(|| (name.to_owned(), value))
    };
    let read = |word: &str| pair(word).ok_or(DecisionError::Value { word: word.to_owned() });
    text.split(',').map(read).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use fitting::{Measurements, Settings, fit};
    use resize_api::Seconds;

    const NOW: DecisionInput = DecisionInput {
        iteration: 100,
        size: 4,
        sizes: (1, 8),
        bytes: 1_000_000_000,
        strategy: Strategy::Merge,
    };

    /// Decision maker that measured iterations of 1 s plus 4 s divided by the number of processes.
    fn advisor(model: &str, sizes: &[u32]) -> ResizeAdvisor {
        let mut advisor = ResizeAdvisor::new(Some(Path::new(model)), Some(1000)).unwrap();
        for size in sizes {
            (0..5).for_each(|_| advisor.saw(*size, 1.0 + 4.0 / f64::from(*size)));
        }
        advisor
    }

    fn sizes(advisor: &mut ResizeAdvisor) -> Option<u32> {
        advisor.advice(&NOW).map(|advice| advice.size)
    }

    #[test]
    fn what_was_seen_decides() {
        assert_eq!(sizes(&mut advisor("learn", &[])), None);
        assert_eq!(sizes(&mut advisor("learn", &[2])), None);
        assert_eq!(sizes(&mut advisor("explore", &[4])), Some(8));
        assert_eq!(sizes(&mut advisor("learn", &[1, 2, 4, 8])), Some(8));
        let mut quiet = advisor("learn", &[1, 2, 4, 8]);
        quiet.proposes = false;
        assert_eq!(sizes(&mut quiet), None);
        let weighed = quiet.weigh(&NOW, 8).unwrap();
        assert_eq!((weighed.size, weighed.decision.seconds_after), (8, 1.5));
        assert_eq!(quiet.weigh(&NOW, 2).unwrap().size, 4);
        quiet.n_iterations = None;
        assert_eq!(quiet.weigh(&NOW, 8), None);
    }

    /// Regression: `learn` never proposed another size, as one size cannot predict others, and gave no message.
    #[test]
    fn one_size_is_not_enough_to_learn_from() {
        assert_eq!(sizes(&mut advisor("learn", &[4])), Some(8));
        let mut slower = advisor("learn", &[]);
        for (size, seconds) in [(4, 1.0), (8, 2.0)] {
            (0..5).for_each(|_| slower.saw(size, seconds));
        }
        let at_eight = DecisionInput { size: 8, ..NOW };
        assert!(slower.advice(&at_eight).is_some_and(|advice| advice.size <= 4));
        // With more knowledge it tries only what is sure to pay.
        let mut flat = advisor("learn", &[]);
        [4, 8].into_iter().for_each(|size| (0..5).for_each(|_| flat.saw(size, 1.0)));
        assert_eq!(sizes(&mut flat), None);
        assert!(flat.why_not().is_some_and(|why| why.contains("no size is faster")), "{flat:?}");
    }

    #[test]
    fn others_hear_what_was_judged() {
        let judgment = |advisor: &mut ResizeAdvisor, slots| {
            let SizeJudgment { forecasts, is_fastest, .. } = advisor.judgment(&NOW, slots);
            let seconds = forecasts.iter().map(|one| (one.size, one.seconds));
            (seconds.collect::<Vec<_>>(), is_fastest)
        };
        // The present size is unknown, and so all others.
        assert_eq!(judgment(&mut advisor("learn", &[2]), 4), (vec![], false));
        let mut known = advisor("learn", &[1, 2, 4, 8]);
        assert_eq!(judgment(&mut known, 4), (vec![(4, 2.0), (8, 1.5)], false));
        assert_eq!(
            known.judgment(&NOW, 2).forecasts.len(),
            2,
            "it is made anew for more iterations"
        );
        let mut flat = advisor("learn", &[]);
        [4, 8].into_iter().for_each(|size| (0..5).for_each(|_| flat.saw(size, 1.0)));
        assert_eq!(flat.advice(&NOW), None);
        assert_eq!(judgment(&mut flat, 4), (vec![(4, 1.0), (8, 1.0)], true));
    }

    #[test]
    fn what_a_model_needs_is_said() {
        let says = |advisor: &ResizeAdvisor, sizes, part: &str| {
            advisor.needs(sizes).is_some_and(|needed| needed.contains(part))
        };
        let endless = ResizeAdvisor::new(Some(Path::new("learn")), None).unwrap();
        assert!(says(&endless, (1, 8), "needs `--iterations N`"));
        let whole = advisor("learn", &[]);
        assert!(says(&whole, (2, 2), "needs `--sizes MIN:MAX`"));
        assert_eq!(whole.needs((1, 8)), None);
        assert_eq!(ResizeAdvisor::new(None, None).unwrap().needs((2, 2)), None);
    }

    fn resize(outcome: ResizeOutcome, to: u32, wait: f64) -> Resize {
        let seconds = Seconds { wait, ..Seconds::default() };
        Resize { from: 4, to, outcome, seconds, ..Resize::default() }
    }

    #[test]
    fn resizes_teach_what_they_cost() {
        let mut advisor = advisor("learn", &[1, 2, 4, 8]);
        advisor.learn(&resize(ResizeOutcome::Failed, 8, 1.0), &NOW);
        assert_eq!(sizes(&mut advisor), Some(7));
        advisor.learn(&resize(ResizeOutcome::Done, 6, 1.0), &NOW);
        assert_eq!(sizes(&mut advisor), Some(8));
        advisor.learn(&resize(ResizeOutcome::Done, 8, 1e6), &NOW);
        assert_eq!(sizes(&mut advisor), None);
        let said = advisor.weigh(&NOW, 8).unwrap().decision.sentence;
        assert!(said.contains("would save 7 min 30 s in the 900 iterations left"), "{said}");
    }

    #[test]
    fn more_bytes_move_when_nobody_stays() {
        let merge = CostFactors { n_new: 4, n_leaving: 0, bytes_moved: 500_000_000 };
        assert_eq!(cost_factors(&NOW, 8), merge);
        assert_eq!(cost_factors(&NOW, 1).bytes_moved, 750_000_000);
        let baseline = DecisionInput { strategy: Strategy::Baseline, ..NOW };
        let all = CostFactors { n_new: 8, n_leaving: 4, bytes_moved: 1_000_000_000 };
        assert_eq!(cost_factors(&baseline, 8), all);
    }

    fn models() -> ModelFile {
        let mut measured = Measurements::of(vec!["p".to_owned(), "n".to_owned()]);
        for n in [1.0, 2.0, 3.0, 4.0, 5.0] {
            for p in [1.0, 2.0, 4.0, 8.0] {
                measured.add("loop", "time", &[p, n], &[9.0 * n * (1.0 + 8.0 / p)]);
            }
        }
        let fitted = fit(&measured, &Settings::default());
        ModelFile::of(fitted.into_iter().map(Result::unwrap).collect())
    }

    #[test]
    fn a_model_tells_how_many_times_faster_another_size_is() {
        let values = vec![("n".to_owned(), 3.0)];
        let model = Model::of(models(), values, Path::new("m.json")).unwrap();
        let found = model.seconds(4, Estimate::around(0.3, 0.01), 8).unwrap();
        assert!((found.value - 0.2).abs() < 1e-6, "{found:?}");
        let mut advisor = advisor("learn", &[4]);
        advisor.model = Some(model);
        assert_eq!(sizes(&mut advisor), Some(8));
    }

    #[track_caller]
    fn check_refused(word: &str, expected: &str) {
        let said = ResizeAdvisor::new(Some(Path::new(word)), None).unwrap_err().to_string();
        assert!(said.contains(expected), "{said}");
    }

    #[test]
    fn models_that_say_nothing_are_refused() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("models.json");
        std::fs::write(&path, models().write().unwrap()).unwrap();
        let file = path.to_str().unwrap();
        check_refused("/nowhere.json", "the model file `/nowhere.json` cannot be read");
        check_refused(file, "these have no value: p, n");
        check_refused(&format!("{file}:n=2,p=3"), "these have no value: none");
        check_refused(&format!("{file}:n"), "`n` does not set a parameter");
        std::fs::write(&path, "words").unwrap();
        check_refused(file, "holds no models");
    }
}
