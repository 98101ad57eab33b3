//! Nodes that were told that tasks wait here, and the waves in which they are told.

use crate::action::TimerKind;
use crate::domain::Domain;
use crate::turn::Turn;
use crate::{LoadState, Message, Moment, NodeId};
use std::collections::{BTreeMap, BTreeSet};

/// Time between two waves, in ms: longer than a message and its answer take.
const WAVE_MS: u64 = 50;
/// Most nodes that were told and have not come yet.
const N_SILENT_MAX: usize = 32;
/// Time after which a node that has not come is considered busy and others are told, in ms.
const BUSY_MS: u64 = 5_000;
/// Longest such time, when no node has come for long.
const BUSY_MS_MAX: u64 = 15_000;
/// A node that comes within this time after it was told had room, in ms.
const PROMPT_MS: u64 = 1_000;
/// Time after which a node that has not come is told again, in ms; doubled each time.
const RETELL_MS: u64 = 30_000;
const N_DOUBLINGS_MAX: u32 = 5;
/// Most nodes that one wave looks at: bounds the time of one call.
const N_LOOKS_MAX: usize = 4096;

/// Nodes that were told that tasks wait here.
#[derive(Clone, Debug, Default)]
pub(crate) struct Subscribers {
    told: BTreeMap<NodeId, Told>,
    /// Those of them that came, found nothing, and are told again when there is more.
    held: BTreeSet<NodeId>,
    /// Position in the domain at which the next wave begins.
    cursor: Option<usize>,
    width: usize,
    n_silent: usize,
    silent_since: Moment,
    /// Number of consecutive times that all nodes told were busy.
    n_vain: u32,
    wave: u32,
    is_waiting: bool,
}

#[derive(Clone, Copy, Debug)]
struct Told {
    at: Moment,
    n_times: u32,
    has_come: bool,
    /// The node has too many offers, and has dropped ours.
    has_left: bool,
}

impl Told {
    fn now(at: Moment, n_times: u32) -> Self {
        Self { at, n_times, has_come: false, has_left: false }
    }

    fn is_over(self, now: Moment) -> bool {
        if self.has_left {
            return BUSY_MS <= now.ms_since(self.at);
        }
        RETELL_MS << self.n_times.min(N_DOUBLINGS_MAX) <= now.ms_since(self.at)
    }
}

impl Subscribers {
    pub(crate) fn nodes(&self) -> impl Iterator<Item = NodeId> {
        self.told.keys().copied()
    }

    pub(crate) fn len(&self) -> usize {
        self.told.len()
    }

    pub(crate) fn forget(&mut self, node: NodeId) {
        if let Some(told) = self.told.remove(&node) {
            if !told.has_come {
                self.n_silent = self.n_silent.saturating_sub(1);
            }
            self.is_waiting = false;
        }
    }

    pub(crate) fn retain(&mut self, is_kept: impl Fn(NodeId) -> bool) {
        self.told.retain(|node, _| is_kept(*node));
        self.cursor = None;
        self.is_waiting = false;
    }

    /// Notes that a node has come for tasks, and found as many as it has room for.
    pub(crate) fn has_come(&mut self, now: Moment, node: NodeId) {
        let is_new = !self.told.contains_key(&node);
        let told = self.told.entry(node).or_insert(Told::now(now, 0));
        if !told.has_come && !is_new {
            self.n_silent = self.n_silent.saturating_sub(1);
            if now.ms_since(told.at) < PROMPT_MS {
                self.n_vain = 0;
            }
        }
        *told = Told { has_come: true, ..Told::now(now, 0) };
    }

    /// Notes that a node will not come. It counts as told for a while: it is busy, and others may not be.
    pub(crate) fn leave(&mut self, now: Moment, node: NodeId) {
        if let Some(told) = self.told.get_mut(&node) {
            (told.at, told.has_left) = (now, true);
        }
    }

    /// Notes that a node has come and found no task for it. It is told again when there is more, or later.
    pub(crate) fn hold(&mut self, now: Moment, node: NodeId) {
        self.forget(node);
        self.told.insert(node, Told { has_left: true, has_come: true, ..Told::now(now, 0) });
        self.held.insert(node);
    }

    /// Lets all held nodes be told again, since there is more.
    pub(crate) fn release(&mut self) {
        while let Some(node) = self.held.pop_first() {
            if self.told.get(&node).is_some_and(|told| told.has_left) {
                self.forget(node);
            }
        }
    }

    /// Tells more nodes, unless those that were just told may still come.
    pub(crate) fn tell(&mut self, turn: &mut Turn<'_>) {
        if turn.node.state != LoadState::Sender || turn.node.load.n_queued == 0 {
            (self.width, self.is_waiting, self.n_vain) = (0, false, 0);
        } else if !self.is_waiting {
            self.send_wave(turn);
        }
    }

    pub(crate) fn on_wave(&mut self, turn: &mut Turn<'_>, number: u32) {
        if self.wave == number && self.is_waiting {
            self.is_waiting = false;
            self.tell(turn);
        }
    }

    fn send_wave(&mut self, turn: &mut Turn<'_>) {
        let n_queued = turn.node.load.n_queued;
        self.width = (2 * self.width).max(n_queued as usize).min(N_SILENT_MAX);
        if self.busy_ms() <= turn.now.ms_since(self.silent_since) {
            self.n_vain += u32::from(N_SILENT_MAX <= self.n_silent);
            (self.n_silent, self.silent_since) = (0, turn.now);
        }
        let n_told_max = match turn.node.circle.domain() {
            Domain::Random { size } => self.width.min(size as usize),
            _ => self.width,
        };
        let n_told_max = n_told_max.min(N_SILENT_MAX.saturating_sub(self.n_silent));
        let n_told = self.tell_next(turn, n_told_max);
        let wait_ms = if n_told == 0 { self.busy_ms() } else { WAVE_MS };
        (self.wave, self.is_waiting) = (self.wave.wrapping_add(1), true);
        turn.timer(TimerKind::Wave, self.wave, turn.now.plus_ms(wait_ms));
    }

    fn busy_ms(&self) -> u64 {
        (BUSY_MS << self.n_vain.min(N_DOUBLINGS_MAX)).min(BUSY_MS_MAX)
    }

    fn tell_next(&mut self, turn: &mut Turn<'_>, n_told_max: usize) -> usize {
        let n = turn.node.circle.len();
        let mut cursor = self.cursor.unwrap_or_else(|| turn.node.random.below(n));
        let (mut n_told, mut n_looks) = (0, 0);
        while n_told < n_told_max && n_looks < n.min(N_LOOKS_MAX) {
            let node = turn.node.circle.nth(cursor);
            (cursor, n_looks) = ((cursor + 1) % n, n_looks + 1);
            let before = self.told.get(&node).copied();
            if before.is_none_or(|told| told.is_over(turn.now)) {
                let n_times = before.map_or(0, |told| told.n_times + 1);
                self.told.insert(node, Told::now(turn.now, n_times));
                turn.send(node, Message::Subscribe { n_queued: turn.node.load.n_queued });
                (n_told, self.n_silent) = (n_told + 1, self.n_silent + 1);
            }
        }
        self.cursor = Some(cursor);
        n_told
    }
}
