//! Ledger of the tasks: which worker holds which tasks, and the master's next step.
//!
//! Every task of an iteration lies in the pool, is held by one worker, or is done. A worker without work gets
//! a chunk of tasks that the policy picks. Its next chunk leaves *late*: just early enough to arrive before
//! the present one ends, so that until then any worker may get those tasks; of chunks that take less time than a
//! message, several leave together. When the pool is empty and a worker is idle, a chunk that its holder will not
//! begin soon is taken back; workers look for such messages before they begin a chunk. If the message comes too late,
//! the results of the chunk are not counted.
//!
//! A chunk not answered long after its expected end is dealt again (`overdue`); the first answer counts, and a
//! later one does not, since chunk numbers are never reused.
//!
//! # Invariants
//! - Pure: time is an argument.
//! - Every task is counted as done once, whatever arrives from whom and in which order.
//!
//! # Not here
//! Messages and the user's code (`master`), choice of tasks (`chunking`).

mod ahead;
mod alarms;
mod answers;
mod arrivals;
mod overdue;
mod pool;
mod retract;
mod worker_state;

use crate::options::Prefetch;
use ahead::leave_s;
use alarms::{Alarm, Alarms};
use chunking::{ChunkRequest, Policy, Work};
use overdue::Seen;
pub(crate) use pool::Wishes;
use pool::{Pool, whole};
use std::collections::VecDeque;
use std::ops::Range;
use worker_state::{AssignedChunk, Presence, WorkerState, WorkerStates};

/// Settings that stay the same during a run.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Rules {
    pub(crate) prefetch: Prefetch,
    /// Largest number of attempts at a task.
    pub(crate) n_attempts: u32,
    /// Silence beyond the expected time after which a worker is missing, in seconds.
    pub(crate) patience_s: f64,
    /// Multiple of its expected time after which a chunk is overdue; infinite for never.
    pub(crate) n_times_overdue: f64,
    /// True if the master computes while it has nothing else to do.
    pub(crate) is_master_working: bool,
}

/// Next action of the master.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum LedgerAction {
    /// Send a chunk.
    Deal(SentChunk),
    /// Tell a worker to drop a chunk that it has probably not begun, for another worker.
    Retract { worker: u32, chunk: u64 },
    /// A worker was silent for too long; its tasks are back in the pool.
    Missed { worker: u32, n_tasks: u64 },
}

/// Tasks sent to a worker in one message.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct SentChunk {
    pub(crate) worker: u32,
    pub(crate) id: u64,
    pub(crate) tasks: Range<u64>,
    pub(crate) batch: u32,
}

/// A chunk whose results came back.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Done {
    pub(crate) tasks: Range<u64>,
    pub(crate) batch: u32,
    /// Bytes of the message that carried the chunk, header included.
    pub(crate) n_bytes: u64,
    /// Half the mean round trip of the worker's messages, in seconds.
    pub(crate) one_way_s: f64,
    /// Round trip of this chunk, in seconds, where the worker waited for it.
    pub(crate) round_trip_s: Option<f64>,
}

/// Times that a worker measured, and the size of its answer.
#[derive(Clone, Copy, Debug)]
pub(crate) struct WorkerTimes {
    pub(crate) compute_s: f64,
    pub(crate) waited_s: f64,
    /// Bytes of the results.
    pub(crate) n_bytes: usize,
}

/// Ledger of a run; see the module.
#[derive(Debug)]
pub(crate) struct Ledger {
    policy: Box<dyn Policy>,
    rules: Rules,
    pool: Pool,
    pub(crate) workers: WorkerStates,
    idle: VecDeque<u32>,
    alarms: Alarms,
    /// Chunks that were dealt again or are done, which their workers need not begin.
    unwanted: Vec<(u32, u64)>,
    seen: Seen,
    /// Workers that did the tasks of this iteration, where the next one may want to know.
    places: Option<Vec<(Range<u64>, u32)>>,
    n_tasks_open: u64,
    n_chunks_ever: u64,
    n_dealt: u64,
    n_workers: u32,
    n_workers_at_begin: u32,
}

impl Ledger {
    pub(crate) fn new(policy: Box<dyn Policy>, rules: Rules, n_ranks: u32) -> Self {
        Self {
            policy,
            rules,
            pool: Pool::default(),
            workers: WorkerStates::new(n_ranks),
            idle: VecDeque::new(),
            alarms: Alarms::default(),
            unwanted: Vec::new(),
            seen: Seen::default(),
            places: None,
            n_tasks_open: 0,
            n_chunks_ever: 0,
            n_dealt: 0,
            n_workers: 1,
            n_workers_at_begin: 1,
        }
    }

