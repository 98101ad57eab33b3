//! Nodes that were told that tasks wait here, and the waves in which they are told.

use crate::action::TimerKind;
use crate::call_context::CallContext;
use crate::domain::Domain;
use crate::{LoadState, Moment, NodeId, PolicyMessage};
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
const RENOTIFY_MS: u64 = 30_000;
const N_DOUBLINGS_MAX: u32 = 5;
/// Most nodes that one wave looks at: bounds the time of one call.
const N_LOOKS_MAX: usize = 4096;

/// Nodes that were told that tasks wait here.
#[derive(Clone, Debug, Default)]
pub(crate) struct Subscribers {
    notified: BTreeMap<NodeId, Notification>,
    /// Those of them that came, found nothing, and are told again when there is more.
    held: BTreeSet<NodeId>,
    /// Position in the domain at which the next wave begins.
    cursor: Option<usize>,
    n_per_wave: usize,
    n_silent: usize,
    silent_since: Moment,
    /// Number of consecutive times that all nodes told were busy.
    n_fruitless_rounds: u32,
    wave: u32,
    is_waiting: bool,
}

#[derive(Clone, Copy, Debug)]
struct Notification {
    at: Moment,
    n_times: u32,
    has_come: bool,
    /// The node has too many offers, and has dropped ours.
    has_left: bool,
}

impl Notification {
    fn now(at: Moment, n_times: u32) -> Self {
        Self { at, n_times, has_come: false, has_left: false }
    }

    fn is_over(self, now: Moment) -> bool {
        if self.has_left {
            return BUSY_MS <= now.ms_since(self.at);
        }
        RENOTIFY_MS << self.n_times.min(N_DOUBLINGS_MAX) <= now.ms_since(self.at)
    }
}

impl Subscribers {
    pub(crate) fn nodes(&self) -> impl Iterator<Item = NodeId> {
        self.notified.keys().copied()
    }

    pub(crate) fn len(&self) -> usize {
        self.notified.len()
    }

    pub(crate) fn forget(&mut self, node: NodeId) {
        if let Some(notified) = self.notified.remove(&node) {
            if !notified.has_come {
                self.n_silent = self.n_silent.saturating_sub(1);
            }
            self.is_waiting = false;
        }
    }

    pub(crate) fn retain(&mut self, is_kept: impl Fn(NodeId) -> bool) {
        self.notified.retain(|node, _| is_kept(*node));
        self.cursor = None;
        self.is_waiting = false;
    }

    /// Notes that a node has come for tasks, and found as many as it has room for.
    pub(crate) fn has_come(&mut self, now: Moment, node: NodeId) {
        let is_new = !self.notified.contains_key(&node);
        let notified = self.notified.entry(node).or_insert(Notification::now(now, 0));
        if !notified.has_come && !is_new {
            self.n_silent = self.n_silent.saturating_sub(1);
            if now.ms_since(notified.at) < PROMPT_MS {
                self.n_fruitless_rounds = 0;
            }
        }
        *notified = Notification { has_come: true, ..Notification::now(now, 0) };
    }

    /// Notes that a node will not come. It counts as told for a while: it is busy, and others may not be.
    pub(crate) fn leave(&mut self, now: Moment, node: NodeId) {
        if let Some(notified) = self.notified.get_mut(&node) {
            (notified.at, notified.has_left) = (now, true);
        }
    }

    /// Notes that a node has come and found no task for it. It is told again when there is more, or later.
    pub(crate) fn hold(&mut self, now: Moment, node: NodeId) {
        self.forget(node);
        self.notified.insert(
            node,
            Notification { has_left: true, has_come: true, ..Notification::now(now, 0) },
        );
        self.held.insert(node);
    }

    /// Lets all held nodes be told again, since there is more.
    pub(crate) fn release(&mut self) {
        while let Some(node) = self.held.pop_first() {
            if self.notified.get(&node).is_some_and(|notified| notified.has_left) {
                self.forget(node);
            }
        }
    }

    /// Tells more nodes, unless those that were just told may still come.
    pub(crate) fn notify(&mut self, call: &mut CallContext<'_>) {
        if call.node.state != LoadState::Sender || call.node.load.n_queued == 0 {
            (self.n_per_wave, self.is_waiting, self.n_fruitless_rounds) = (0, false, 0);
        } else if !self.is_waiting {
            self.send_wave(call);
        }
    }

    pub(crate) fn on_wave(&mut self, call: &mut CallContext<'_>, number: u32) {
        if self.wave == number && self.is_waiting {
            self.is_waiting = false;
            self.notify(call);
        }
    }

    fn send_wave(&mut self, call: &mut CallContext<'_>) {
        let n_queued = call.node.load.n_queued;
        self.n_per_wave = (2 * self.n_per_wave).max(n_queued as usize).min(N_SILENT_MAX);
        if self.busy_ms() <= call.now.ms_since(self.silent_since) {
            self.n_fruitless_rounds += u32::from(N_SILENT_MAX <= self.n_silent);
            (self.n_silent, self.silent_since) = (0, call.now);
        }
        let n_notified_max = match call.node.domain_members.domain {
            Domain::Random { size } => self.n_per_wave.min(size as usize),
            _ => self.n_per_wave,
        };
        let n_notified_max = n_notified_max.min(N_SILENT_MAX.saturating_sub(self.n_silent));
        let n_notified = self.notify_next(call, n_notified_max);
        let wait_ms = if n_notified == 0 { self.busy_ms() } else { WAVE_MS };
        (self.wave, self.is_waiting) = (self.wave.wrapping_add(1), true);
        call.timer(TimerKind::Wave, self.wave, call.now.plus_ms(wait_ms));
    }

    fn busy_ms(&self) -> u64 {
        (BUSY_MS << self.n_fruitless_rounds.min(N_DOUBLINGS_MAX)).min(BUSY_MS_MAX)
    }

    fn notify_next(&mut self, call: &mut CallContext<'_>, n_notified_max: usize) -> usize {
        let n = call.node.domain_members.len();
        let mut cursor = self.cursor.unwrap_or_else(|| call.node.random.below(n));
        let (mut n_notified, mut n_looks) = (0, 0);
        while n_notified < n_notified_max && n_looks < n.min(N_LOOKS_MAX) {
            let node = call.node.domain_members.nth(cursor);
            (cursor, n_looks) = ((cursor + 1) % n, n_looks + 1);
            let before = self.notified.get(&node).copied();
            if before.is_none_or(|notified| notified.is_over(call.now)) {
                let n_times = before.map_or(0, |notified| notified.n_times + 1);
                self.notified.insert(node, Notification::now(call.now, n_times));
                call.send(node, PolicyMessage::Subscribe { n_queued: call.node.load.n_queued });
                (n_notified, self.n_silent) = (n_notified + 1, self.n_silent + 1);
            }
        }
        self.cursor = Some(cursor);
        n_notified
    }
}
