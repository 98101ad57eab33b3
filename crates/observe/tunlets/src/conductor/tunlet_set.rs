//! The set of tunlets: tells each what it asked for, isolates them from each other, and drops those that fail.

use crate::{Applied, Decision, Detail, News, Requests, Tunlet, World};
use app_description::Application;
use events::Value;
use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::panic::{AssertUnwindSafe, catch_unwind};

/// First rest after an undone trial, in iterations.
const REST_FIRST: u64 = 2;
/// Maximum number of lines from one tunlet to the user.
const N_LINES_MAX: usize = 10_000;
/// Maximum number of refusals that are remembered for a tunlet.
const N_REFUSALS_MAX: usize = 100;
/// Longest rest, in iterations.
const REST_MAX: u64 = 1 << 20;

/// All tunlets in command-line order.
#[derive(Debug)]
pub struct TunletSet {
    slots: Vec<TunletSlot>,
    /// Index of the tunlet that had the last turn.
    last: usize,
    /// Ended tunlets not yet reported: name and reason.
    endings: Vec<(String, String)>,
    /// Decisions about tuning points that the tunlet does not own: slot and point.
    pub(super) foreign: Vec<(usize, usize)>,
    /// Time up to which ranks were moving their memory, in s.
    moved_s: f64,
}

struct TunletSlot {
    name: String,
    tunlet: Option<Box<dyn Tunlet>>,
    requests: Requests,
    waiting: BTreeMap<usize, Decision>,
    rest: u64,
    rests_until: u64,
    /// Last value announced for each point in a dry run.
    announced: BTreeMap<usize, Value>,
    /// Number of lines it has said so far.
    n_lines: usize,
    /// Refusals recorded for each point, without their numbers.
    refusals: BTreeSet<(usize, String)>,
}

impl fmt::Debug for TunletSlot {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("TunletSlot").field("name", &self.name).finish_non_exhaustive()
    }
}

impl TunletSlot {
    fn new(tunlet: Box<dyn Tunlet>) -> Self {
        Self {
            name: tunlet.spec().name,
            tunlet: Some(tunlet),
            requests: Requests::default(),
            waiting: BTreeMap::new(),
            rest: REST_FIRST,
            rests_until: 0,
            announced: BTreeMap::new(),
            n_lines: 0,
            refusals: BTreeSet::new(),
        }
    }

    fn wants(&self, event: usize) -> Detail {
        let is_there = self.tunlet.is_some();
        self.requests.events.get(event).copied().filter(|_| is_there).unwrap_or_default()
    }

    fn wants_news(&self, news: &News) -> bool {
        match news {
            News::Event(event) => self.wants(event.event) == Detail::Every,
            News::Summary(summary) => self.wants(summary.event) == Detail::Summary,
            News::Performance(_) => self.requests.performance,
            News::Iteration(_) | News::Applied(_) | News::Declined { .. } => true,
        }
    }
}

impl TunletSet {
    pub(super) fn new(tunlets: Vec<Box<dyn Tunlet>>) -> Self {
        let slots: Vec<TunletSlot> = tunlets.into_iter().map(TunletSlot::new).collect();
        let last = slots.len().saturating_sub(1);
        Self { slots, last, endings: Vec::new(), foreign: Vec::new(), moved_s: f64::NEG_INFINITY }
    }

    /// Returns the number of tunlets.
    pub fn n_tunlets(&self) -> usize {
        self.slots.len()
    }

    pub(super) fn names(&self) -> Vec<String> {
        self.slots.iter().map(|slot| slot.name.clone()).collect()
    }

    pub(super) fn name(&self, slot: usize) -> &str {
        self.slots.get(slot).map_or("", |slot| &slot.name)
    }

    /// Starts all tunlets, and assigns each tuning point to the first one that asks for it.
    pub(super) fn begin(&mut self, application: &Application, world: &World) {
        let mut owners: BTreeMap<usize, String> = BTreeMap::new();
        for idx in 0..self.slots.len() {
            let begun = self.call(idx, |tunlet, _| tunlet.begin(application, world));
            let mut requests = match begun {
                Some(Ok(requests)) => requests,
                Some(Err(error)) => {
                    self.end(idx, error.to_string());
                    continue;
                }
                None => continue,
            };
            requests.points.retain(|point| *point < application.tuning_points.len());
            let (taken, free): (Vec<usize>, Vec<usize>) =
                requests.points.iter().partition(|point| owners.contains_key(point));
            requests.points.clone_from(&free);
            self.slots[idx].requests = requests;
            if let Some(point) = taken.first().filter(|_| free.is_empty()) {
                let (owner, point) = (&owners[point], &application.tuning_points[*point].name);
                let reason = format!("its tuning point `{point}` belongs to `{owner}`");
                self.end(idx, reason);
                continue;
            }
            for point in free {
                owners.insert(point, self.slots[idx].name.clone());
            }
            for point in taken {
                let reason = format!("it belongs to `{}`", owners[&point]);
                self.decline(idx, point, reason);
            }
        }
    }

