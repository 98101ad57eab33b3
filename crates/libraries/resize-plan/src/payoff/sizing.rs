//! Choice of the size of a program over its whole run: learns what an iteration takes at the sizes that it has had and
//! what changes cost, tries others where that costs little, and keeps the best.
//!
//! Trying is paid from an allowance, a share of the time that the program takes. Of the sizes that the allowance covers,
//! the one with the largest hope is tried: `iterations left * (seconds at the best size known - hoped seconds) - cost`,
//! where the hoped time lies between the likely one and the best that it may be for all that is known. Where the number
//! of iterations is unknown, as many are taken to be left as were done.

use super::{Cost, CostFactors, Curve, Estimate, History, Judged, Payoff, Prospect};
use super::{SizeMeasurement, Verdict};
use super::{advise, likeliest, no_gain, processes, sooner, stay, worth};
use std::collections::BTreeSet;

/// Largest share of a run's time that trying sizes may lose.
const ALLOWANCE: f64 = 0.05;
/// Least time of a run in which sizes are tried, in seconds.
const LEAST_RUN_S: f64 = 4.0;
/// Number of iterations after which a tried size is known.
const N_TRY: f64 = 2.0;
/// Least saving for which the size changes, as a share of the time left.
const LEAST_SHARE: f64 = 0.02;
/// Where the hope for a size lies between its likely time, 0, and the best that it may have, 1; and how much of that is
/// left after each size that was tried for nothing.
const HOPE: f64 = 0.75;
const HOPE_LEFT: f64 = 0.7;
/// Sizes that count as tried for nothing after times have changed: what slows one size mostly slows all.
const N_AFTER_CHANGE: i32 = 2;
/// Time from the order to start processes until they compute, before one was measured, in seconds.
const START_S: f64 = 0.5;
/// Number of measurements after which the present size is judged.
const N_CLEAR: u32 = 3;
/// The same as a time, in seconds.
const CLEAR_S: f64 = 0.5;
/// Ratio of a tried size's time to the best one from which fewer measurements say enough, and how many.
const HOPELESS: f64 = 1.3;
const N_HOPELESS: u32 = 2;
/// Least ratio of sizes of which one is tried while the other one is known, and largest one of the best size to a smaller
/// one that is tried.
const LEAST_STEP: f64 = 1.2;
const LARGEST_STEP: u32 = 4;
/// How many times longer than in the middle of what is possible an iteration at a size that is tried may take.
const FEAR: f64 = 1.25;
/// Number of sizes at which a change may fail in a row before no other one is tried.
const N_FAILED_MAX: usize = 3;
/// Share of the nearest end of a model's interval that a measurement must pass to refute the model.
const REFUTED: f64 = 0.9;

/// A run and its present size.
#[derive(Clone, Copy, Debug)]
pub struct SizingInput<'a> {
    /// Present size.
    pub size: u32,
    /// Number of iterations done.
    pub n_done: u64,
    /// Number of iterations in all, where it is known.
    pub n_iterations: Option<u64>,
    /// Allowed sizes.
    pub candidates: &'a [u32],
}

impl SizingInput<'_> {
    /// The same as those who judge one change see it.
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "a number of iterations"
    )]
    fn prospect(&self) -> Prospect<'_> {
        Prospect {
            size: self.size,
            n_iterations_left: self.n_left() as u64,
            candidates: self.candidates,
        }
    }

    /// Number of iterations that are left, or taken to be left.
    #[expect(clippy::cast_precision_loss, reason = "fewer iterations than 2^53")]
    fn n_left(&self) -> f64 {
        self.n_iterations.map_or(self.n_done, |all| all.saturating_sub(self.n_done)) as f64
    }
}

