//! Summary of a tuned run, assembled from its journal.

use super::{
    Effect, IterationCalls, TuningEvent, TuningLine, TuningLines, TuningMode, TuningValue,
};
use serde::{Deserialize, Serialize};
use std::collections::HashMap;

/// Maximum number of iterations and of decisions kept; `tuning.jsonl` has all.
const N_KEPT_MAX: usize = 20_000;

/// Observations, decisions and actions of the tunlets in a run.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct TuningSummary {
    /// Mode of the run.
    pub mode: TuningMode,
    /// Tunlets in the order of the command line.
    pub tunlets: Vec<TunletSummary>,
    /// Names of the tuning points of the description.
    pub points: Vec<String>,
    /// Sentence about what was taken for an iteration, or why nothing was; `None` where the description says it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub iteration_source: Option<String>,
    /// MPI calls in an iteration, if iterations were found.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub iteration_calls: Option<IterationCalls>,
    /// Time in s since the start of the run from which on iterations are these.
    #[serde(skip_serializing_if = "is_zero")]
    pub iterations_from_s: f64,
    /// Iterations of the program, in their order.
    pub iterations: Vec<IterationTime>,
    /// Decisions in the order of their acceptance.
    pub decisions: Vec<DecisionSummary>,
    /// Number of iterations and decisions beyond these maxima, which only `tuning.jsonl` has.
    pub n_left_out: u64,
    /// Events that tunlets did not receive because they arrived too fast; the record has them.
    pub n_events_unheard: u64,
    /// True if the user switched tuning off, and not on again: what had been kept was taken back.
    pub is_off: bool,
    /// Sentences about problems.
    pub warnings: Vec<String>,
}

/// A tunlet and its end.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct TunletSummary {
    /// Name.
    pub name: String,
    /// Reason for an early end or a failed start; `None` if the tunlet ran to the end.
    pub ended: Option<String>,
}

/// Iteration of the program.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct IterationTime {
    /// Number, from 0.
    pub number: u64,
    /// Time of its end, in seconds since the start of the run.
    pub end_s: f64,
    /// Duration in s.
    pub duration_s: f64,
    /// Work of the iteration; 1 where the description defines none.
    pub work: f64,
}

/// A decision from its reason to its outcome.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct DecisionSummary {
    /// Number of the decision in `tuning.jsonl`.
    pub decision: u64,
    /// Time of its acceptance, in seconds since the start of the run.
    pub t_s: f64,
    /// Time from which it was in effect on all ranks, if ever.
    pub applied_s: Option<f64>,
    /// Number of the iteration in progress at that time.
    pub iteration: Option<u64>,
    /// Name of the tunlet.
    pub tunlet: String,
    /// Name of the tuning point.
    pub point: String,
    /// Value before, if known.
    pub old: Option<TuningValue>,
    /// Requested value.
    pub new: TuningValue,
    /// Reason for the decision.
    pub reason: String,
    /// Number of ranks on which the decision was carried out.
    pub n_ranks: u32,
    /// Outcome.
    pub outcome: DecisionOutcome,
    /// Reason for the outcome.
    pub outcome_reason: String,
    /// Time at which the outcome was known.
    pub outcome_s: Option<f64>,
    /// Effect on the iterations, where it could be measured.
    pub effect: Option<Effect>,
}

/// Outcome of a decision.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum DecisionOutcome {
    /// The record ends before the outcome is known.
    #[default]
    Open,
    /// Not carried out, since the run was a dry run.
    Would,
    /// Not carried out.
    Declined,
    /// Carried out and kept.
    Kept,
    /// Carried out and reverted.
    Undone,
    /// Unknown on which ranks the change is in effect.
    Lost,
}

impl TuningSummary {
    /// Builds the summary from the lines.
    pub fn of(found: &TuningLines) -> Self {
        let mut summary = Self { warnings: found.problems.clone(), ..Self::default() };
        let mut positions = HashMap::new();
        for line in &found.lines {
            summary.add(line, &mut positions);
        }
        if summary.iterations.is_empty() {
            // Without iterations, windows of time were counted.
            summary.decisions.iter_mut().for_each(|decision| decision.iteration = None);
        }
        summary
    }

