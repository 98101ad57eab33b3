//! An action on several ranks: prepared, carried out by all of them or by none, and acknowledged.
//!
//! ```text
//! Preparing --all ready--> Committed --all done--> done
//!    | a rank cannot          | a rank failed, or time is up
//!    v                        v
//! declined               Withdrawing --> done after all, declined, or set back where it was done
//! ```
//!
//! An action that restores values does not need all ranks: every rank that it reaches is an improvement.

use super::{ActionDone, ActionReport, Output};
use events::{Rank, Value};
use std::collections::BTreeMap;

/// Ranks that an action has to reach.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Coverage {
    /// All ranks or none.
    AllOrNone,
    /// As many ranks as possible; used to restore values.
    Each,
}

/// Final result of an action.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Ending {
    /// Carried out on all remaining ranks.
    Done(Vec<ActionDone>),
    /// Carried out on no rank.
    Declined { reason: String },
    /// Carried out on some ranks; those listed must be restored to the given values.
    Partial { set_back: Vec<(Rank, Value)>, reason: String },
    /// Unknown on which ranks it was carried out.
    Lost { reason: String },
}

#[derive(Debug)]
pub(super) struct Action {
    id: u64,
    point: usize,
    coverage: Coverage,
    phase: Phase,
    deadline_s: f64,
    patience_s: f64,
    /// Number of the sync-point passage at which a committed action is carried out.
    at_hit: u32,
    rank_actions: BTreeMap<Rank, RankAction>,
    /// Sentence of the first rank that had one about what will be done; else empty.
    note: String,
}

#[derive(Clone, Debug, PartialEq)]
enum Phase {
    Preparing,
    Committed,
    Withdrawing { reason: String },
}

/// State of the action on one rank.
#[derive(Debug)]
struct RankAction {
    value: Value,
    state: State,
}

#[derive(Clone, Debug, PartialEq)]
enum State {
    Asked,
    Ready {
        n_hits: u32,
        old: Value,
    },
    Done(ActionDone),
    /// Withdrawn before it was carried out.
    Clean,
    Failed(String),
    Gone,
}

impl Action {
    pub(super) fn new(
        (id, point, coverage): (u64, usize, Coverage),
        values: &[(Rank, Value)],
        (now_s, patience_s): (f64, f64),
    ) -> Self {
        let asked = |value: &Value| RankAction { value: *value, state: State::Asked };
        Self {
            id,
            point,
            coverage,
            phase: Phase::Preparing,
            deadline_s: now_s + patience_s,
            patience_s,
            at_hit: 0,
            rank_actions: values.iter().map(|(rank, value)| (*rank, asked(value))).collect(),
            note: String::new(),
        }
    }

    /// Schedules this action after `other`, even if `other` is still carried out despite its withdrawal.
    pub(super) fn follow(&mut self, other: &Self) {
        self.at_hit = if other.at_hit == 0 { 0 } else { other.at_hit.saturating_add(1) };
    }

    /// Returns the order that starts the action.
    pub(super) fn prepare(&self, repeats: bool) -> Output {
        let values = self.rank_actions.iter().map(|(rank, of_rank)| (*rank, of_rank.value));
        Output::Prepare { action: self.id, point: self.point, values: values.collect(), repeats }
    }

    /// Processes a rank's report; reports about other actions are ignored.
    pub(super) fn hear(&mut self, rank: Rank, action: Option<u64>, report: &ActionReport) {
        if action.is_some_and(|action| action != self.id) {
            return;
        }
        if let Some(rank_action) = self.rank_actions.get_mut(&rank) {
            rank_action.hear(report);
            match report {
                ActionReport::Ready { note, .. } if self.note.is_empty() => {
                    self.note.clone_from(note);
                }
                _ => {}
            }
        }
    }

    /// Sentence of a rank about what is done; empty where the value says it all.
    pub(super) fn note(&self) -> &str {
        &self.note
    }

