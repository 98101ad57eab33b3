//! What a run that has ended teaches, from its summary.

use events::Lever;
use learning::{Ended, Facts, FileUse, LeverTrial, Message, Run, rank_order};
use run_record::Summary;
use run_record::summary::RankUsage;
use run_record::tuning::summary::IterationTime;
use run_record::tuning::{DecisionOutcome, DecisionSummary, TuningSummary, TuningValue};

/// Least number of iterations that tell how long one takes.
const N_ITERATIONS_MIN: usize = 5;
const POINT_TO_POINT: &str = "point-to-point";

/// Completes a run, and takes from the summary what it teaches.
pub(super) fn ended(summary: &Summary, run: Run, trial: Option<String>) -> Ended {
    let tuning = summary.tuning.as_ref();
    let iteration_s = tuning.and_then(iteration_s);
    let run = Run {
        started_s: summary.started_s,
        end: end(summary),
        elapsed_s: summary.elapsed_s,
        iteration_s,
        ..run
    };
    let n_calls = tuning.and_then(|tuning| tuning.iteration_calls).map(|calls| calls.n);
    let levers = tuning.map(levers).unwrap_or_default();
    let facts = facts(summary, iteration_s.is_some());
    Ended { run, n_calls, trial, levers, facts, rank_order: order(summary) }
}

fn end(summary: &Summary) -> String {
    match (summary.outcome.exit_code, summary.outcome.signal) {
        (Some(code), _) => format!("exit code {code}"),
        (None, Some(signal)) => format!("signal {signal}"),
        (None, None) => "an unknown end".to_owned(),
    }
}

/// Median time in s of an iteration after the last change; before it, if too few came after.
fn iteration_s(tuning: &TuningSummary) -> Option<f64> {
    let from_s = tuning.iterations_from_s;
    let mut starts_s = vec![from_s];
    let times = tuning.decisions.iter().flat_map(|it| [it.applied_s, undone_s(it)]);
    starts_s.extend(times.flatten().filter(|at_s| from_s < *at_s));
    starts_s.sort_by(f64::total_cmp);
    let ends_s = starts_s.iter().skip(1).copied().chain([f64::INFINITY]);
    let is_bad = |start_s: f64| {
        let is_its = |it: &DecisionSummary| it.applied_s == Some(start_s) && undone_s(it).is_some();
        tuning.decisions.iter().any(is_its)
    };
    let spans: Vec<(f64, f64)> = starts_s.iter().copied().zip(ends_s).collect();
    let good = spans.iter().rev().filter(|(start_s, _)| !is_bad(*start_s));
    let joined = tuning.iteration_calls.map_or(1.0, |calls| calls.n_joined.max(1.0));
    good.map(|span| times_s(tuning, *span))
        .find(|times_s| N_ITERATIONS_MIN <= times_s.len())
        .and_then(median)
        .map(|time_s| time_s / joined)
}

fn undone_s(decision: &DecisionSummary) -> Option<f64> {
    decision.outcome_s.filter(|_| decision.outcome == DecisionOutcome::Undone)
}

/// Times in s of the iterations inside of a span, without the first one.
fn times_s(tuning: &TuningSummary, (start_s, end_s): (f64, f64)) -> Vec<f64> {
    let is_inside = |it: &&IterationTime| start_s <= it.end_s - it.duration_s && it.end_s <= end_s;
    let time_s = |it: &IterationTime| it.duration_s / if 0.0 < it.work { it.work } else { 1.0 };
    tuning.iterations.iter().filter(is_inside).skip(1).map(time_s).collect()
}

fn median(mut values: Vec<f64>) -> Option<f64> {
    values.sort_by(f64::total_cmp);
    values.get(values.len() / 2).copied()
}

/// Trials of levers that could be measured.
fn levers(tuning: &TuningSummary) -> Vec<LeverTrial> {
    // Everything was taken back, whether or not it helped.
    if tuning.is_off {
        return Vec::new();
    }
    let trial = |decision: &DecisionSummary| {
        let lever = Lever::ALL.into_iter().find(|lever| lever.name() == decision.point)?;
        let effect = decision.effect?;
        let is_off = decision.new == TuningValue::Int(0);
        let is_for_start = !lever.is_safe_unmeasured();
        let is_judged = matches!(decision.outcome, DecisionOutcome::Kept | DecisionOutcome::Undone);
        // The others are switched off when their reason is gone.
        (is_judged && (is_for_start || !is_off)).then(|| LeverTrial {
            lever: decision.point.clone(),
            is_check: is_off,
            is_kept: decision.outcome == DecisionOutcome::Kept,
            is_for_start,
            before_s: effect.before_s,
            after_s: effect.after_s,
            noise: effect.noise,
        })
    };
    tuning.decisions.iter().filter_map(trial).collect()
}

