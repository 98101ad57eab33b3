//! Attempts that the keeper runs, as far as it has reported them or was told to start them.

use crate::interface::{Attempt, Job, KeeperOrder, Killed, Out, Work};
use balancing_policies::Moment;
use std::collections::BTreeMap;
use std::sync::Arc;

/// Time for which nothing is started after the system had no room for a process, in ms.
const FULL_MS: u64 = 500;

/// Running attempts.
#[derive(Debug, Default)]
pub(super) struct Processes {
    /// Attempts that run, each with the reason for which the keeper was told to end it, if any.
    running: BTreeMap<Attempt, Option<Killed>>,
    /// True when the keeper has reported what it runs.
    pub(super) ready: bool,
    /// Moment before which nothing is started, since the system had no room for another process.
    full_until: Moment,
}

impl Processes {
    /// Number of running attempts.
    pub(super) fn n(&self) -> usize {
        self.running.len()
    }

    pub(super) fn run(&self, attempt: Attempt) -> bool {
        self.running.contains_key(&attempt)
    }

    pub(super) fn start(&mut self, job: Job, out: &mut dyn Out) {
        self.reported(job.attempt);
        out.keeper(KeeperOrder::Start(Box::new(job)));
    }

    /// Notes that the keeper runs an attempt.
    pub(super) fn reported(&mut self, attempt: Attempt) {
        self.running.insert(attempt, None);
    }

    /// Notes that an attempt has ended.
    pub(super) fn ended(&mut self, attempt: Attempt) {
        self.running.remove(&attempt);
    }

    /// Notes that the keeper has died; returns the attempts that have died with it.
    pub(super) fn lost(&mut self) -> impl Iterator<Item = Attempt> + use<> {
        self.ready = false;
        std::mem::take(&mut self.running).into_keys()
    }

    /// Tells the keeper to end an attempt, once for each reason.
    pub(super) fn kill(&mut self, attempt: Attempt, because: Killed, out: &mut dyn Out) {
        if let Some(told) = self.running.get_mut(&attempt)
            && *told != Some(because)
        {
            *told = Some(because);
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