    /// Advances as far as possible; returns the ending once the action has ended.
    pub(super) fn step(&mut self, now_s: f64, outputs: &mut Vec<Output>) -> Option<Ending> {
        let is_late = self.deadline_s <= now_s;
        match (self.phase.clone(), self.coverage) {
            (Phase::Preparing, Coverage::AllOrNone) => self.prepare_all(now_s, outputs),
            (Phase::Preparing, Coverage::Each) => self.prepare_each(now_s, outputs),
            (Phase::Committed, Coverage::AllOrNone) => self.complete_all(now_s, outputs),
            (Phase::Committed, Coverage::Each) => self.complete_each(is_late),
            (Phase::Withdrawing { reason }, _) => self.clear_up(is_late, reason),
        }
    }

    /// Returns the ending if the run ends now.
    pub(super) fn ending_now(&self) -> Ending {
        let (done, open) = (self.done(), self.ranks_that(State::may_still_happen));
        let reason = "the run ended before it was carried out".to_owned();
        match () {
            () if done.is_empty() => Ending::Declined { reason },
            () if open.is_empty() => Ending::Done(done),
            () => Ending::Lost { reason: "the run ended while it was carried out".to_owned() },
        }
    }

    fn prepare_all(&mut self, now_s: f64, outputs: &mut Vec<Output>) -> Option<Ending> {
        let silent = self.ranks_that(|state| *state == State::Asked);
        let reason = match self.failure() {
            Some(reason) => reason,
            None if silent.is_empty() => {
                self.commit(now_s, outputs);
                return None;
            }
            None if self.deadline_s <= now_s => {
                format!("rank {} did not answer in time", silent[0].0)
            }
            None => return None,
        };
        let ranks = self.ranks_that(|state| matches!(state, State::Asked | State::Ready { .. }));
        self.withdraw(ranks, outputs);
        Some(Ending::Declined { reason })
    }

    fn prepare_each(&mut self, now_s: f64, outputs: &mut Vec<Output>) -> Option<Ending> {
        if self.deadline_s <= now_s {
            self.fail_those_that(|state| *state == State::Asked, "it did not answer in time");
        }
        if self.ranks_that(|state| *state == State::Asked).is_empty() {
            self.commit(now_s, outputs);
        }
        None
    }

    fn complete_all(&mut self, now_s: f64, outputs: &mut Vec<Output>) -> Option<Ending> {
        let waiting = self.ranks_that(State::may_still_happen);
        let reason = match self.first_failure() {
            Some(reason) => reason,
            None if waiting.is_empty() => {
                let (done, reason) = (self.done(), "all its ranks ended".to_owned());
                let is_none = done.is_empty();
                return Some(if is_none {
                    Ending::Declined { reason }
                } else {
                    Ending::Done(done)
                });
            }
            None if self.deadline_s <= now_s => {
                let n_late = waiting.len();
                format!("{n_late} ranks, rank {} first, did not carry it out in time", waiting[0].0)
            }
            None => return None,
        };
        self.withdraw(waiting, outputs);
        self.phase = Phase::Withdrawing { reason };
        self.deadline_s = now_s + self.patience_s;
        self.step(now_s, outputs)
    }

    fn complete_each(&mut self, is_late: bool) -> Option<Ending> {
        if is_late {
            self.fail_those_that(State::may_still_happen, "it did not set it back in time");
        }
        if !self.ranks_that(State::may_still_happen).is_empty() {
            return None;
        }
        Some(match self.first_failure() {
            Some(reason) => Ending::Lost { reason },
            None => Ending::Done(self.done()),
        })
    }

    /// Waits, after a withdrawal, until every rank has reported whether it had carried the action out.
    fn clear_up(&mut self, is_late: bool, reason: String) -> Option<Ending> {
        let open = self.ranks_that(State::may_still_happen);
        if !open.is_empty() && !is_late {
            return None;
        }
        let done = self.done();
        // On a rank that was withdrawn or failed, the old value holds.
        let lacks_value = |state: &State| matches!(state, State::Clean | State::Failed(_));
        if !done.is_empty() && open.is_empty() && self.ranks_that(lacks_value).is_empty() {
            return Some(Ending::Done(done));
        }
        // A rank that did not answer may have carried it out; restoring the old value is harmless if it did not.
        let set_back: Vec<_> = self
            .rank_actions
            .iter()
            .filter_map(|(rank, rank_action)| Some((*rank, rank_action.old()?)))
            .collect();
        Some(if set_back.is_empty() {
            Ending::Declined { reason }
        } else {
            Ending::Partial { set_back, reason }
        })
    }

