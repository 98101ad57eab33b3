//! Decides which decisions of tunlets are carried out, measures their effects, and undoes harmful ones.
//!
//! A tuning point belongs to the first tunlet that asks for it. Decisions wait, only the newest for each tuning
//! point, until it is their tunlet's *turn*; turns go round robin. In a turn, all waiting decisions of the
//! tunlet are carried out, each on all ranks of its actor or on none ([`action`]); then their *trial* compares
//! iterations before and after ([`trial`]). Decisions that slow iterations down by more than the limit are
//! undone, and the tunlet rests for 2, 4, 8 ... iterations.
//!
//! # Invariants
//! - At most one turn, and hence one trial, is open.
//! - A decision that was carried out ends as kept, undone or lost; one that was not carried out ends as declined.
//! - A tuning point is not touched again once it is unknown on which ranks its value holds.
//! - A lever whose effect cannot be measured is set only if it is safe without that (`Lever::is_safe_unmeasured`)
//!   or earlier runs were faster with it (`TuningPoint::past`).
//! - Once tuning is switched off, no decision is carried out, and those that were kept are taken back.
//! - Everything has a bound: one waiting decision per tuning point, a window of iterations.
//!
//! # Not here
//! Transport of orders to ranks and of their answers (`tuner`), the file of the lines (`run-record`).

mod action;
mod admission;
mod change;
mod iterations;
mod message;
mod standing;
mod trial;
mod tunlet_set;
mod turn;

pub use message::{ActionDone, ActionReport, Input, IterationSource, Output};
pub use tunlet_set::TunletSet;

use crate::{Applied, Decision, Detail, EventNews, IterationNews, News, Tunlet, World};
use action::{Action, Coverage};
use admission::check_lever;
use app_description::Application;
use change::{ChangeInProgress, ChangeState};
use events::tuning::{TuningEvent, TuningLine, TuningMode};
use events::{Rank, Value};
use iterations::Iterations;
use standing::Standing;
use std::collections::{BTreeMap, BTreeSet};
use turn::Turn;

/// Options of a conductor.
#[derive(Clone, Copy, Debug)]
pub struct Options {
    /// Number of iterations compared before, and after, a change.
    pub n_window: usize,
    /// Number of iterations skipped after a change.
    pub n_settle: usize,
    /// Time in s for ranks to answer an action and to carry it out; four iterations if that is longer.
    pub action_timeout_s: f64,
}

impl Default for Options {
    fn default() -> Self {
        Self { n_window: 3, n_settle: 1, action_timeout_s: 10.0 }
    }
}

/// Arbiter between the tunlets and the program; see the module documentation.
#[derive(Debug)]
pub struct Conductor {
    application: Application,
    mode: TuningMode,
    options: Options,
    tunlets: TunletSet,
    iterations: Iterations,
    present: BTreeSet<Rank>,
    n_ranks: Option<u32>,
    values: Vec<Option<Value>>,
    /// Values that are set at every passage of the sync point.
    held: Vec<Option<Value>>,
    /// Tuning points that are not touched again, with the reason.
    closed: BTreeMap<usize, String>,
    turn: Option<Turn>,
    standing: Standing,
    n_decisions: u64,
    n_actions: u64,
    outputs: Vec<Output>,
}

impl Conductor {
    /// Creates a conductor. Tunlets are in command-line order; they begin when the first rank appears.
    pub fn new(
        application: Application,
        tunlets: Vec<Box<dyn Tunlet>>,
        mode: TuningMode,
        options: Options,
    ) -> Self {
        Self {
            iterations: Iterations::new(application.iteration.clone(), options.n_window),
            values: vec![None; application.tuning_points.len()],
            held: vec![None; application.tuning_points.len()],
            application,
            mode,
            options,
            tunlets: TunletSet::new(tunlets),
            present: BTreeSet::new(),
            n_ranks: None,
            closed: BTreeMap::new(),
            turn: None,
            standing: Standing::default(),
            n_decisions: 0,
            n_actions: 0,
            outputs: Vec::new(),
        }
    }