/// Chooser of sizes.
///
/// ```
/// use resize_plan::payoff::{CostFactors, SizingInput, Sizing, Verdict};
///
/// let mut sizing = Sizing::default();
/// (0..5).for_each(|_| sizing.saw(2, 0.5, 1));
/// let run = SizingInput { size: 2, n_done: 5, n_iterations: Some(1000), candidates: &[1, 2, 4, 8] };
/// let change = |from: u32, to: u32| CostFactors {
///     n_new: to.saturating_sub(from),
///     ..CostFactors::default()
/// };
/// let advice = sizing.advice(&run, |_| None, change);
/// assert_eq!((advice.verdict, advice.size), (Verdict::Explore, 8), "{}", advice.reason);
/// ```
#[derive(Clone, Debug, Default)]
pub struct Sizing {
    history: History,
    cost: Cost,
    /// Time from an order to start processes until they compute, as measured last.
    start_s: Option<f64>,
    /// Sizes that could not be had since the last change.
    failed: BTreeSet<u32>,
    /// Time of all iterations, and what of it was lost by trying.
    elapsed_s: f64,
    lost_s: f64,
    /// Time of an iteration at the best size that is known, while another one is tried.
    trial_s: Option<f64>,
    /// Number of sizes that were tried for nothing since the last one that was not.
    n_in_vain: i32,
    /// Number of measurements since the last change, and that from which the size is judged again.
    n_seen: u32,
    n_due: u32,
}

/// A size that the program may have.
#[derive(Clone, Copy, Debug)]
struct Choice {
    size: u32,
    seconds: Estimate,
    /// Time of an iteration at best, whatever the curve.
    least_s: f64,
    cost: Estimate,
    /// Number of iterations left when it is there.
    n_left: f64,
    /// Whether it was measured, and nothing has changed since.
    is_measured: bool,
}

impl Choice {
    /// What changing to it gains, compared with iterations of `now`.
    fn gain(&self, now: Estimate) -> Estimate {
        let gain = |faster_s: f64, cost_s: f64| self.n_left * faster_s - cost_s;
        let faster_s = now.value - self.seconds.value;
        let (least_s, most_s) = if self.is_measured {
            // Half of an interval is twice the standard error.
            let error_s = (self.seconds.high - self.seconds.low).hypot(now.high - now.low) / 4.0;
            (faster_s - error_s, faster_s + error_s)
        } else {
            (now.low - self.seconds.high, now.high - self.seconds.low)
        };
        Estimate {
            value: gain(faster_s, self.cost.value),
            low: gain(least_s, self.cost.high),
            high: gain(most_s, self.cost.low),
        }
    }

    /// What changing to it may gain, compared with iterations of `best_s`.
    fn hope_s(&self, best_s: f64, hope: f64) -> f64 {
        let hoped_s = self.seconds.value + hope * (self.least_s - self.seconds.value);
        self.n_left * (best_s - hoped_s) - self.cost.value
    }

    fn judged(&self, now: Estimate) -> Judged {
        let Self { size, seconds, cost: cost_s, .. } = *self;
        Judged { size, seconds, cost_s, gain_s: self.gain(now) }
    }
}

impl Sizing {
    /// Adds iterations that took `seconds` each.
    pub fn saw(&mut self, size: u32, seconds: f64, n_iterations: u32) {
        if self.history.add(size, seconds, n_iterations) {
            (self.n_seen, self.n_due, self.n_in_vain) = (0, 0, N_AFTER_CHANGE);
        }
        self.n_seen = self.n_seen.saturating_add(1);
        let n_iterations = f64::from(n_iterations);
        self.elapsed_s += seconds * n_iterations;
        if let Some(best_s) = self.trial_s {
            self.lost_s += n_iterations * (seconds - best_s).max(0.0);
        }
    }

    /// Learns what a change cost: for how long the program stopped, and how long after the order the new size was there.
    pub fn changed(&mut self, change: &CostFactors, waited_s: f64, after_s: f64) {
        self.failed.clear();
        (self.n_seen, self.n_due) = (0, 0);
        self.cost.learn(change, waited_s);
        self.elapsed_s += waited_s;
        if self.trial_s.is_some() {
            self.lost_s += waited_s;
        }
        if 0 < change.n_new && after_s.is_finite() {
            self.start_s = Some(after_s);
        }
    }

    /// Learns that a size cannot be had: it is not chosen again before the size has changed.
    pub fn failed(&mut self, size: u32) {
        self.failed.insert(size);
        (self.trial_s, self.n_due) = (None, 0);
    }

    /// Returns whether there is something new to judge the size by; the more is known, the more seldom.
    pub fn is_due(&mut self) -> bool {
        let is_due = self.n_due <= self.n_seen;
        if is_due {
            self.n_due = self.n_seen + self.n_seen.div_ceil(8);
        }
        is_due
    }

