//! Sample tuned run.

use run_record::tuning::summary::IterationTime;
use run_record::tuning::{
    DecisionOutcome, DecisionSummary, Effect, TuningMode, TuningSummary, TuningValue, TunletSummary,
};

const ITERATION_S: f64 = 0.52;

/// Returns forty iterations under two tunlets: helpful changes were kept, harmful ones undone.
#[must_use]
pub fn tuning() -> TuningSummary {
    let mut end_s = 0.4;
    let iterations = (0..40).map(|number| {
        let duration_s = ITERATION_S * share(number) * (1.0 + 0.01 * (number * 7 % 5) as f64);
        end_s += duration_s;
        IterationTime { number, end_s, duration_s, work: 60_000.0 + 40.0 * number as f64 }
    });
    TuningSummary {
        mode: TuningMode::Tune,
        tunlets: ["factoring", "worker-count", "damping"].map(tunlet).into(),
        points: ["F0", "F1", "F2", "NW"].map(str::to_owned).into(),
        iterations: iterations.collect(),
        decisions: decisions(),
        ..TuningSummary::default()
    }
}

fn share(number: u64) -> f64 {
    match number {
        0..4 => 1.0,
        4..9 => 0.78,
        9..12 => 0.95,
        12..20 => 0.78,
        _ => 0.66,
    }
}

fn tunlet(name: &str) -> TunletSummary {
    let ended = (name == "damping").then(|| "killed by SIGSEGV".to_owned());
    TunletSummary { name: name.to_owned(), ended }
}

fn decisions() -> Vec<DecisionSummary> {
    let factoring = "sigma/mu rose to 0.91 over the last 5 iterations";
    let effect = |after| Effect { before_s: 1.0, after_s: after, change: after - 1.0, noise: 0.0 };
    let first = DecisionSummary {
        decision: 0,
        t_s: 2.3,
        applied_s: Some(2.48),
        iteration: Some(4),
        tunlet: "factoring".to_owned(),
        point: "F1".to_owned(),
        old: Some(TuningValue::Float(1.0)),
        new: TuningValue::Float(0.38),
        reason: factoring.to_owned(),
        n_ranks: 1,
        outcome: DecisionOutcome::Kept,
        outcome_reason: "its effect is within the limit".to_owned(),
        outcome_s: Some(3.7),
        effect: Some(effect(0.78)),
    };
    let second = DecisionSummary {
        decision: 1,
        t_s: 4.6,
        applied_s: Some(4.7),
        iteration: Some(9),
        tunlet: "worker-count".to_owned(),
        point: "NW".to_owned(),
        old: Some(TuningValue::Int(7)),
        new: TuningValue::Int(5),
        reason: "the performance index is least with 5 workers".to_owned(),
        outcome: DecisionOutcome::Undone,
        outcome_reason: "iterations took longer than the limit of 5 % allows".to_owned(),
        outcome_s: Some(6.2),
        effect: Some(effect(1.218)),
        ..first.clone()
    };
    let third = DecisionSummary {
        decision: 2,
        t_s: 9.9,
        applied_s: Some(10.1),
        iteration: Some(20),
        point: "F0".to_owned(),
        old: Some(TuningValue::Float(0.8)),
        new: TuningValue::Float(0.5),
        effect: Some(effect(0.846)),
        ..first.clone()
    };
    let fourth = DecisionSummary {
        decision: 3,
        t_s: 16.0,
        applied_s: None,
        iteration: None,
        new: TuningValue::Float(7.0),
        old: None,
        outcome: DecisionOutcome::Declined,
        outcome_reason: "7 is above 1, the largest value of `F1`".to_owned(),
        effect: None,
        ..first.clone()
    };
    vec![first, second, third, fourth]
}