    /// Processes an input and returns what is to be done now.
    pub fn hear(&mut self, now_s: f64, input: Input) -> Vec<Output> {
        let moves = self.turn.iter().any(|turn| turn.is_moving_memory(&self.application));
        self.tunlets.note_moving(moves.then_some(now_s));
        match input {
            Input::RankAppeared { rank, n_ranks } => self.appear(now_s, rank, n_ranks),
            Input::RankGone(rank) => {
                self.present.remove(&rank);
                self.turn.iter_mut().for_each(|turn| turn.hear(rank, None, &ActionReport::Gone));
            }
            Input::Values(values) => self.learn(now_s, values),
            Input::Event(event) => self.pass(event),
            Input::Iterations(source) => {
                let calls = source.calls();
                if let Some(text) = self.iterations.turn_to(source) {
                    self.record(now_s, TuningEvent::Iterations { text, calls });
                }
            }
            Input::IterationEnded { start_s, end_s, work } => {
                let ended = self.iterations.add((start_s, end_s), work);
                ended.into_iter().for_each(|iteration| self.tell_iteration(iteration));
            }
            Input::Summary(summary) => self.tunlets.tell(&News::Summary(summary)),
            Input::Performance(numbers) => self.tunlets.tell(&News::Performance(numbers)),
            Input::Report { action, rank, report } => {
                self.turn.iter_mut().for_each(|turn| turn.hear(rank, Some(action), &report));
            }
            Input::Switch { is_on } => {
                if self.standing.switch(is_on) {
                    self.record(now_s, TuningEvent::Switched { is_on });
                }
            }
            Input::Tick => {}
        }
        self.advance(now_s);
        std::mem::take(&mut self.outputs)
    }

    /// Ends all open decisions at the end of the run.
    pub fn finish(&mut self, now_s: f64) -> Vec<Output> {
        if let Some(turn) = self.turn.take() {
            for mut change in turn.changes {
                let unsaid = change.unsaid.take();
                let Some(entry) = change.finish() else { continue };
                if unsaid.is_some() && matches!(entry, TuningEvent::Declined { .. }) {
                    continue;
                }
                self.outputs.extend(unsaid.map(Output::Record));
                self.record(now_s, entry);
            }
        }
        if self.mode == TuningMode::Tune {
            decline_waiting(self, now_s);
        }
        std::mem::take(&mut self.outputs)
    }

    /// Returns the level of detail in which an event is wanted from a rank.
    pub fn wants(&self, event: usize, rank: Rank) -> Detail {
        let Some(point) = self.application.events.get(event) else { return Detail::None };
        let actor = self.application.actors.get(point.actor);
        if !actor.is_some_and(|actor| actor.ranks.contains(rank.0)) {
            return Detail::None;
        }
        let is_for_iterations = self.iterations.needs(event)
            && measuring_rank(&self.application, point.actor) == Some(rank);
        if is_for_iterations { Detail::Every } else { self.tunlets.wants(event) }
    }

    /// Returns the permissions of the tunlets.
    pub fn mode(&self) -> TuningMode {
        self.mode
    }

    /// Returns the tunlets, for what they ask for.
    pub fn tunlets(&self) -> &TunletSet {
        &self.tunlets
    }

    fn appear(&mut self, now_s: f64, rank: Rank, n_ranks: u32) {
        self.present.insert(rank);
        if self.n_ranks.is_some() {
            return;
        }
        self.n_ranks = Some(n_ranks);
        let points = self.application.tuning_points.iter().map(|point| point.name.clone());
        let (mode, tunlets, points) = (self.mode, self.tunlets.names(), points.collect());
        self.record(now_s, TuningEvent::Begin { mode, tunlets, points, n_ranks });
        let world = World::of(&self.application, n_ranks, self.values.clone());
        self.tunlets.begin(&self.application, &world);
    }

