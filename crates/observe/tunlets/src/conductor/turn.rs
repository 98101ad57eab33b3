//! A tunlet's turn: its decisions are carried out, tried, and kept or undone.

use super::action::{Action, Coverage, Ending};
use super::admission::{check_lever, needs_trial, ranks_of};
use super::change::{ChangeInProgress, ChangeState};
use super::trial::{Trial, TrialProgress, in_words};
use super::{ActionDone, ActionReport, Conductor, Output};
use crate::{Applied, Decision, News};
use app_description::{Application, Past, TuningPoint};
use events::tuning::TuningEvent;
use events::{Lever, Rank, Value};

/// Reason of what is taken back when the user switches tuning off.
pub(super) const SWITCHED_OFF: &str = "tuning was switched off";

/// The open turn.
#[derive(Debug)]
pub(super) struct Turn {
    pub(super) slot: usize,
    pub(super) changes: Vec<ChangeInProgress>,
    trial: Option<Trial>,
}

impl Turn {
    pub(super) fn of(slot: usize, changes: Vec<ChangeInProgress>) -> Self {
        Self { slot, changes, trial: None }
    }

    /// Returns whether ranks are about to make their pages huge.
    pub(super) fn is_moving_memory(&self, application: &Application) -> bool {
        let moves = |change: &ChangeInProgress| {
            let lever = application.tuning_points[change.point].change.lever();
            lever == Some(Lever::HugePages) && matches!(change.state, ChangeState::Doing(_))
        };
        self.changes.iter().any(moves)
    }

    /// Processes a rank's report about one action, or about all if `action` is `None`.
    pub(super) fn hear(&mut self, rank: Rank, action: Option<u64>, report: &ActionReport) {
        for change in &mut self.changes {
            if let Some(own) = change.state.action() {
                own.hear(rank, action, report);
            }
        }
    }

    fn is_acting(&self) -> bool {
        let is_idle = |state: &_| matches!(state, ChangeState::Applied { .. } | ChangeState::Over);
        !self.changes.iter().all(|change| is_idle(&change.state))
    }
}

/// Adds a rank's sentence, if it has one, to a reason.
fn with_note(reason: &str, note: &str) -> String {
    if note.is_empty() { reason.to_owned() } else { format!("{reason}; {note}") }
}

/// Records a decision of which more came than a refusal that is known already.
fn say(outputs: &mut Vec<Output>, change: &mut ChangeInProgress) {
    outputs.extend(change.unsaid.take().map(Output::Record));
}

/// Notes a new value, and tells the tunlets.
fn tell_change(
    conductor: &mut Conductor,
    (slot, point): (usize, usize),
    done: &ActionDone,
    is_own: bool,
) {
    let (old, new, time_s, hit) = (done.old, done.new, done.time_s, done.hit);
    conductor.values[point] = Some(new);
    conductor.tunlets.tell_applied(slot, &Applied { point, old, new, time_s, hit, is_own });
}

fn is_safe_unmeasured(point: &TuningPoint) -> bool {
    point.past == Past::Helped || point.change.lever().is_some_and(Lever::is_safe_unmeasured)
}

impl Conductor {
    /// Opens the turn of the next tunlet that has something to do; returns false if there is none.
    pub(super) fn open_turn(&mut self, now_s: f64) -> bool {
        // The number of attempts is bounded because a tunlet may repeat declined decisions.
        for _try in 0..self.tunlets.n_tunlets() {
            // What may be kept unmeasured need not wait until iterations are known and some have ended.
            let is_awaited = self.iterations.are_awaited(now_s);
            let points = &self.application.tuning_points;
            let is_allowed = |point: usize| !is_awaited || is_safe_unmeasured(&points[point]);
            let next = self.tunlets.next_turn(self.iterations.n_ended, is_allowed);
            let Some((slot, decisions)) = next else { return false };
            let changes: Vec<ChangeInProgress> =
                decisions.iter().filter_map(|decision| self.start(now_s, slot, decision)).collect();
            if !changes.is_empty() {
                self.turn = Some(Turn::of(slot, changes));
                return true;
            }
        }
        false
    }