    /// Numbers chunks from `first` on, so that answers that belong to an earlier run on the same ranks are not
    /// mistaken.
    pub(crate) fn number_from(&mut self, first: f64) {
        self.n_chunks_ever = whole(first);
    }

    /// Returns an idle worker, if there is one.
    pub(crate) fn idle_worker(&self) -> Option<u32> {
        self.idle
            .iter()
            .copied()
            .find(|worker| self.workers.get(*worker).is_some_and(WorkerState::is_idle))
    }

    /// Begins an iteration with `n_tasks` tasks and the first `n_workers` of those present; the others are
    /// parked.
    pub(crate) fn begin(&mut self, n_tasks: u64, mut wishes: Wishes, n_workers: u32) {
        let places = self.places.take().unwrap_or_default();
        if wishes.keeps_places {
            wishes.near.extend(places);
            self.places = Some(Vec::new());
        }
        self.pool = Pool::new(n_tasks, &wishes);
        self.n_tasks_open = n_tasks;
        self.n_dealt = 0;
        self.seen.excess_s /= 2.0;
        let present: Vec<u32> = self.workers.present().collect();
        let n_used = present.len().min(n_workers as usize);
        self.idle.clear();
        for (place, worker) in present.into_iter().enumerate() {
            let state = &mut self.workers.states[worker as usize];
            state.is_waiting = false;
            state.missed.clear();
            state.presence = match state.presence {
                absent @ (Presence::Overdue | Presence::Away) => absent,
                _ if n_used <= place => Presence::Parked,
                Presence::Parked => Presence::InUse,
                unchanged => unchanged,
            };
            if state.is_idle() {
                self.idle.push_back(worker);
            }
        }
        self.count_workers();
        self.n_workers_at_begin = self.n_workers;
        self.policy.begin(&self.work());
    }

    /// Returns whether every task is done or no longer wanted.
    pub(crate) fn is_done(&self) -> bool {
        self.n_tasks_open == 0
    }

    /// Number of tasks that are not done.
    pub(crate) fn n_open(&self) -> u64 {
        self.n_tasks_open
    }

    /// Drops all other tasks. Workers that compute take part again when they answer; returns the chunks that
    /// they need not begin, with their workers.
    pub(crate) fn settle(&mut self) -> Vec<(u32, u64)> {
        self.pool.clear();
        self.n_tasks_open = 0;
        let mut waiting = Vec::new();
        for (worker, state) in (0..).zip(&mut self.workers.states) {
            waiting.extend(state.held.iter().skip(1).map(|held| (worker, held.id)));
            if !state.held.is_empty() && state.is_in_use() {
                state.presence = Presence::Busy;
                state.held.clear();
            }
        }
        waiting
    }

    /// Returns the next step; call until it returns `None`.
    pub(crate) fn next_action(&mut self, now_s: f64) -> Option<LedgerAction> {
        let n_idle = if self.pool.n_tasks() == 0 { 0 } else { self.idle.len() };
        for _ in 0..n_idle {
            let worker = self.idle.pop_front()?;
            if !self.workers.get(worker).is_some_and(WorkerState::is_idle) {
                continue;
            }
            if let Some(chunk) = self.deal(worker, u64::MAX, now_s) {
                return Some(LedgerAction::Deal(chunk));
            }
            self.idle.push_back(worker);
        }
        if let Some((worker, chunk)) = self.unwanted.pop() {
            return Some(LedgerAction::Retract { worker, chunk });
        }
        while let Some(alarm) = self.alarms.due(now_s) {
            if let Some(step) = self.ring(alarm, now_s) {
                return Some(step);
            }
        }
        self.retract(now_s)
    }

    /// Records that a chunk was sent, in a message of `n_bytes`.
    pub(crate) fn sent(&mut self, (worker, chunk): (u32, u64), n_bytes: u64, now_s: f64) {
        let Some(state) = self.workers.states.get_mut(worker as usize) else { return };
        let Some(held) = state.held.iter_mut().find(|held| held.id == chunk) else { return };
        (held.sent_s, held.n_bytes) = (now_s, n_bytes);
        if held.is_first {
            state.began_s = now_s + state.speed.round_trip_s() / 2.0;
        }
    }

    /// Time until the next step is due unless a message arrives, in seconds.
    pub(crate) fn pause_s(&self, now_s: f64) -> f64 {
        self.alarms.next_s().map_or(f64::INFINITY, |next_s| next_s - now_s).max(0.0)
    }

