//! Decides whether another size pays: by measurements at the sizes that the program has had, and by a model file of its
//! time where there is one.
//!
//! Where a range of sizes is given and nothing else chooses, the program chooses by itself. `--model FILE` names a file
//! that `sintonia fit` wrote; `--model FILE:n=943695` fixes its other parameters, so that one is left, the number of
//! processes. The model gives the speedup at another size, and an iteration at the present size is measured, so that a
//! model of another machine will do; measurements that refute it replace it.
//!
//! # Invariants
//! - With `--model none`, and without a range, nothing is proposed; requests from outside are evaluated all the same.
//! - Without `--model` nothing is proposed under Slurm, where nodes are others' as well, under a tool that tunes, beside a
//!   schedule, and once somebody else has chosen a size.

use crate::options::Options;
use fitting::{ModelFile, ModelFileError};
use resize_api::{ModelDecision, Resize, ResizeOutcome, SizeForecast, SizeJudgment, Strategy};
use resize_plan::payoff::{
    CostFactors, Estimate, Payoff, Prospect, Sizing, SizingInput, Verdict, pays,
};
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

/// Words for choosing by measurements alone.
const MEASURED: [&str; 3] = ["auto", "learn", "explore"];

/// Number of iterations at a size after which it is said why it is kept.
const N_TOLD: u64 = 8;

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
}

/// Who chooses the size.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Choice {
    /// Others only.
    #[default]
    Others,
    /// The program, until others do.
    UntilOthers,
    /// The program, as was asked for.
    Program,
}

/// Decision maker on rank 0.
#[derive(Debug, Default)]
pub(crate) struct ResizeAdvisor {
    model: Option<Model>,
    choice: Choice,
    n_iterations: Option<u64>,
    sizing: Sizing,
    /// Reason for keeping the present size at the last evaluation.
    why_not: String,
    /// Size and magnitude of the number of iterations seen at it when that reason was told.
    told_at: (u32, Option<u32>),
    /// Whether no size was faster at the last evaluation.
    is_fastest: bool,
    /// Size, and number of iterations seen at it in a row.
    n_seen: (u32, u64),
    /// Last judgment, with the size and the magnitude of the number of iterations that it was made from.
    judgment: Option<((u32, Option<u32>), SizeJudgment)>,
}

impl ResizeAdvisor {
    /// Creates the decision maker for `options`; `is_led` says whether others may choose the size.
    ///
    /// # Errors
    /// [`DecisionError`] if the model cannot be used.
    pub(crate) fn new(options: &Options, is_led: bool) -> Result<Self, DecisionError> {
        let advisor = Self { n_iterations: options.n_iterations, ..Self::default() };
        let is_free = options.schedule.is_empty() && !is_led;
        let (model, choice) = match options.model.as_deref() {
            None if is_free => (None, Choice::UntilOthers),
            None => (None, Choice::Others),
            Some(word) if word == Path::new("none") => (None, Choice::Others),
            Some(word) if MEASURED.iter().any(|name| word == Path::new(name)) => {
                (None, Choice::Program)
            }
            Some(file) => (Some(Model::read(file)?), Choice::Program),
        };
        Ok(Self { model, choice, ..advisor })
    }

    /// Adds iterations that took `seconds` each.
    pub(crate) fn saw(&mut self, size: u32, seconds: f64, n_iterations: u32) {
        self.sizing.saw(size, seconds, n_iterations);
        let (before, n_seen) = self.n_seen;
        self.n_seen = (size, if size == before { n_seen + 1 } else { 1 });
    }

    /// Leaves the choice to somebody who has chosen a size, unless the program was asked to choose.
    pub(crate) fn follow(&mut self) {
        if self.choice == Choice::UntilOthers {
            self.choice = Choice::Others;
        }
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
        let resize_s =
            self.sizing.cost().of(&cost_factors(now, now.size.saturating_add(slots))).value;
        SizeJudgment { forecasts, resize_s, is_fastest: false }
    }

    /// Learns from a finished resize what it cost, or that this size cannot be had.
    pub(crate) fn learn(&mut self, resize: &Resize, now: &DecisionInput) {
        if resize.outcome != ResizeOutcome::Done {
            self.sizing.failed(resize.to);
            return;
        }
        let before = DecisionInput { size: resize.from, strategy: resize.strategy, ..*now };
        let change = cost_factors(&before, resize.to);
        self.sizing.changed(&change, resize.seconds.wait, resize.seconds.total);
    }