    /// Returns the most detailed level that any tunlet wants of an event.
    pub(super) fn wants(&self, event: usize) -> Detail {
        let wishes = self.slots.iter().map(|slot| slot.wants(event));
        wishes.fold(Detail::None, |most, wish| match (most, wish) {
            (Detail::Every, _) | (_, Detail::Every) => Detail::Every,
            (Detail::Summary, _) | (_, Detail::Summary) => Detail::Summary,
            (Detail::None, Detail::None) => Detail::None,
        })
    }

    /// Returns whether a tunlet wants an event as [`Detail::Summary`], whatever detail the others want.
    pub fn wants_sums(&self, event: usize) -> bool {
        self.slots.iter().any(|slot| slot.wants(event) == Detail::Summary)
    }

    /// Returns whether a tunlet wants efficiencies.
    pub fn wants_performance(&self) -> bool {
        self.slots.iter().any(|slot| slot.tunlet.is_some() && slot.requests.performance)
    }

    /// Returns the tuning points that may be changed.
    pub fn points(&self) -> BTreeSet<usize> {
        self.slots.iter().flat_map(|slot| slot.requests.points.iter().copied()).collect()
    }

    /// Notes whether ranks move their memory for us now, and at what time. They stand in line for cores, and wait for each
    /// other, for no reason of theirs, so that numbers from that time are passed on to nobody.
    pub(super) fn note_moving(&mut self, now_s: Option<f64>) {
        self.moved_s = now_s.unwrap_or(self.moved_s);
    }

    /// Passes news to all tunlets that want them.
    pub(super) fn tell(&mut self, news: &News) {
        if matches!(news, News::Performance(numbers) if numbers.span_s.0 < self.moved_s) {
            return;
        }
        for idx in 0..self.slots.len() {
            if self.slots[idx].wants_news(news) {
                self.tell_one(idx, news);
            }
        }
    }

    /// Tells all tunlets about a change, and whether it was their own.
    pub(super) fn tell_applied(&mut self, owner: usize, applied: &Applied) {
        for idx in 0..self.slots.len() {
            let is_own = idx == owner && applied.is_own;
            self.tell_one(idx, &News::Applied(Applied { is_own, ..applied.clone() }));
        }
    }

    /// Tells the tunlets about a value that the program changed itself, except those with a waiting decision about it.
    pub(super) fn tell_found(&mut self, found: &Applied) {
        for idx in 0..self.slots.len() {
            if !self.slots[idx].waiting.contains_key(&found.point) {
                self.tell_one(idx, &News::Applied(found.clone()));
            }
        }
    }

    pub(super) fn decline(&mut self, slot: usize, point: usize, reason: String) {
        self.tell_one(slot, &News::Declined { point, reason });
    }

    pub(super) fn tell_one(&mut self, idx: usize, news: &News) {
        self.call(idx, |tunlet, decisions| tunlet.hear(news, decisions));
    }

    /// Asks all tunlets for late decisions; returns the name and reason of each that ended since the last call.
    pub(super) fn look(&mut self) -> Vec<(String, String)> {
        for idx in 0..self.slots.len() {
            if let Some(Err(reason)) = self.call(idx, |tunlet, decisions| tunlet.look(decisions)) {
                self.end(idx, reason);
            }
        }
        std::mem::take(&mut self.endings)
    }

    /// Returns the lines tunlets have written for the user since the last call, as name and text.
    pub(super) fn lines(&mut self) -> Vec<(String, String)> {
        let mut lines = Vec::new();
        for idx in 0..self.slots.len() {
            let said = self.call(idx, |tunlet, _| tunlet.lines()).unwrap_or_default();
            let n_said = said.len();
            let slot = &mut self.slots[idx];
            let n_left = N_LINES_MAX - slot.n_lines;
            let name = || slot.name.clone();
            lines.extend(said.into_iter().take(n_left).map(|line| (name(), line)));
            slot.n_lines += n_said.min(n_left);
        }
        lines
    }