    /// Deals a chunk to the master itself, small enough to end before a worker is expected to need it.
    pub(crate) fn deal_to_master(&mut self, now_s: f64) -> Option<SentChunk> {
        let ends =
            self.workers.states.iter().filter_map(|state| state.expected_end_s(&self.seen.all));
        let next_s = ends.map(|(end_s, _)| end_s).fold(f64::INFINITY, f64::min);
        let speed = &self.workers.states.first()?.speed;
        let n_tasks_max = match speed.tasks_per_s().or(self.seen.all.tasks_per_s()) {
            _ if self.workers.is_alone() => u64::MAX,
            Some(tasks_per_s) => whole((next_s - now_s) * tasks_per_s),
            None => 1,
        };
        self.deal(0, n_tasks_max, now_s)
    }

    fn deal(&mut self, worker: u32, n_tasks_max: u64, now_s: f64) -> Option<SentChunk> {
        let may_repeat = self.workers.in_use().all(|other| other == worker);
        if !self.pool.has_for(worker, may_repeat) {
            return None;
        }
        let Work { n_tasks: n_left, n_workers } = self.work();
        let n_held = self.workers.get(worker)?.n_held();
        let n_in_flight = self.n_tasks_open.saturating_sub(n_left);
        let request = ChunkRequest { worker, n_left, n_workers, n_held, n_in_flight, now_s };
        let policy = &mut self.policy;
        let part = self.pool.take(worker, may_repeat, |left| {
            let picked = policy.pick(&request, left);
            let end = picked.end.min(picked.start.saturating_add(n_tasks_max));
            if end < picked.end {
                policy.returned(end..picked.end);
            }
            picked.start..end
        });
        let state = self.workers.states.get_mut(worker as usize)?;
        state.is_waiting = part.is_none();
        let part = part?;
        let batch = self.n_dealt / u64::from(self.n_workers_at_begin);
        let batch = u32::try_from(batch).unwrap_or(u32::MAX);
        self.n_dealt += 1;
        self.n_chunks_ever += 1;
        let id = self.n_chunks_ever;
        let chunk = SentChunk { worker, id, tasks: part.tasks.clone(), batch };
        let state = self.workers.states.get_mut(worker as usize)?;
        let is_first = state.held.is_empty();
        state.held.push_back(AssignedChunk {
            id,
            part,
            batch,
            sent_s: now_s,
            n_bytes: 0,
            is_first,
        });
        if is_first {
            state.began_s = now_s + state.speed.round_trip_s() / 2.0;
        }
        self.expect(worker, now_s);
        Some(chunk)
    }

    fn ring(&mut self, alarm: Alarm, now_s: f64) -> Option<LedgerAction> {
        match alarm {
            Alarm::Prefetch { worker } => {
                self.workers.states.get_mut(worker as usize)?.prefetch_s = None;
                let dealt = self.deal_ahead(worker, now_s);
                if dealt.is_none() && leave_s(self, worker, now_s).is_some_and(|at_s| now_s < at_s)
                {
                    self.expect(worker, now_s);
                }
                dealt.map(LedgerAction::Deal)
            }
            Alarm::Watch { worker } => self.watch(worker, now_s),
        }
    }

    /// Tells the policy that the tasks left or the workers have changed.
    fn restart(&mut self) {
        self.count_workers();
        self.policy.restart(&self.work());
    }

    fn count_workers(&mut self) {
        let n_workers = u32::try_from(self.workers.in_use().count()).unwrap_or(u32::MAX);
        self.n_workers = n_workers.saturating_add(self.rules.is_master_working.into()).max(1);
    }

    fn work(&self) -> Work {
        Work { n_tasks: self.pool.n_tasks(), n_workers: self.n_workers }
    }

    /// Number of tasks that no worker holds.
    pub(crate) fn n_undealt(&self) -> u64 {
        self.pool.n_tasks()
    }

    /// Lets parked workers take part until `n_workers` do, if there are so many; returns how many
    /// do.
    pub(crate) fn enlist(&mut self, n_workers: u32) -> u32 {
        let mut n_used = u32::try_from(self.workers.in_use().count()).unwrap_or(u32::MAX);
        for (worker, state) in (0..).zip(&mut self.workers.states).skip(1) {
            if n_workers <= n_used {
                break;
            }
            if state.presence == Presence::Parked && state.held.is_empty() {
                state.presence = Presence::InUse;
                self.idle.push_back(worker);
                n_used += 1;
            }
        }
        self.restart();
        n_used
    }
}

#[cfg(test)]
mod tests;