    /// Returns the option that the user must add so that other sizes can be proposed, if one is missing.
    pub(crate) fn needs(&self, sizes: (u32, u32)) -> Option<&'static str> {
        (self.choice == Choice::Program && sizes.0 == sizes.1)
            .then_some("`--model` needs `--sizes MIN:MAX`: without it the program keeps its size")
    }

    /// Reason for keeping the present size at the last evaluation, if the program may propose others.
    pub(crate) fn why_not(&self) -> Option<&str> {
        (self.choice != Choice::Others && !self.why_not.is_empty()).then_some(&self.why_not)
    }

    /// Why the present size is kept, if that was not said since twice as many iterations were seen.
    pub(crate) fn news(&mut self) -> Option<&str> {
        let at = (self.n_seen.0, self.n_seen.1.checked_ilog2());
        let is_known = N_TOLD <= self.n_seen.1 && self.why_not().is_some();
        let is_new = is_known && self.told_at != at;
        if is_new {
            self.told_at = at;
        }
        is_new.then_some(&self.why_not)
    }

    /// Returns whether the program was asked to choose its size.
    pub(crate) fn is_asked(&self) -> bool {
        self.choice == Choice::Program
    }

    /// Returns the size that pays most of those up to `n_possible`, if there is one and the program may propose it.
    pub(crate) fn advice(&mut self, now: &DecisionInput, n_possible: u32) -> Option<Advice> {
        if self.choice == Choice::Others || now.sizes.0 == now.sizes.1 || !self.sizing.is_due() {
            return None;
        }
        let candidates: Vec<u32> = (now.sizes.0..=now.sizes.1.min(n_possible)).collect();
        let run = SizingInput {
            size: now.size,
            n_done: now.iteration,
            n_iterations: self.n_iterations,
            candidates: &candidates,
        };
        let change = |from, to| cost_factors(&DecisionInput { size: from, ..*now }, to);
        let model = self.model.as_ref();
        let present = self.sizing.history().at(now.size);
        let prior = |size| model?.seconds(now.size, present?, size);
        let payoff = self.sizing.advice(&run, prior, change);
        self.is_fastest = payoff.is_fastest;
        let n_left =
            self.n_iterations.map_or(now.iteration, |all| all.saturating_sub(now.iteration));
        self.why_not.clear();
        if payoff.size != now.size {
            return Some(self.explained(now, payoff, n_left));
        }
        if 0 < n_left {
            self.why_not = payoff.reason;
        }
        None
    }

    /// Evaluates a size requested from outside; `None` where the number of iterations is unknown.
    pub(crate) fn weigh(&self, now: &DecisionInput, wanted: u32) -> Option<Advice> {
        let n_left = self.n_iterations?.saturating_sub(now.iteration);
        let prospect =
            Prospect { size: now.size, n_iterations_left: n_left, candidates: &[wanted] };
        let cost = |size| self.sizing.cost().of(&cost_factors(now, size));
        let payoff = pays(&prospect, self.seconds(now), cost);
        let is_kept = payoff.verdict == Verdict::Stay;
        let weighed = Payoff { size: if is_kept { wanted } else { payoff.size }, ..payoff };
        let advice = self.explained(now, weighed, n_left);
        Some(Advice { size: if is_kept { now.size } else { advice.size }, ..advice })
    }

    fn explained(&self, now: &DecisionInput, payoff: Payoff, n_left: u64) -> Advice {
        let seconds = self.seconds(now);
        let value = |size| seconds(size).map_or(0.0, |seconds| seconds.value);
        let decision = ModelDecision {
            iterations_left: n_left,
            seconds_before: value(now.size),
            seconds_after: value(payoff.size),
            seconds_resize: payoff.cost_s,
            sentence: payoff.reason,
        };
        Advice { size: payoff.size, decision }
    }

    /// Time of an iteration by size: measured, by the model, or by the curve through what was measured.
    fn seconds(&self, now: &DecisionInput) -> impl Fn(u32) -> Option<Estimate> {
        // Nothing is known before the present size was measured.
        let present = self.sizing.history().at(now.size);
        let (model, of) = (self.model.as_ref(), now.size);
        let prior = move |size| model?.seconds(of, present?, size);
        let seconds = self.sizing.seconds(now.size, prior);
        move |size: u32| present.and_then(|_| seconds(size))
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
        let options = Options::new().model(model).iterations(1000);
        let mut advisor = ResizeAdvisor::new(&options, false).unwrap();
        for size in sizes {
            saw(&mut advisor, *size, 1.0 + 4.0 / f64::from(*size));
        }
        advisor
    }

    fn saw(advisor: &mut ResizeAdvisor, size: u32, seconds: f64) {
        (0..5).for_each(|_| advisor.saw(size, seconds, 1));
    }

    fn sizes(advisor: &mut ResizeAdvisor) -> Option<u32> {
        advisor.advice(&NOW, u32::MAX).map(|advice| advice.size)
    }

    #[test]
    fn what_was_seen_decides() {
        assert_eq!(sizes(&mut advisor("learn", &[])), None);
        assert_eq!(sizes(&mut advisor("learn", &[2])), None);
        assert_eq!(sizes(&mut advisor("explore", &[4])), Some(8));
        assert_eq!(advisor("auto", &[4]).advice(&NOW, 6).map(|advice| advice.size), Some(6));
        assert_eq!(sizes(&mut advisor("learn", &[1, 2, 8, 4])), Some(8));
        let mut quiet = advisor("none", &[1, 2, 8, 4]);
        assert_eq!(sizes(&mut quiet), None);
        let weighed = quiet.weigh(&NOW, 8).unwrap();
        assert_eq!((weighed.size, weighed.decision.seconds_after), (8, 1.5));
        assert_eq!(quiet.weigh(&NOW, 2).unwrap().size, 4);
        quiet.n_iterations = None;
        assert_eq!(quiet.weigh(&NOW, 8), None);
        let mut flat = advisor("learn", &[]);
        [8, 4].into_iter().for_each(|size| saw(&mut flat, size, 1.0));
        [1, 2, 6].into_iter().for_each(|size| flat.sizing.failed(size));
        assert_eq!(sizes(&mut flat), None);
        assert!(flat.why_not().is_some_and(|why| why.contains("no size is faster")), "{flat:?}");
    }

    #[track_caller]
    fn check_chooses(options: Options, is_led: bool, expected: [bool; 2]) {
        let mut advisor = ResizeAdvisor::new(&options.clone().iterations(1000), is_led).unwrap();
        saw(&mut advisor, 4, 1.0);
        let before = sizes(&mut advisor).is_some();
        advisor.follow();
        saw(&mut advisor, 4, 1.0);
        assert_eq!([before, sizes(&mut advisor).is_some()], expected, "{options:?} {is_led}");
    }

    #[test]
    fn a_program_chooses_where_nobody_else_does() {
        check_chooses(Options::new(), false, [true, false]);
        check_chooses(Options::new(), true, [false, false]);
        check_chooses(Options::new().schedule([(5, 2)]), false, [false, false]);
        check_chooses(Options::new().model("auto"), true, [true, true]);
        check_chooses(Options::new().model("none"), false, [false, false]);
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
        let mut known = advisor("learn", &[1, 2, 8, 4]);
        assert_eq!(judgment(&mut known, 4), (vec![(4, 2.0), (8, 1.5)], false));
        assert_eq!(
            known.judgment(&NOW, 2).forecasts.len(),
            2,
            "it is made anew for more iterations"
        );
        let mut flat = advisor("learn", &[]);
        [8, 4].into_iter().for_each(|size| saw(&mut flat, size, 1.0));
        [1, 2, 6].into_iter().for_each(|size| flat.sizing.failed(size));
        assert_eq!(sizes(&mut flat), None);
        assert_eq!(judgment(&mut flat, 4), (vec![(4, 1.0), (8, 1.0)], true));
    }

    #[test]
    fn what_a_model_needs_is_said() {
        let asked = advisor("learn", &[]);
        assert!(
            asked.needs((2, 2)).is_some_and(|needed| needed.contains("needs `--sizes MIN:MAX`"))
        );
        assert_eq!(asked.needs((1, 8)), None);
        assert_eq!(ResizeAdvisor::new(&Options::new(), false).unwrap().needs((2, 2)), None);
    }

    fn resize(outcome: ResizeOutcome, to: u32, wait: f64) -> Resize {
        let seconds = Seconds { wait, ..Seconds::default() };
        Resize { from: 4, to, outcome, seconds, ..Resize::default() }
    }

    #[test]
    fn resizes_teach_what_they_cost() {
        let mut advisor = advisor("learn", &[8, 4]);
        advisor.learn(&resize(ResizeOutcome::Failed, 8, 1.0), &NOW);
        assert_ne!(sizes(&mut advisor), Some(8));
        advisor.learn(&resize(ResizeOutcome::Done, 6, 1.0), &NOW);
        saw(&mut advisor, 4, 2.0);
        assert_eq!(sizes(&mut advisor), Some(8));
        advisor.learn(&resize(ResizeOutcome::Done, 8, 1e6), &NOW);
        saw(&mut advisor, 4, 2.0);
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
        let said = ResizeAdvisor::new(&Options::new().model(word), false).unwrap_err().to_string();
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
