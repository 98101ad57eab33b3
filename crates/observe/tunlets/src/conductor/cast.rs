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
/// Longest rest, in iterations.
const REST_MAX: u64 = 1 << 20;

/// All tunlets in command-line order.
#[derive(Debug)]
pub(super) struct Cast {
    players: Vec<Player>,
    /// Index of the tunlet that had the last turn.
    last: usize,
    /// Ended tunlets not yet reported: name and reason.
    endings: Vec<(String, String)>,
    /// Decisions about tuning points that the tunlet does not own: player and point.
    foreign: Vec<(usize, usize)>,
}

struct Player {
    name: String,
    tunlet: Option<Box<dyn Tunlet>>,
    requests: Requests,
    waiting: BTreeMap<usize, Decision>,
    rest: u64,
    rests_until: u64,
    /// Last value announced for each point in a dry run.
    said: BTreeMap<usize, Value>,
    /// Number of lines it has said so far.
    n_lines: usize,
    /// Last refusal recorded for each point.
    refusals: BTreeMap<usize, String>,
}

impl fmt::Debug for Player {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Player").field("name", &self.name).finish_non_exhaustive()
    }
}

impl Player {
    fn new(tunlet: Box<dyn Tunlet>) -> Self {
        Self {
            name: tunlet.spec().name,
            tunlet: Some(tunlet),
            requests: Requests::default(),
            waiting: BTreeMap::new(),
            rest: REST_FIRST,
            rests_until: 0,
            said: BTreeMap::new(),
            n_lines: 0,
            refusals: BTreeMap::new(),
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

impl Cast {
    pub(super) fn new(tunlets: Vec<Box<dyn Tunlet>>) -> Self {
        let players: Vec<Player> = tunlets.into_iter().map(Player::new).collect();
        let last = players.len().saturating_sub(1);
        Self { players, last, endings: Vec::new(), foreign: Vec::new() }
    }

    pub(super) fn n_players(&self) -> usize {
        self.players.len()
    }

    pub(super) fn names(&self) -> Vec<String> {
        self.players.iter().map(|player| player.name.clone()).collect()
    }

    pub(super) fn name(&self, player: usize) -> &str {
        self.players.get(player).map_or("", |player| &player.name)
    }

    /// Starts all tunlets, and assigns each tuning point to the first one that asks for it.
    pub(super) fn begin(&mut self, application: &Application, world: &World) {
        let mut owners: BTreeMap<usize, String> = BTreeMap::new();
        for idx in 0..self.players.len() {
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
            self.players[idx].requests = requests;
            if let Some(point) = taken.first().filter(|_| free.is_empty()) {
                let (owner, point) = (&owners[point], &application.tuning_points[*point].name);
                let reason = format!("its tuning point `{point}` belongs to `{owner}`");
                self.end(idx, reason);
                continue;
            }
            for point in free {
                owners.insert(point, self.players[idx].name.clone());
            }
            for point in taken {
                let reason = format!("it belongs to `{}`", owners[&point]);
                self.decline(idx, point, reason);
            }
        }
    }

    /// Returns the most detailed level that any tunlet wants of an event.
    pub(super) fn wants(&self, event: usize) -> Detail {
        let wishes = self.players.iter().map(|player| player.wants(event));
        wishes.fold(Detail::None, |most, wish| match (most, wish) {
            (Detail::Every, _) | (_, Detail::Every) => Detail::Every,
            (Detail::Summary, _) | (_, Detail::Summary) => Detail::Summary,
            (Detail::None, Detail::None) => Detail::None,
        })
    }

    pub(super) fn wants_sums(&self, event: usize) -> bool {
        self.players.iter().any(|player| player.wants(event) == Detail::Summary)
    }

    pub(super) fn wants_performance(&self) -> bool {
        self.players.iter().any(|player| player.tunlet.is_some() && player.requests.performance)
    }

    pub(super) fn points(&self) -> BTreeSet<usize> {
        self.players.iter().flat_map(|player| player.requests.points.iter().copied()).collect()
    }

    /// Passes news to all tunlets that want them.
    pub(super) fn tell(&mut self, news: &News) {
        for idx in 0..self.players.len() {
            if self.players[idx].wants_news(news) {
                self.tell_one(idx, news);
            }
        }
    }

    /// Tells all tunlets about a change, and whether it was their own.
    pub(super) fn tell_applied(&mut self, owner: usize, applied: &Applied) {
        for idx in 0..self.players.len() {
            let is_own = idx == owner && applied.is_own;
            self.tell_one(idx, &News::Applied(Applied { is_own, ..applied.clone() }));
        }
    }

    /// Tells the tunlets about a value that the program changed itself, except those with a waiting decision about it.
    pub(super) fn tell_found(&mut self, found: &Applied) {
        for idx in 0..self.players.len() {
            if !self.players[idx].waiting.contains_key(&found.point) {
                self.tell_one(idx, &News::Applied(found.clone()));
            }
        }
    }

    pub(super) fn tell_owner(&mut self, owner: usize, applied: Applied) {
        self.tell_one(owner, &News::Applied(applied));
    }

    pub(super) fn decline(&mut self, player: usize, point: usize, reason: String) {
        self.tell_one(player, &News::Declined { point, reason });
    }

    fn tell_one(&mut self, idx: usize, news: &News) {
        self.call(idx, |tunlet, decisions| tunlet.hear(news, decisions));
    }

    /// Asks all tunlets for late decisions; returns the name and reason of each that ended since the last call.
    pub(super) fn look(&mut self) -> Vec<(String, String)> {
        for idx in 0..self.players.len() {
            if let Some(Err(reason)) = self.call(idx, |tunlet, decisions| tunlet.look(decisions)) {
                self.end(idx, reason);
            }
        }
        std::mem::take(&mut self.endings)
    }

    /// Returns the lines tunlets have written for the user since the last call, as name and text.
    pub(super) fn lines(&mut self) -> Vec<(String, String)> {
        let mut lines = Vec::new();
        for idx in 0..self.players.len() {
            let said = self.call(idx, |tunlet, _| tunlet.lines()).unwrap_or_default();
            let n_said = said.len();
            let player = &mut self.players[idx];
            let n_left = N_LINES_MAX - player.n_lines;
            let name = || player.name.clone();
            lines.extend(said.into_iter().take(n_left).map(|line| (name(), line)));
            player.n_lines += n_said.min(n_left);
        }
        lines
    }

    /// Calls a tunlet; returns `None` if it has ended.
    fn call<T>(
        &mut self,
        idx: usize,
        act: impl FnOnce(&mut dyn Tunlet, &mut Vec<Decision>) -> T,
    ) -> Option<T> {
        let n_foreign_max = self.players.len();
        let player = self.players.get_mut(idx)?;
        let tunlet = player.tunlet.as_mut()?;
        let mut decisions = Vec::new();
        // State left inconsistent by a panic is dropped with the tunlet.
        let called = catch_unwind(AssertUnwindSafe(|| act(tunlet.as_mut(), &mut decisions)));
        let Ok(answer) = called else {
            self.end(idx, "it panicked".to_owned());
            return None;
        };
        for decision in decisions {
            if player.requests.points.contains(&decision.point) {
                player.waiting.insert(decision.point, decision);
            } else if self.foreign.len() < n_foreign_max {
                self.foreign.push((idx, decision.point));
            }
        }
        Some(answer)
    }

    fn end(&mut self, idx: usize, reason: String) {
        let player = &mut self.players[idx];
        player.tunlet = None;
        player.waiting.clear();
        player.requests = Requests::default();
        self.endings.push((player.name.clone(), reason));
    }

    pub(super) fn take_foreign(&mut self) -> Vec<(usize, usize)> {
        std::mem::take(&mut self.foreign)
    }

    pub(super) fn forget_decisions(&mut self) {
        self.players.iter_mut().for_each(|player| player.waiting.clear());
    }

    /// Removes and returns all waiting decisions.
    pub(super) fn take_all(&mut self) -> Vec<(usize, Decision)> {
        let players = self.players.iter_mut().enumerate();
        players
            .flat_map(|(idx, player)| {
                let waiting = std::mem::take(&mut player.waiting);
                waiting.into_values().map(move |decision| (idx, decision))
            })
            .collect()
    }

    /// Returns the next tunlet that has decisions and does not rest, with its decisions.
    pub(super) fn next_turn(&mut self, iteration: u64) -> Option<(usize, Vec<Decision>)> {
        let n_players = self.players.len();
        let in_turn = (1..=n_players).map(|step| (self.last + step) % n_players);
        let is_up = |idx: &usize| {
            let player = &self.players[*idx];
            !player.waiting.is_empty() && player.rests_until <= iteration
        };
        let idx = in_turn.into_iter().find(is_up)?;
        self.last = idx;
        let waiting = std::mem::take(&mut self.players[idx].waiting);
        Some((idx, waiting.into_values().collect()))
    }

    /// Resets a tunlet's rest after a good trial.
    pub(super) fn trust(&mut self, player: usize) {
        self.players[player].rest = REST_FIRST;
    }

    /// Lets a tunlet rest after a bad trial in this iteration.
    pub(super) fn rest(&mut self, player: usize, iteration: u64) {
        let player = &mut self.players[player];
        player.rests_until = iteration + player.rest;
        player.rest = (2 * player.rest).min(REST_MAX);
    }

    pub(super) fn said(&self, player: usize, point: usize) -> Option<Value> {
        self.players[player].said.get(&point).copied()
    }

    pub(super) fn say(&mut self, player: usize, point: usize, value: Value) {
        self.players[player].said.insert(point, value);
    }

    /// Returns whether a refusal differs from the last one of this tuning point: repeated refusals are recorded once.
    pub(super) fn is_new_refusal(&mut self, player: usize, point: usize, reason: &str) -> bool {
        let last = self.players[player].refusals.insert(point, reason.to_owned());
        last.as_deref() != Some(reason)
    }
}