    /// What was measured.
    pub fn history(&self) -> &History {
        &self.history
    }

    /// What changes cost.
    pub fn cost(&self) -> &Cost {
        &self.cost
    }

    /// Time of an iteration by size: measured, else by a model of which `prior` returns what it says, else by the curve
    /// through what was measured. A model that measurements at other sizes than `size` refute is not used.
    pub fn seconds<P: Fn(u32) -> Option<Estimate>>(
        &self,
        size: u32,
        prior: P,
    ) -> impl Fn(u32) -> Option<Estimate> + use<P> {
        let seen = self.history.seen();
        let is_refuted = seen.iter().filter(|seen| seen.size != size).any(|seen| {
            prior(seen.size).is_some_and(|said| {
                seen.seconds + seen.error_s < REFUTED * said.low
                    || said.high < REFUTED * (seen.seconds - seen.error_s)
            })
        });
        let known: Vec<u32> = seen.iter().map(|seen| seen.size).collect();
        let curve = Curve::through(&seen);
        move |size: u32| {
            let said = if is_refuted || known.contains(&size) { None } else { prior(size) };
            said.or_else(|| curve.as_ref().map(|curve| curve.seconds(size)))
        }
    }

    /// Advises on the size: `change` returns how much work a change from one size to another one is.
    pub fn advice(
        &mut self,
        run: &SizingInput<'_>,
        prior: impl Fn(u32) -> Option<Estimate>,
        change: impl Fn(u32, u32) -> CostFactors,
    ) -> Payoff {
        let n_left = run.n_left();
        let prospect = run.prospect();
        let Some(now) = self.history.at(run.size).filter(|now| self.is_clear(now)) else {
            let size = processes(run.size);
            return stay(
                run.size,
                format!("it is not known yet how long an iteration takes with {size}"),
            );
        };
        if n_left == 0.0 {
            return stay(run.size, "no iterations are left".to_owned());
        }
        let choices = self.choices(run, now, (prior, &change));
        self.end_trial(now);
        let judged: Vec<Judged> = choices.iter().map(|one| one.judged(now)).collect();
        let known = choices.iter().filter(|one| one.is_measured);
        let known: Vec<Judged> = known.map(|one| one.judged(now)).collect();
        let least_s = LEAST_SHARE * n_left * now.value;
        let is_sure = |one: &&Judged| 0.0 < one.gain_s.low && least_s < one.gain_s.value;
        if let Some(best) = likeliest(known.iter().filter(is_sure)) {
            return advise(Verdict::Resize, best, sooner(&prospect, now, best));
        }
        if let Some((tried, best_s)) = self.trial(run, now, &choices, &change) {
            self.trial_s = Some(best_s);
            let tried = tried.judged(now);
            return advise(Verdict::Explore, &tried, worth(&prospect, &tried));
        }
        match likeliest(judged.iter()) {
            Some(best) => {
                let is_fastest = best.gain_s.value + best.cost_s.value <= 0.0;
                let stayed = advise(Verdict::Stay, best, no_gain(&prospect, now, best));
                Payoff { size: run.size, is_fastest, ..stayed }
            }
            None => stay(run.size, "no other size is known or allowed".to_owned()),
        }
    }

    /// Returns whether the present size was measured often enough: some iterations, or few that say that a size which is
    /// tried is none to keep.
    fn is_clear(&self, now: &Estimate) -> bool {
        let is_hopeless = self.trial_s.is_some_and(|best_s| HOPELESS * best_s < now.value);
        N_CLEAR <= self.n_seen
            || CLEAR_S <= f64::from(self.n_seen) * now.value
            || is_hopeless && N_HOPELESS <= self.n_seen
    }

    /// Notes whether the size that was tried is better than the best one known before.
    fn end_trial(&mut self, now: Estimate) {
        if let Some(best_s) = self.trial_s.take() {
            let is_better = now.value < (1.0 - LEAST_SHARE) * best_s;
            self.n_in_vain = if is_better { 0 } else { self.n_in_vain.saturating_add(1) };
        }
    }