fn facts(summary: &Summary, has_iterations: bool) -> Facts {
    let usage = || summary.ranks.iter().filter_map(|rank| rank.usage.as_ref());
    let ranks_s: f64 = summary.ranks.iter().map(|rank| rank.elapsed_s).sum();
    let mpi_s: f64 = summary.ranks.iter().map(|rank| rank.mpi_s).sum();
    let cpu_s: f64 = usage().map(|usage| usage.cpu_s).sum();
    let n_faults: u64 = usage().map(RankUsage::repeated_faults).sum();
    let is_send = |name: &str| name.contains("send") || name.contains("Send");
    let sends = summary.operations.iter();
    let sends = sends.filter(|(name, it)| it.class == POINT_TO_POINT && is_send(name));
    let sizes = sends.flat_map(|(_, it)| it.sizes.iter());
    let files = summary.operations.iter().filter(|(name, _)| name.starts_with("MPI_File_"));
    let file = |(name, it): (&String, &run_record::summary::OperationTotals)| FileUse {
        operation: name.clone(),
        n: it.calls,
        bytes: it.bytes,
        time_s: it.time_s,
    };
    let share = |part: f64, all: f64| if 0.0 < all { part / all } else { 0.0 };
    Facts {
        mpi: summary.mpi.clone(),
        n_ranks: summary.n_ranks,
        n_nodes: summary.n_nodes,
        ranks_per_core: summary.nodes.iter().map(|it| it.ranks_per_core).fold(0.0, f64::max),
        mpi_share: share(mpi_s, ranks_s),
        memory_max_bytes: usage().map(|usage| usage.memory_max_bytes).max().unwrap_or(0),
        faults_per_cpu_s: share(n_faults as f64, cpu_s),
        messages: sizes.map(|(bytes_min, n)| Message { bytes_min: *bytes_min, n: *n }).collect(),
        files: files.map(file).collect(),
        ranks_s,
        has_iterations,
    }
}

/// Better order of the ranks over nodes, if all belong to one world.
fn order(summary: &Summary) -> Option<learning::RankOrder> {
    if summary.n_nodes < 2 || summary.worlds.len() != 1 {
        return None;
    }
    let mut ranks: Vec<_> = summary.ranks.iter().collect();
    ranks.sort_by_key(|rank| rank.rank);
    let is_whole = ranks.iter().zip(0..).all(|(rank, number)| rank.rank == number);
    let nodes: Vec<String> = ranks.iter().map(|rank| rank.node.clone()).collect();
    let traffic: Vec<_> = summary.traffic.iter().map(|it| (it.from, it.to, it.bytes)).collect();
    is_whole.then(|| rank_order(&nodes, &traffic)).flatten()
}

#[cfg(test)]
mod tests {
    use super::*;
    use run_record::tuning::{Effect, TuningLines, parse};

    fn tuning(decisions: &[DecisionSummary], durations_s: &[f64]) -> TuningSummary {
        let end = |end_s: &mut f64, duration_s: &f64| {
            *end_s += duration_s;
            Some(IterationTime { end_s: *end_s, duration_s: *duration_s, work: 1.0, number: 0 })
        };
        let iterations = durations_s.iter().scan(0.0, end).collect();
        let TuningLines { lines, problems } = parse(b"");
        let empty = TuningSummary::of(&TuningLines { lines, problems });
        TuningSummary { iterations, decisions: decisions.to_vec(), ..empty }
    }

    fn decision(new: i64, outcome: DecisionOutcome, span_s: (f64, f64)) -> DecisionSummary {
        let effect = Effect { before_s: 2.0, after_s: 1.0, ..Effect::default() };
        DecisionSummary {
            decision: 1,
            t_s: 0.0,
            applied_s: Some(span_s.0),
            iteration: None,
            tunlet: "memory".to_owned(),
            point: "memory".to_owned(),
            old: None,
            new: TuningValue::Int(new),
            reason: String::new(),
            n_ranks: 1,
            outcome,
            outcome_reason: String::new(),
            outcome_s: Some(span_s.1),
            effect: Some(effect),
        }
    }

    #[test]
    fn iterations_count_after_the_last_change() {
        let durations_s = [[2.0; 10], [1.0; 10]].concat();
        assert_eq!(iteration_s(&tuning(&[], &durations_s[..4])), None);
        let kept = decision(1, DecisionOutcome::Kept, (20.0, 25.0));
        assert_eq!(iteration_s(&tuning(&[kept], &durations_s)), Some(1.0));
        let undone = decision(1, DecisionOutcome::Undone, (20.0, 30.0));
        assert_eq!(iteration_s(&tuning(&[undone], &durations_s)), Some(2.0), "the trial is bad");
        let late = decision(1, DecisionOutcome::Kept, (27.0, 29.0));
        assert_eq!(iteration_s(&tuning(&[late], &durations_s)), Some(2.0), "too few after it");
    }

    #[test]
    fn trials_and_checks_of_levers_are_told_apart() {
        let of = |new, outcome| levers(&tuning(&[decision(new, outcome, (0.0, 1.0))], &[]));
        let set = &of(1, DecisionOutcome::Kept)[0];
        assert!(!set.is_check && set.is_kept && set.is_for_start);
        let check = &of(0, DecisionOutcome::Undone)[0];
        assert!(check.is_check && !check.is_kept);
        assert_eq!(of(1, DecisionOutcome::Declined), []);
        let off = TuningSummary {
            is_off: true,
            ..tuning(&[decision(1, DecisionOutcome::Undone, (0.0, 1.0))], &[])
        };
        assert_eq!(levers(&off), []);
    }
}
