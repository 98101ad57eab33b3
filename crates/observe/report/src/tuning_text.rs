//! Numbers and sentences about tuning, shared by terminal and page.

use display::ink::Tone;
use display::text::harmless;
use display::units::{percent, seconds, trimmed};
use run_record::tuning::summary::IterationTime;
use run_record::tuning::{
    DecisionOutcome, DecisionSummary, TuningMode, TuningSummary, TuningValue,
};
use statistics::median;

/// Number of iterations at each end of the run that stand for "at first" and "at last".
const N_ENDS: usize = 5;

/// Median iteration time at first and at last in s, and relative change of the time per unit of work.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct IterationTrend {
    pub(crate) first_s: f64,
    pub(crate) last_s: f64,
    pub(crate) change: f64,
}

/// Computes the trend of iteration times, with "at first" before any change; `None` for fewer than two iterations.
pub(crate) fn iteration_trend(tuning: &TuningSummary) -> Option<IterationTrend> {
    let iterations = &tuning.iterations;
    let n_ends = N_ENDS.min(iterations.len() / 2);
    if n_ends == 0 {
        return None;
    }
    let changed = tuning.decisions.iter().filter_map(|decision| decision.iteration).min();
    let n_before = changed.map_or(n_ends, |changed| {
        iterations.partition_point(|iteration| iteration.number < changed)
    });
    let first = &iterations[..n_ends.min(n_before.max(1))];
    let last = &iterations[iterations.len() - n_ends..];
    let time = |some: &[IterationTime]| {
        median(some.iter().map(|iteration| iteration.duration_s)).unwrap_or(0.0)
    };
    let per_work = |some: &[IterationTime]| {
        let times = some.iter().map(|iteration| iteration.duration_s / iteration.work);
        median(times).unwrap_or(0.0)
    };
    let change = per_work(last) / per_work(first) - 1.0;
    Some(IterationTrend { first_s: time(first), last_s: time(last), change })
}

/// Returns `0.312 s at first, 0.201 s at last: 35.6 % less per unit of work`.
pub(crate) fn trend_words(trend: &IterationTrend) -> String {
    let times = format!("{} at first, {} at last", seconds(trend.first_s), seconds(trend.last_s));
    match trend.change {
        change if !change.is_finite() => times,
        change if change < 0.0 => format!("{times}: {} less per unit of work", percent(-change)),
        change => format!("{times}: {} more per unit of work", percent(change)),
    }
}

/// Returns `factoring, search (ended: killed by SIGSEGV)`.
pub(crate) fn tunlets(tuning: &TuningSummary) -> String {
    let names = tuning.tunlets.iter().map(|tunlet| match &tunlet.ended {
        None => harmless(&tunlet.name),
        Some(reason) => harmless(&format!("{} (ended: {reason})", tunlet.name)),
    });
    names.collect::<Vec<_>>().join(", ")
}

/// Returns `12 decisions: 9 kept, 2 undone, 1 declined`.
pub(crate) fn tally(tuning: &TuningSummary) -> String {
    let n_decisions = tuning.decisions.len();
    let count = |outcome| tuning.decisions.iter().filter(|one| one.outcome == outcome).count();
    let counts = OUTCOMES.into_iter().map(|(outcome, word)| (count(outcome), word));
    let counts = counts.filter(|(n, _)| *n != 0).map(|(n, word)| format!("{n} {word}"));
    let counts = counts.collect::<Vec<_>>().join(", ");
    match n_decisions {
        0 => "no decision".to_owned(),
        1 => format!("1 decision: {counts}"),
        n => format!("{n} decisions: {counts}"),
    }
}

const OUTCOMES: [(DecisionOutcome, &str); 6] = [
    (DecisionOutcome::Kept, "kept"),
    (DecisionOutcome::Undone, "undone"),
    (DecisionOutcome::Declined, "declined"),
    (DecisionOutcome::Lost, "lost"),
    (DecisionOutcome::Would, "not carried out (dry run)"),
    (DecisionOutcome::Open, "open at the end"),
];