    /// Calls a tunlet; returns `None` if it has ended.
    fn call<T>(
        &mut self,
        idx: usize,
        act: impl FnOnce(&mut dyn Tunlet, &mut Vec<Decision>) -> T,
    ) -> Option<T> {
        let n_foreign_max = self.slots.len();
        let slot = self.slots.get_mut(idx)?;
        let tunlet = slot.tunlet.as_mut()?;
        let mut decisions = Vec::new();
        // State left inconsistent by a panic is dropped with the tunlet.
        let called = catch_unwind(AssertUnwindSafe(|| act(tunlet.as_mut(), &mut decisions)));
        let Ok(answer) = called else {
            self.end(idx, "it panicked".to_owned());
            return None;
        };
        for decision in decisions {
            if slot.requests.points.contains(&decision.point) {
                slot.waiting.insert(decision.point, decision);
            } else if self.foreign.len() < n_foreign_max {
                self.foreign.push((idx, decision.point));
            }
        }
        Some(answer)
    }

    fn end(&mut self, idx: usize, reason: String) {
        let slot = &mut self.slots[idx];
        slot.tunlet = None;
        slot.waiting.clear();
        slot.requests = Requests::default();
        self.endings.push((slot.name.clone(), reason));
    }

    pub(super) fn forget_decisions(&mut self) {
        self.slots.iter_mut().for_each(|slot| slot.waiting.clear());
    }

    /// Removes and returns all waiting decisions.
    pub(super) fn take_all(&mut self) -> Vec<(usize, Decision)> {
        let slots = self.slots.iter_mut().enumerate();
        slots
            .flat_map(|(idx, slot)| {
                let waiting = std::mem::take(&mut slot.waiting);
                waiting.into_values().map(move |decision| (idx, decision))
            })
            .collect()
    }

    /// Returns the next tunlet that does not rest and has decisions, all about allowed points, with its decisions.
    pub(super) fn next_turn(
        &mut self,
        iteration: u64,
        is_allowed: impl Fn(usize) -> bool,
    ) -> Option<(usize, Vec<Decision>)> {
        let n_tunlets = self.slots.len();
        let in_turn = (1..=n_tunlets).map(|step| (self.last + step) % n_tunlets);
        let is_up = |idx: &usize| {
            let slot = &self.slots[*idx];
            let are_allowed = slot.waiting.keys().all(|point| is_allowed(*point));
            !slot.waiting.is_empty() && slot.rests_until <= iteration && are_allowed
        };
        let idx = in_turn.into_iter().find(is_up)?;
        self.last = idx;
        let waiting = std::mem::take(&mut self.slots[idx].waiting);
        Some((idx, waiting.into_values().collect()))
    }

    /// Resets a tunlet's rest after a good trial.
    pub(super) fn trust(&mut self, slot: usize) {
        self.slots[slot].rest = REST_FIRST;
    }

    /// Lets a tunlet rest after a bad trial in this iteration.
    pub(super) fn rest(&mut self, slot: usize, iteration: u64) {
        let slot = &mut self.slots[slot];
        slot.rests_until = iteration + slot.rest;
        slot.rest = (2 * slot.rest).min(REST_MAX);
    }

    /// Notes a value announced in a dry run; returns whether it differs from the last one of this tuning point.
    pub(super) fn announce(&mut self, slot: usize, point: usize, value: Value) -> bool {
        self.slots[slot].announced.insert(point, value) != Some(value)
    }

    /// Returns whether a refusal of this tuning point is new: those that were recorded before are not recorded again.
    pub(super) fn is_new_refusal(&mut self, slot: usize, point: usize, reason: &str) -> bool {
        let refusals = &mut self.slots[slot].refusals;
        if N_REFUSALS_MAX <= refusals.len() {
            refusals.clear();
        }
        // Numbers, such as that of a rank or of bytes in use, make no other reason of it.
        let words = reason.chars().filter(|char| !char.is_ascii_digit()).collect();
        refusals.insert((point, words))
    }

    /// Returns whether a refusal of this tuning point was recorded.
    pub(super) fn was_refused(&self, slot: usize, point: usize) -> bool {
        self.slots[slot].refusals.iter().any(|(refused, _)| *refused == point)
    }
}
