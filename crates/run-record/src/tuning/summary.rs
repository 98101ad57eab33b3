//! The story of a tuned run, assembled from its lines.

use super::{Number, TuningEvent, TuningLine, TuningLines, TuningMode};
use serde::{Deserialize, Serialize};
use std::collections::HashMap;

/// Iterations and decisions kept at most, each; `tuning.jsonl` has all.
const N_KEPT_MAX: usize = 20_000;

/// What tunlets saw, decided and did in a run.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct TuningSummary {
    /// What they were allowed to do.
    pub mode: TuningMode,
    /// Tunlets in the order of the command line.
    pub tunlets: Vec<TunletStory>,
    /// Names of the tuning points of the description.
    pub points: Vec<String>,
    /// Iterations of the program, in their order.
    pub iterations: Vec<IterationTime>,
    /// Decisions in the order in which they were taken up.
    pub decisions: Vec<DecisionStory>,
    /// Iterations and decisions beyond the first of each, which only `tuning.jsonl` has.
    pub n_left_out: u64,
    /// Events that tunlets did not hear of because they came too fast; the record has them.
    pub n_events_unheard: u64,
    /// Sentences about what went wrong.
    pub warnings: Vec<String>,
}

/// A tunlet and how it ended.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct TunletStory {
    /// Its name.
    pub name: String,
    /// Why it ended before the run did, or did not begin; none when it went on to the end.
    pub ended: Option<String>,
}

/// An iteration.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct IterationTime {
    /// Number, from 0.
    pub number: u64,
    /// When it ended, in seconds since the start of the run.
    pub end_s: f64,
    /// How long it took.
    pub duration_s: f64,
    /// Its work; 1 where the description does not say.
    pub work: f64,
}

/// A decision from its reason to its outcome.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct DecisionStory {
    /// Its number in `tuning.jsonl`.
    pub decision: u64,
    /// When it was taken up, in seconds since the start of the run.
    pub t_s: f64,
    /// When it held on all ranks, if ever.
    pub applied_s: Option<f64>,
    /// Number of the iteration that was under way then.
    pub iteration: Option<u64>,
    /// Whose it was.
    pub tunlet: String,
    /// Name of the tuning point.
    pub point: String,
    /// Value before, where it is known.
    pub old: Option<Number>,
    /// Value wanted.
    pub new: Number,
    /// Why.
    pub reason: String,
    /// Ranks on which it was carried out.
    pub n_ranks: u32,
    /// What became of it.
    pub outcome: Outcome,
    /// Why that became of it.
    pub outcome_reason: String,
    /// When it was known what became of it.
    pub outcome_s: Option<f64>,
    /// What it did to the iterations, where it could be measured.
    pub effect: Option<Effect>,
}

/// What became of a decision.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Outcome {
    /// The record ends before it is known.
    #[default]
    Open,
    /// It was a dry run.
    Would,
    /// It was not carried out.
    Declined,
    /// It was carried out and stays.
    Kept,
    /// It was carried out and taken back.
    Undone,
    /// It is not known on which ranks it holds.
    Lost,
}

/// What a change did to the iterations.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Effect {
    /// Median seconds per unit of work of the iterations before it.
    pub before_s: f64,
    /// The same after it.
    pub after_s: f64,
    /// `after_s / before_s - 1`: negative when it helped.
    pub change: f64,
}

impl TuningSummary {
    /// Adds up the lines.
    pub fn of(found: &TuningLines) -> Self {
        let mut summary = Self { warnings: found.problems.clone(), ..Self::default() };
        let mut positions = HashMap::new();
        for line in &found.lines {
            summary.add(line, &mut positions);
        }
        summary
    }

    fn add(&mut self, line: &TuningLine, positions: &mut HashMap<u64, usize>) {
        match &line.what {
            TuningEvent::Begin { mode, tunlets, points, .. } => {
                self.mode = *mode;
                self.points.clone_from(points);
                let story = |name: &String| TunletStory { name: name.clone(), ended: None };
                self.tunlets = tunlets.iter().map(story).collect();
            }
            TuningEvent::Iteration { number, duration_s, work } => {
                let (number, duration_s, work) = (*number, *duration_s, *work);
                let iteration = IterationTime { number, end_s: line.t_s, duration_s, work };
                self.n_left_out += u64::from(!push(&mut self.iterations, iteration));
            }
            TuningEvent::Decision { decision, .. } => {
                let is_kept = push(&mut self.decisions, story_of(line));
                self.n_left_out += u64::from(!is_kept);
                if is_kept {
                    positions.insert(*decision, self.decisions.len() - 1);
                }
            }
            TuningEvent::TunletEnded { tunlet, reason } => {
                let known = self.tunlets.iter_mut().find(|story| story.name == *tunlet);
                if let Some(story) = known {
                    story.ended.get_or_insert_with(|| reason.clone());
                }
            }
            TuningEvent::Warning { text } => {
                push(&mut self.warnings, text.clone());
            }
            TuningEvent::End { n_events_unheard } => self.n_events_unheard = *n_events_unheard,
            _ => self.go_on(line, positions),
        }
    }

    /// Goes on with the story of a decision.
    fn go_on(&mut self, line: &TuningLine, positions: &HashMap<u64, usize>) {
        let story = |decision: &u64| positions.get(decision).copied();
        let (decision, outcome, reason) = match &line.what {
            TuningEvent::Applied { decision, old, n_ranks, iteration, .. } => {
                if let Some(position) = story(decision) {
                    let story = &mut self.decisions[position];
                    story.applied_s = Some(line.t_s);
                    story.old = Some(*old);
                    (story.n_ranks, story.iteration) = (*n_ranks, Some(*iteration));
                }
                return;
            }
            TuningEvent::Effect { decision, effect } => {
                if let Some(position) = story(decision) {
                    self.decisions[position].effect = Some(*effect);
                }
                return;
            }
            TuningEvent::Would { decision } => (decision, Outcome::Would, ""),
            TuningEvent::Declined { decision, reason } => {
                (decision, Outcome::Declined, reason.as_str())
            }
            TuningEvent::Kept { decision, reason } => (decision, Outcome::Kept, reason.as_str()),
            TuningEvent::Undone { decision, reason } => {
                (decision, Outcome::Undone, reason.as_str())
            }
            TuningEvent::Lost { decision, reason } => (decision, Outcome::Lost, reason.as_str()),
            _ => return,
        };
        if let Some(position) = story(decision) {
            let story = &mut self.decisions[position];
            story.outcome = outcome;
            reason.clone_into(&mut story.outcome_reason);
            story.outcome_s = Some(line.t_s);
        }
    }
}

/// The story that a [`TuningEvent::Decision`] opens.
fn story_of(line: &TuningLine) -> DecisionStory {
    let mut story = DecisionStory {
        decision: 0,
        t_s: line.t_s,
        applied_s: None,
        iteration: None,
        tunlet: String::new(),
        point: String::new(),
        old: None,
        new: Number::Unknown(()),
        reason: String::new(),
        n_ranks: 0,
        outcome: Outcome::Open,
        outcome_reason: String::new(),
        outcome_s: None,
        effect: None,
    };
    if let TuningEvent::Decision { decision, tunlet, point, old, new, reason } = &line.what {
        story.decision = *decision;
        (story.tunlet, story.point) = (tunlet.clone(), point.clone());
        (story.old, story.new, story.reason) = (*old, *new, reason.clone());
    }
    story
}

/// Whether there was room.
fn push<T>(list: &mut Vec<T>, item: T) -> bool {
    let has_room = list.len() < N_KEPT_MAX;
    if has_room {
        list.push(item);
    }
    has_room
}