/// Returns whether the program was changed, in words.
pub(crate) fn mode_words(tuning: &TuningSummary) -> &'static str {
    let is_changed = tuning.decisions.iter().any(|decision| decision.applied_s.is_some());
    match tuning.mode {
        _ if tuning.is_off => "switched off by the user",
        TuningMode::Tune if is_changed => "the program was changed while it ran",
        TuningMode::Tune => "nothing was changed",
        TuningMode::DryRun => "dry run: nothing was changed",
        TuningMode::Observe => "only observed: nothing was changed",
    }
}

/// Returns `F1 0.5 → 0.38`.
pub(crate) fn change(decision: &DecisionSummary) -> String {
    let new = value(decision.new);
    match decision.old {
        Some(old) => harmless(&format!("{} {} → {new}", decision.point, value(old))),
        None => harmless(&format!("{} → {new}", decision.point)),
    }
}

/// Formats a value with at most four decimals.
pub(crate) fn value(number: TuningValue) -> String {
    match number {
        TuningValue::Float(float) if float.fract() != 0.0 && float.is_finite() => {
            let short = trimmed(float, 4);
            if short == "0" || short == "-0" { format!("{float:.2e}") } else { short }
        }
        number => number.to_string(),
    }
}

/// Returns `kept`, `undone: iterations 12.0 % slower`.
pub(crate) fn outcome_words(decision: &DecisionSummary) -> String {
    let word = OUTCOMES.iter().find(|(outcome, _)| *outcome == decision.outcome);
    let word = word.map_or("", |(_, word)| word);
    let why = match (decision.outcome, &decision.effect) {
        (DecisionOutcome::Kept | DecisionOutcome::Undone, Some(effect)) => {
            let direction = if effect.change < 0.0 { "faster" } else { "slower" };
            format!("iterations {} {direction}", percent(effect.change.abs()))
        }
        _ => harmless(&decision.outcome_reason),
    };
    if why.is_empty() { word.to_owned() } else { format!("{word}: {why}") }
}

/// Returns the tone of an outcome.
pub(crate) fn tone(outcome: DecisionOutcome) -> Tone {
    match outcome {
        DecisionOutcome::Kept => Tone::Good,
        DecisionOutcome::Undone | DecisionOutcome::Lost => Tone::Poor,
        DecisionOutcome::Declined => Tone::Fair,
        DecisionOutcome::Would | DecisionOutcome::Open => Tone::Plain,
    }
}

/// Returns `iteration 4, after 1.20 s`.
pub(crate) fn moment_words(decision: &DecisionSummary) -> String {
    let after = seconds(decision.applied_s.unwrap_or(decision.t_s));
    match decision.iteration {
        Some(iteration) => format!("iteration {iteration}, after {after}"),
        None => format!("after {after}"),
    }
}

/// Returns a value as a number, if it is known.
pub(crate) fn as_f64(number: TuningValue) -> Option<f64> {
    match number {
        TuningValue::Int(whole) => Some(whole as f64),
        TuningValue::Uint(whole) => Some(whole as f64),
        TuningValue::Float(float) => Some(float),
        TuningValue::Unknown(()) => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(number: TuningValue, expected: &str) {
        assert_eq!(value(number), expected);
    }

    #[test]
    fn values_are_short() {
        check(TuningValue::Int(7), "7");
        check(TuningValue::Float(0.5), "0.5");
        check(TuningValue::Float(0.380_012_3), "0.38");
        check(TuningValue::Float(1.0 / 3.0), "0.3333");
        check(TuningValue::Float(2.0), "2");
        check(TuningValue::Float(1e-7), "1.00e-7");
        check(TuningValue::Unknown(()), "?");
    }

    #[test]
    fn too_few_iterations_have_no_course() {
        assert_eq!(iteration_trend(&TuningSummary::default()), None);
        let tuning = crate::sample::tuning();
        let trend = iteration_trend(&tuning).unwrap();
        assert!(trend.change < -0.2, "{trend:?}");
    }
}