    fn pass(&mut self, event: EventNews) {
        let actor = self.application.events.get(event.event).map(|point| point.actor);
        let measuring = actor.and_then(|actor| measuring_rank(&self.application, actor));
        let is_measuring = measuring == Some(event.rank);
        let ended = if is_measuring { self.iterations.pass(&event) } else { None };
        self.tunlets.tell(&News::Event(event));
        ended.into_iter().for_each(|iteration| self.tell_iteration(iteration));
    }

    fn tell_iteration(&mut self, iteration: IterationNews) {
        let IterationNews { number, end_s, duration_s, work } = iteration;
        if self.iterations.is_recorded() {
            self.record(end_s, TuningEvent::Iteration { number, duration_s, work });
        }
        self.tunlets.tell(&News::Iteration(iteration));
    }

    /// Takes values read from the program; tunlets are told about those that the program has changed itself.
    fn learn(&mut self, now_s: f64, values: Vec<(usize, Value)>) {
        for (point, new) in values {
            let Some(value) = self.values.get_mut(point) else { continue };
            // During a turn, changes are reported by the ranks' acknowledgments instead.
            if self.turn.is_some() || self.held[point].is_some() || *value == Some(new) {
                continue;
            }
            let old = value.replace(new).unwrap_or(new);
            if self.n_ranks.is_some() {
                let (time_s, hit, is_own) = (now_s, 0, false);
                self.tunlets.tell_found(&Applied { point, old, new, time_s, hit, is_own });
            }
        }
    }

    /// Advances as far as possible.
    fn advance(&mut self, now_s: f64) {
        if self.n_ranks.is_none() {
            return;
        }
        for (tunlet, reason) in self.tunlets.look() {
            self.record(now_s, TuningEvent::TunletEnded { tunlet, reason });
        }
        for (tunlet, text) in self.tunlets.lines() {
            self.record(now_s, TuningEvent::Said { tunlet, text });
        }
        for (slot, point) in std::mem::take(&mut self.tunlets.foreign) {
            let reason = "the tunlet did not request it, or another tunlet owns it".to_owned();
            self.tunlets.decline(slot, point, reason);
        }
        match self.mode {
            TuningMode::Observe => self.tunlets.forget_decisions(),
            TuningMode::DryRun => self.say_what_would_be(now_s),
            TuningMode::Tune => self.tune(now_s),
        }
    }

    fn say_what_would_be(&mut self, now_s: f64) {
        for (slot, decision) in self.tunlets.take_all() {
            let (point, value) = (decision.point, decision.value);
            if self.tunlets.announce(slot, point, value) {
                let checked = self.application.tuning_points[point].admit(value);
                let decision = self.note_decision(now_s, slot, &decision);
                self.record(
                    now_s,
                    match checked {
                        Ok(_) => TuningEvent::Would { decision },
                        Err(reason) => TuningEvent::Declined { decision, reason },
                    },
                );
            }
            self.tunlets.decline(slot, point, "this is a dry run".to_owned());
        }
    }

    fn tune(&mut self, now_s: f64) {
        loop {
            let opens = |it: &mut Self| match it.standing.is_off() {
                true => it.restore(now_s),
                false => it.open_turn(now_s),
            };
            if self.turn.is_none() && !opens(self) {
                return;
            }
            let Some(mut turn) = self.turn.take() else { return };
            let is_over = self.go_on(now_s, &mut turn);
            if !is_over {
                self.turn = Some(turn);
                return;
            }
        }
    }

    /// Takes back what is kept once tuning is off; returns false if nothing is left. Decisions are not carried out.
    fn restore(&mut self, now_s: f64) -> bool {
        for (slot, decision) in self.tunlets.take_all() {
            self.tunlets.decline(slot, decision.point, turn::SWITCHED_OFF.to_owned());
        }
        let Some(mut turn) = self.standing.next_turn() else { return false };
        self.undo(now_s, &mut turn, turn::SWITCHED_OFF);
        self.turn = Some(turn);
        true
    }