    fn start(&mut self, now_s: f64, slot: usize, wanted: &Decision) -> Option<ChangeInProgress> {
        let point = wanted.point;
        let described = &self.application.tuning_points[point];
        let (actor, repeats) = (described.actor, described.is_repeated);
        let admitted = described.admit(wanted.value);
        let value = admitted.as_ref().map_or(wanted.value, |value| *value);
        let wanted = &Decision { value, ..wanted.clone() };
        if self.values[point] == Some(value) && (!repeats || self.held[point] == Some(value)) {
            // The value already holds.
            let (old, new) = (value, value);
            let same = Applied { point, old, new, time_s: now_s, hit: 0, is_own: true };
            self.tunlets.tell_one(slot, &News::Applied(same));
            return None;
        }
        let checked = admitted
            .and_then(|_| self.closed.get(&point).map_or(Ok(()), |why| Err(why.clone())))
            .and_then(|()| check_lever((described, value), self.iterations.why_unmeasurable(now_s)))
            .and_then(|()| ranks_of((&self.application, actor), self.n_ranks, &self.present));
        match checked {
            Err(reason) => {
                if self.tunlets.is_new_refusal(slot, point, &reason) {
                    let decision = self.note_decision(now_s, slot, wanted);
                    let reason = reason.clone();
                    self.record(now_s, TuningEvent::Declined { decision, reason });
                }
                self.tunlets.decline(slot, point, reason);
                None
            }
            Ok(ranks) => {
                let (decision, line) = self.decision_line(now_s, slot, wanted);
                let unsaid = self.tunlets.was_refused(slot, point).then(|| line.clone());
                if unsaid.is_none() {
                    self.outputs.push(Output::Record(line));
                }
                let values: Vec<_> = ranks.into_iter().map(|rank| (rank, value)).collect();
                let action = self.act(now_s, (point, Coverage::AllOrNone), &values, repeats);
                let (held, state) = (self.held[point], ChangeState::Doing(action));
                Some(ChangeInProgress {
                    decision,
                    point,
                    decided_s: now_s,
                    held,
                    note: String::new(),
                    unsaid,
                    state,
                })
            }
        }
    }

    pub(super) fn act(
        &mut self,
        now_s: f64,
        (point, coverage): (usize, Coverage),
        values: &[(Rank, Value)],
        repeats: bool,
    ) -> Action {
        self.n_actions += 1;
        let patience_s = self.options.action_timeout_s.max(4.0 * self.iterations.last_s);
        let action = Action::new((self.n_actions, point, coverage), values, (now_s, patience_s));
        self.outputs.push(action.prepare(repeats));
        action
    }

    /// Advances the open turn; returns true when it is over.
    pub(super) fn go_on(&mut self, now_s: f64, turn: &mut Turn) -> bool {
        let slot = turn.slot;
        for change in &mut turn.changes {
            while self.go_on_with(now_s, slot, change) {}
        }
        if turn.is_acting() {
            return false;
        }
        self.try_out(now_s, turn);
        // An undo may have just begun.
        !turn.is_acting() && turn.changes.iter().all(|c| matches!(c.state, ChangeState::Over))
    }

    /// Advances one change; returns whether its state changed.
    fn go_on_with(&mut self, now_s: f64, slot: usize, change: &mut ChangeInProgress) -> bool {
        let Some(action) = change.state.action() else { return false };
        let Some(ending) = action.step(now_s, &mut self.outputs) else { return false };
        if !matches!(ending, Ending::Declined { .. }) {
            say(&mut self.outputs, change);
        }
        change.state = match (std::mem::replace(&mut change.state, ChangeState::Over), ending) {
            (ChangeState::Doing(action), Ending::Done(done)) => {
                change.note = action.note().to_owned();
                self.hold(slot, change, &done)
            }
            (ChangeState::Doing(_), Ending::Declined { reason }) => {
                self.decline(now_s, slot, change, reason)
            }
            (ChangeState::Doing(first), Ending::Partial { set_back, reason }) => {
                match self.bring_back(now_s, change, &set_back) {
                    Ok(mut action) => {
                        action.follow(&first);
                        ChangeState::SettingBack { action, reason }
                    }
                    Err(why) => self.lose(now_s, slot, change, format!("{reason}; {why}")),
                }
            }
            (ChangeState::SettingBack { reason, .. }, Ending::Done(_)) => {
                let reason = format!("{reason}; it is set back where it had been done");
                self.decline(now_s, slot, change, reason)
            }
            (ChangeState::Undoing { action, reason }, Ending::Done(done)) => {
                change.note = action.note().to_owned();
                self.take_back(now_s, slot, (change, &done), reason)
            }
            (
                ChangeState::SettingBack { reason, .. } | ChangeState::Undoing { reason, .. },
                Ending::Lost { reason: why },
            ) => self.lose(now_s, slot, change, format!("{reason}; {why}")),
            (_, Ending::Lost { reason } | Ending::Declined { reason }) => {
                self.lose(now_s, slot, change, reason)
            }
            (_, Ending::Done(_) | Ending::Partial { .. }) => ChangeState::Over,
        };
        true
    }

    /// Records that a change was carried out on all ranks.
    fn hold(&mut self, slot: usize, change: &ChangeInProgress, done: &[ActionDone]) -> ChangeState {
        let Some(first) = done.first().copied() else { return ChangeState::Over };
        let times = done.iter().map(|done| done.time_s);
        let first_s = times.clone().fold(f64::INFINITY, f64::min);
        let last_s = times.fold(f64::NEG_INFINITY, f64::max);
        let n_ranks = u32::try_from(done.len()).unwrap_or(u32::MAX);
        self.record(
            last_s,
            TuningEvent::Applied {
                decision: change.decision,
                old: first.old.into(),
                new: first.new.into(),
                rank: first.rank.0,
                n_ranks,
                hit: first.hit,
                iteration: self.iterations.number_at(last_s),
            },
        );
        let point = &self.application.tuning_points[change.point];
        // A lever is not set in one moment: while memory is moved, the program is slower.
        let is_lever = point.change.lever().is_some();
        let first_s = if is_lever { first_s.min(change.decided_s) } else { first_s };
        self.held[change.point] = point.is_repeated.then_some(first.new);
        tell_change(self, (slot, change.point), &first, true);
        let old = done.iter().map(|done| (done.rank, done.old)).collect();
        ChangeState::Applied { old, at_s: (first_s, last_s) }
    }

