//! Attempts that the keeper runs, as far as it has reported them or was told to start them.

use crate::interface::{
    Allocation, Attempt, Job, KeeperOrder, Killed, NodeCapacity, NodeSpan, Out, RunningAttempt,
    TaskKey, Work,
};
use crate::pool::Pool;
use balancing_policies::Moment;
use std::collections::BTreeMap;
use std::sync::Arc;

/// Time for which nothing is started after the system had no room for a process, in ms.
const FULL_MS: u64 = 500;

/// Running attempts.
#[derive(Debug)]
pub(super) struct Processes {
    /// Attempts that run.
    running: BTreeMap<Attempt, Process>,
    /// What the node has for them, and for those that were promised a place.
    pub(super) pool: Pool,
    /// True when the keeper has reported what it runs.
    pub(super) ready: bool,
    /// Moment before which nothing is started, since the system had no room for another process.
    full_until: Moment,
}

#[derive(Debug)]
struct Process {
    /// Reason for which the keeper was told to end it, if it was.
    killed: Option<Killed>,
    allocation: Allocation,
    /// Moment at which it will have ended, as far as that is known.
    ends: Option<Moment>,
}

impl Processes {
    /// Of a node with this capacity, which runs nothing yet.
    pub(super) fn new(capacity: NodeCapacity) -> Self {
        let (running, pool) = (BTreeMap::new(), Pool::new(capacity));
        Self { running, pool, ready: false, full_until: Moment(0) }
    }

    /// Number of running attempts.
    pub(super) fn n(&self) -> usize {
        self.running.len()
    }

    pub(super) fn run(&self, attempt: Attempt) -> bool {
        self.running.contains_key(&attempt)
    }

    /// Other nodes that a running attempt has room on.
    pub(super) fn span_of(&self, attempt: Attempt) -> Option<&NodeSpan> {
        self.running.get(&attempt)?.allocation.span.as_deref()
    }

    /// The attempt at this task that runs here, if there is one.
    pub(super) fn attempt_at(&self, task: TaskKey) -> Option<Attempt> {
        let [first, last] = [0, u32::MAX].map(|instance| Attempt { task, instance });
        self.running.range(first..=last).next_back().map(|(attempt, _)| *attempt)
    }

    /// Starts an attempt with what it was given of the pool, which is expected to last for so long.
    pub(super) fn start(
        &mut self,
        job: Job,
        lasts_ms: Option<u64>,
        now: Moment,
        out: &mut dyn Out,
    ) {
        let ends = lasts_ms.map(|ms| now.plus_ms(ms));
        let process = Process { killed: None, allocation: job.allocation.clone(), ends };
        self.running.insert(job.attempt, process);
        out.keeper(KeeperOrder::Start(Box::new(job)));
    }

    /// Notes that the keeper runs an attempt.
    pub(super) fn reported(&mut self, run: &RunningAttempt) {
        if !self.running.contains_key(&run.attempt) {
            let allocation = self.pool.give(run.allocation.clone());
            self.running.insert(run.attempt, Process { killed: None, allocation, ends: None });
        }
    }

    /// Notes that an attempt has ended.
    pub(super) fn ended(&mut self, attempt: Attempt) {
        if let Some(process) = self.running.remove(&attempt) {
            self.pool.take_back(&process.allocation);
        }
    }

    /// Ends of the running attempts as far as they are known, with what each gives back, the first one first; those
    /// that are not known are last.
    pub(super) fn ends(&self) -> Vec<(Option<Moment>, &Allocation)> {
        let mut ends =
            self.running.values().map(|it| (it.ends, &it.allocation)).collect::<Vec<_>>();
        ends.sort_by_key(|(ends, _)| ends.unwrap_or(Moment(u64::MAX)));
        ends
    }

    /// Notes that the keeper has died; returns the attempts that have died with it.
    pub(super) fn lost(&mut self) -> impl Iterator<Item = Attempt> + use<> {
        self.ready = false;
        let running = std::mem::take(&mut self.running);
        running.values().for_each(|process| self.pool.take_back(&process.allocation));
        running.into_keys()
    }

    /// Tells the keeper to end an attempt, once for each reason.
    pub(super) fn kill(&mut self, attempt: Attempt, because: Killed, out: &mut dyn Out) {
        if let Some(process) = self.running.get_mut(&attempt)
            && process.killed != Some(because)
        {
            process.killed = Some(because);
            out.keeper(KeeperOrder::Kill { attempt, because });
        }
    }

    /// Tells the keeper to end all attempts.
    pub(super) fn kill_all(&mut self, because: Killed, out: &mut dyn Out) {
        let running = self.running.keys().copied().collect::<Vec<_>>();
        running.into_iter().for_each(|attempt| self.kill(attempt, because, out));
    }

    /// Pauses starts, since the system had no room for another process.
    pub(super) fn found_no_room(&mut self, now: Moment) {
        self.full_until = now.plus_ms(FULL_MS);
    }

    /// Returns whether starts are paused.
    pub(super) fn are_full(&self, now: Moment) -> bool {
        now < self.full_until
    }
}

/// Longest time of a short task, in ms: as long as starting a few tasks.
const MOMENT_MS: u64 = 20;
/// Number of short tasks in a row after which the next is expected to be short too.
const N_SHORT_MIN: u32 = 32;

/// Recent sequence of short tasks of one submission.
///
/// It expedites short tasks, which end before the next order arrives, so that cores would wait for orders. Where many
/// tasks of one submission have ended quickly, as many more of it are ordered ahead as there is room for. The keeper
/// starts each of them when another has ended; the first one that takes longer stops this, and those that have not
/// begun are returned.
#[derive(Debug, Default)]
pub(super) struct ShortTaskDetector {
    work: Option<Arc<Work>>,
    n_short: u32,
}

impl ShortTaskDetector {
    /// Notes that a task of this submission has ended after `ms`.
    pub(super) fn ended(&mut self, work: &Arc<Work>, ms: u64) {
        let same = self.work.as_ref().is_some_and(|last| Arc::ptr_eq(last, work));
        if MOMENT_MS < ms {
            self.n_short = 0;
        } else if same {
            self.n_short = self.n_short.saturating_add(1);
        } else {
            self.work = Some(work.clone());
            self.n_short = 1;
        }
    }

    /// Notes that tasks that were ordered ahead had to wait.
    pub(super) fn waited(&mut self) {
        self.n_short = 0;
    }

    /// Number of tasks that may be ordered, where the next one is of this submission and `n_slots` run at once.
    pub(super) fn n_orders(&self, next: Option<&Arc<Work>>, n_slots: usize) -> usize {
        let work = self.work.as_ref().filter(|_| N_SHORT_MIN <= self.n_short);
        let as_short = work.zip(next).is_some_and(|(last, next)| Arc::ptr_eq(last, next));
        if as_short { 2 * n_slots } else { n_slots }
    }
}