    fn choices<P: Fn(u32) -> Option<Estimate>>(
        &self,
        run: &SizingInput<'_>,
        now: Estimate,
        (prior, change): (P, &impl Fn(u32, u32) -> CostFactors),
    ) -> Vec<Choice> {
        let (seconds, seen) = (self.seconds(run.size, prior), self.history.seen());
        let others = run.candidates.iter().copied().filter(|size| *size != run.size);
        let choice = |size: u32| {
            let seconds = seconds(size)?;
            let work = change(run.size, size);
            let n_meanwhile = if 0 < work.n_new { self.start_s() / now.value } else { 0.0 };
            Some(Choice {
                size,
                seconds,
                least_s: least_s(&seen, size),
                cost: self.cost.of(&work),
                n_left: (run.n_left() - n_meanwhile).max(0.0),
                is_measured: self.history.is_known(size),
            })
        };
        let is_number = |choice: &Choice| {
            let Estimate { value, low, high } = choice.gain(now);
            value.is_finite() && low.is_finite() && high.is_finite()
        };
        others
            .filter(|size| !self.failed.contains(size))
            .filter_map(choice)
            .filter(is_number)
            .collect()
    }

    /// Returns the size to try, if one is worth it, and the time of an iteration at the best size that is known.
    fn trial(
        &self,
        run: &SizingInput<'_>,
        now: Estimate,
        choices: &[Choice],
        change: &impl Fn(u32, u32) -> CostFactors,
    ) -> Option<(Choice, f64)> {
        if N_FAILED_MAX <= self.failed.len() {
            return None;
        }
        let measured = choices.iter().filter(|choice| choice.is_measured);
        let measured = measured.map(|choice| (choice.size, choice.seconds.value));
        let faster = |one: (u32, f64), other: (u32, f64)| if other.1 < one.1 { other } else { one };
        let (best, best_s) = measured.fold((run.size, now.value), faster);
        let run_s = self.elapsed_s + run.n_left() * now.value;
        if run_s < LEAST_RUN_S {
            return None;
        }
        let may_lose_s = ALLOWANCE * run_s - self.lost_s;
        let least_s = LEAST_SHARE * run.n_left() * now.value;
        let hope = HOPE * HOPE_LEFT.powi(self.n_in_vain);
        let is_worth = |choice: &&Choice| {
            let back = change(choice.size, run.size);
            let start_s = if 0 < back.n_new { self.start_s() } else { 0.0 };
            let Estimate { value, high, .. } = choice.seconds;
            let slow_s = (FEAR * (value * high).sqrt()).min(high);
            let n_there = N_TRY + start_s / slow_s;
            let price_s = choice.cost.value + self.cost.of(&back).value;
            let lost_s = price_s + n_there * (slow_s - best_s).max(0.0);
            let hope_s = choice.hope_s(best_s, hope);
            least_s.max(lost_s) < hope_s && lost_s <= may_lose_s
        };
        let known = choices.iter().filter(|choice| choice.is_measured).map(|choice| choice.size);
        let known: Vec<u32> = known.chain([run.size]).collect();
        let is_step = |choice: &&Choice| {
            let is_far = known.iter().all(|known| LEAST_STEP <= ratio(choice.size, *known));
            !choice.is_measured && is_far && best <= LARGEST_STEP * choice.size
        };
        let unknown = choices.iter().filter(is_step).filter(is_worth);
        let hopes = |one: &&Choice, other: &&Choice| {
            one.hope_s(best_s, hope)
                .total_cmp(&other.hope_s(best_s, hope))
                .then(other.size.cmp(&one.size))
        };
        unknown.max_by(hopes).map(|tried| (*tried, best_s))
    }

    fn start_s(&self) -> f64 {
        self.start_s.unwrap_or(START_S)
    }
}

/// Time of an iteration at a size, at best: no program speeds up by more than its processes, or slows down by more.
fn least_s(seen: &[SizeMeasurement], size: u32) -> f64 {
    let bound = |seen: &SizeMeasurement| {
        let (one, other) = (f64::from(seen.size), f64::from(size.max(1)));
        (seen.seconds - seen.error_s) * (one / other).min(other / one)
    };
    seen.iter().map(bound).fold(0.0, f64::max)
}

fn ratio(one: u32, other: u32) -> f64 {
    let ratio = f64::from(one) / f64::from(other.max(1));
    ratio.max(1.0 / ratio)
}