    /// Assigns a number to a decision and records it.
    fn note_decision(&mut self, now_s: f64, slot: usize, wanted: &Decision) -> u64 {
        let (decision, line) = self.decision_line(now_s, slot, wanted);
        self.outputs.push(Output::Record(line));
        decision
    }

    /// Assigns a number to a decision; returns it with the line that records it.
    fn decision_line(&mut self, t_s: f64, slot: usize, wanted: &Decision) -> (u64, TuningLine) {
        self.n_decisions += 1;
        let decision = self.n_decisions;
        let mut reason = wanted.reason.clone();
        if let Some(why) = self.application.tuning_points[wanted.point]
            .change
            .one_way(self.values[wanted.point].is_some())
        {
            reason = format!("{reason} (for good: {why})");
        }
        let what = TuningEvent::Decision {
            decision,
            tunlet: self.tunlets.name(slot).to_owned(),
            point: self.application.tuning_points[wanted.point].name.clone(),
            old: self.values[wanted.point].map(Into::into),
            new: wanted.value.into(),
            reason,
        };
        (decision, TuningLine { t_s, what })
    }

    fn record(&mut self, time_s: f64, what: TuningEvent) {
        self.outputs.push(Output::Record(TuningLine { t_s: time_s, what }));
    }

    /// Undoes the changes of a turn.
    fn undo(&mut self, now_s: f64, turn: &mut Turn, reason: &str) {
        for change in &mut turn.changes {
            let ChangeState::Applied { old, .. } = &change.state else { continue };
            let old: Vec<_> =
                old.iter().filter(|(rank, _)| self.present.contains(rank)).copied().collect();
            if old.is_empty() {
                let reason = format!("{reason}; its ranks ended before it could be taken back");
                change.state = self.lose(now_s, turn.slot, change, reason);
                continue;
            }
            change.state = match self.bring_back(now_s, change, &old) {
                Ok(action) => ChangeState::Undoing { action, reason: reason.to_owned() },
                Err(why) => {
                    let (decision, reason) = (change.decision, format!("{reason}, but {why}"));
                    self.record(now_s, TuningEvent::Kept { decision, reason });
                    ChangeState::Over
                }
            };
        }
    }

    /// Starts restoring the ranks' earlier values; on error, returns why that is impossible.
    fn bring_back(
        &mut self,
        now_s: f64,
        change: &ChangeInProgress,
        old: &[(Rank, Value)],
    ) -> Result<Action, &'static str> {
        let is_known = old.iter().all(|(_, value)| !value.as_f64().is_nan());
        match self.application.tuning_points[change.point].change.one_way(is_known) {
            Some(why) => Err(why),
            None => {
                // A value that was set at every passage is again set at every passage.
                let before = |(rank, old): &(Rank, Value)| (*rank, change.held.unwrap_or(*old));
                let values: Vec<_> = old.iter().map(before).collect();
                Ok(self.act(now_s, (change.point, Coverage::Each), &values, change.held.is_some()))
            }
        }
    }
}

/// Declines what has waited in vain for iterations.
fn decline_waiting(conductor: &mut Conductor, now_s: f64) {
    for (slot, wanted) in conductor.tunlets.take_all() {
        let point = &conductor.application.tuning_points[wanted.point];
        let why = conductor.iterations.why_unmeasurable(now_s);
        if let Err(reason) = check_lever((point, wanted.value), why)
            && conductor.tunlets.is_new_refusal(slot, wanted.point, &reason)
        {
            let decision = conductor.note_decision(now_s, slot, &wanted);
            conductor.record(now_s, TuningEvent::Declined { decision, reason });
        }
    }
}

/// Returns the lowest rank of an actor, on which iterations are measured.
fn measuring_rank(application: &Application, actor: usize) -> Option<Rank> {
    let spans = &application.actors.get(actor)?.ranks.spans;
    spans.iter().map(|(first, _)| Rank(*first)).min()
}

#[cfg(test)]
mod tests;