    /// Records, once for each reason, that no rank has the new value: none carried it out, or all that did were set back.
    fn decline(
        &mut self,
        now_s: f64,
        slot: usize,
        change: &mut ChangeInProgress,
        reason: String,
    ) -> ChangeState {
        let decision = change.decision;
        if self.tunlets.is_new_refusal(slot, change.point, &reason) {
            say(&mut self.outputs, change);
        }
        if change.unsaid.is_none() {
            self.record(now_s, TuningEvent::Declined { decision, reason: reason.clone() });
        }
        self.tunlets.decline(slot, change.point, reason);
        ChangeState::Over
    }

    /// Records that a change was undone.
    fn take_back(
        &mut self,
        now_s: f64,
        slot: usize,
        (change, done): (&ChangeInProgress, &[ActionDone]),
        reason: String,
    ) -> ChangeState {
        let decision = change.decision;
        self.held[change.point] = change.held;
        let noted = with_note(&reason, &change.note);
        self.record(now_s, TuningEvent::Undone { decision, reason: noted });
        self.tunlets.decline(slot, change.point, format!("taken back: {reason}"));
        if let Some(first) = done.first() {
            self.iterations.note_change(first.time_s);
            tell_change(self, (slot, change.point), first, false);
        }
        ChangeState::Over
    }

    /// Records that it is unknown which ranks have the new value.
    pub(super) fn lose(
        &mut self,
        now_s: f64,
        slot: usize,
        change: &ChangeInProgress,
        reason: String,
    ) -> ChangeState {
        let decision = change.decision;
        (self.values[change.point], self.held[change.point]) = (None, None);
        let closed = format!("it is unknown which ranks have the new value: {reason}");
        self.closed.insert(change.point, closed);
        self.standing.forget(change.point);
        self.record(now_s, TuningEvent::Lost { decision, reason: reason.clone() });
        self.tunlets.decline(slot, change.point, format!("lost: {reason}"));
        ChangeState::Over
    }

    /// Puts the changes that hold on trial, once none is in progress.
    fn try_out(&mut self, now_s: f64, turn: &mut Turn) {
        let held: Vec<(f64, f64, f64)> = turn
            .changes
            .iter()
            .filter_map(|change| match change.state {
                ChangeState::Applied { at_s: (first_s, last_s), .. } => {
                    let point = &self.application.tuning_points[change.point];
                    Some((first_s, last_s, point.limit_at(self.values[change.point])))
                }
                _ => None,
            })
            .collect();
        if held.is_empty() {
            return;
        }
        if self.standing.is_off() {
            return self.undo(now_s, turn, SWITCHED_OFF);
        }
        let trial = turn.trial.take().unwrap_or_else(|| {
            let first_s = held.iter().map(|held| held.0).fold(f64::INFINITY, f64::min);
            let last_s = held.iter().map(|held| held.1).fold(f64::NEG_INFINITY, f64::max);
            let limit = held.iter().map(|held| held.2).fold(f64::INFINITY, f64::min);
            let trial = Trial::new(&self.iterations, (first_s, last_s), limit);
            self.iterations.note_change(last_s);
            trial
        });
        match trial.look(&self.iterations, &self.options) {
            TrialProgress::Open => turn.trial = Some(trial),
            TrialProgress::Unmeasurable(why) => {
                let reason = format!("its effect is not known: {why}");
                let needs_trial = |change: &ChangeInProgress| {
                    let point = &self.application.tuning_points[change.point];
                    let value = self.values[change.point];
                    change.holds() && value.is_some_and(|value| needs_trial(point, value))
                };
                if turn.changes.iter().any(needs_trial) {
                    self.undo(now_s, turn, &reason);
                } else {
                    self.keep(now_s, turn, &reason);
                }
            }
            TrialProgress::Judged { effect, is_good } => {
                for change in turn.changes.iter().filter(|change| change.holds()) {
                    let decision = change.decision;
                    self.record(now_s, TuningEvent::Effect { decision, effect });
                }
                let reason = in_words(self.iterations.noun(), &effect);
                if is_good {
                    self.tunlets.trust(turn.slot);
                    self.keep(now_s, turn, &reason);
                } else {
                    self.tunlets.rest(turn.slot, self.iterations.n_ended);
                    self.undo(now_s, turn, &reason);
                }
            }
        }
    }

    fn keep(&mut self, now_s: f64, turn: &mut Turn, reason: &str) {
        for change in &mut turn.changes {
            let old = match std::mem::replace(&mut change.state, ChangeState::Over) {
                ChangeState::Applied { old, .. } => old,
                other => {
                    change.state = other;
                    continue;
                }
            };
            self.standing.keep(turn.slot, change, old);
            let decision = change.decision;
            let reason = with_note(reason, &change.note);
            self.record(now_s, TuningEvent::Kept { decision, reason });
        }
    }
}