    fn add(&mut self, line: &TuningLine, positions: &mut HashMap<u64, usize>) {
        match &line.what {
            TuningEvent::Begin { mode, tunlets, points, .. } => {
                self.mode = *mode;
                self.points.clone_from(points);
                let tunlet = |name: &String| TunletSummary { name: name.clone(), ended: None };
                self.tunlets = tunlets.iter().map(tunlet).collect();
            }
            TuningEvent::Iteration { number, duration_s, work } => {
                let (number, duration_s, work) = (*number, *duration_s, *work);
                let iteration = IterationTime { number, end_s: line.t_s, duration_s, work };
                self.n_left_out += u64::from(!push(&mut self.iterations, iteration));
            }
            TuningEvent::Iterations { text, calls } => {
                self.iteration_source = Some(text.clone());
                self.iteration_calls = *calls;
                self.iterations_from_s = line.t_s;
            }
            TuningEvent::Decision { decision, tunlet, point, old, new, reason } => {
                let summary = DecisionSummary {
                    decision: *decision,
                    t_s: line.t_s,
                    applied_s: None,
                    iteration: None,
                    tunlet: tunlet.clone(),
                    point: point.clone(),
                    old: *old,
                    new: *new,
                    reason: reason.clone(),
                    n_ranks: 0,
                    outcome: DecisionOutcome::Open,
                    outcome_reason: String::new(),
                    outcome_s: None,
                    effect: None,
                };
                let is_kept = push(&mut self.decisions, summary);
                self.n_left_out += u64::from(!is_kept);
                if is_kept {
                    positions.insert(*decision, self.decisions.len() - 1);
                }
            }
            TuningEvent::TunletEnded { tunlet, reason } => {
                let known = self.tunlets.iter_mut().find(|summary| summary.name == *tunlet);
                if let Some(summary) = known {
                    summary.ended.get_or_insert_with(|| reason.clone());
                }
            }
            TuningEvent::Warning { text } => {
                push(&mut self.warnings, text.clone());
            }
            TuningEvent::Switched { is_on } => self.is_off = !is_on,
            TuningEvent::End { n_events_unheard } => self.n_events_unheard = *n_events_unheard,
            _ => self.apply(line, positions),
        }
    }

    /// Applies a line to the summary of its decision.
    fn apply(&mut self, line: &TuningLine, positions: &HashMap<u64, usize>) {
        use DecisionOutcome::{Declined, Kept, Lost, Undone, Would};
        let position_of = |decision: &u64| positions.get(decision).copied();
        let (decision, outcome, reason) = match &line.what {
            TuningEvent::Applied { decision, old, n_ranks, iteration, .. } => {
                if let Some(position) = position_of(decision) {
                    let summary = &mut self.decisions[position];
                    summary.applied_s = Some(line.t_s);
                    summary.old = Some(*old);
                    (summary.n_ranks, summary.iteration) = (*n_ranks, Some(*iteration));
                }
                return;
            }
            TuningEvent::Effect { decision, effect } => {
                if let Some(position) = position_of(decision) {
                    self.decisions[position].effect = Some(*effect);
                }
                return;
            }
            TuningEvent::Would { decision } => (decision, Would, ""),
            TuningEvent::Declined { decision, reason } => (decision, Declined, reason.as_str()),
            TuningEvent::Kept { decision, reason } => (decision, Kept, reason.as_str()),
            TuningEvent::Undone { decision, reason } => (decision, Undone, reason.as_str()),
            TuningEvent::Lost { decision, reason } => (decision, Lost, reason.as_str()),
            _ => return,
        };
        if let Some(position) = position_of(decision) {
            let summary = &mut self.decisions[position];
            summary.outcome = outcome;
            reason.clone_into(&mut summary.outcome_reason);
            summary.outcome_s = Some(line.t_s);
        }
    }
}

/// Appends an item; returns false if the list is full.
fn push<T>(list: &mut Vec<T>, item: T) -> bool {
    let has_room = list.len() < N_KEPT_MAX;
    if has_room {
        list.push(item);
    }
    has_room
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde passes it so")]
fn is_zero(time_s: &f64) -> bool {
    *time_s == 0.0
}