    fn commit(&mut self, now_s: f64, outputs: &mut Vec<Output>) {
        let n_hits = |rank_action: &RankAction| match rank_action.state {
            State::Ready { n_hits, .. } => Some(n_hits),
            _ => None,
        };
        let ranks = self.ranks_that(|state| matches!(state, State::Ready { .. }));
        let latest = self.rank_actions.values().filter_map(n_hits).max().unwrap_or_default();
        // The next passage may be in progress on some ranks and over on others.
        let earliest = if ranks.len() == 1 { 0 } else { latest.saturating_add(2) };
        self.at_hit = self.at_hit.max(earliest);
        let at_hit = self.at_hit;
        self.phase = Phase::Committed;
        self.deadline_s = now_s + self.patience_s;
        if !ranks.is_empty() {
            outputs.push(Output::Commit { action: self.id, ranks, at_hit });
        }
    }

    fn withdraw(&self, ranks: Vec<Rank>, outputs: &mut Vec<Output>) {
        if !ranks.is_empty() {
            outputs.push(Output::Withdraw { action: self.id, ranks });
        }
    }

    /// Returns why not all ranks can carry the action out; `None` if no rank has failed.
    fn failure(&self) -> Option<String> {
        self.rank_actions.iter().find_map(|(rank, rank_action)| match rank_action.state {
            State::Gone => Some(format!("rank {} ended", rank.0)),
            _ => rank_action.failure(*rank),
        })
    }

    /// Returns why the first failed rank failed.
    fn first_failure(&self) -> Option<String> {
        self.rank_actions.iter().find_map(|(rank, rank_action)| rank_action.failure(*rank))
    }

    fn fail_those_that(&mut self, is_so: impl Fn(&State) -> bool, reason: &str) {
        for RankAction { state, .. } in self.rank_actions.values_mut() {
            if is_so(state) {
                *state = State::Failed(reason.to_owned());
            }
        }
    }

    fn ranks_that(&self, is_so: impl Fn(&State) -> bool) -> Vec<Rank> {
        let so = self.rank_actions.iter().filter(|(_, rank_action)| is_so(&rank_action.state));
        so.map(|(rank, _)| *rank).collect()
    }

    fn done(&self) -> Vec<ActionDone> {
        let done = |rank_action: &RankAction| match rank_action.state {
            State::Done(done) => Some(done),
            _ => None,
        };
        self.rank_actions.values().filter_map(done).collect()
    }
}

impl State {
    /// True if the rank has neither finished, failed nor confirmed a withdrawal.
    fn may_still_happen(&self) -> bool {
        matches!(self, Self::Asked | Self::Ready { .. })
    }
}

impl RankAction {
    /// Applies a report. States only move forward, because messages may arrive twice or late.
    fn hear(&mut self, report: &ActionReport) {
        let state = match (&self.state, report) {
            (_, ActionReport::Gone) => State::Gone,
            (State::Asked, ActionReport::Ready { n_hits, old, .. }) => {
                State::Ready { n_hits: *n_hits, old: *old }
            }
            (State::Asked | State::Ready { .. }, ActionReport::Failed(reason)) => {
                State::Failed(reason.clone())
            }
            (State::Ready { .. }, ActionReport::Done(done)) => State::Done(*done),
            (State::Ready { .. }, ActionReport::Withdrawn { n_done: 0 }) => State::Clean,
            // The acknowledgment is in the rank's ring and will still arrive.
            _ => return,
        };
        self.state = state;
    }

    fn failure(&self, rank: Rank) -> Option<String> {
        match &self.state {
            State::Failed(reason) => Some(format!("rank {}: {reason}", rank.0)),
            _ => None,
        }
    }

    /// Returns the value to restore if the rank's value may have changed.
    fn old(&self) -> Option<Value> {
        match &self.state {
            State::Ready { old, .. } => Some(*old),
            State::Done(done) => Some(done.old),
            _ => None,
        }
    }
}
