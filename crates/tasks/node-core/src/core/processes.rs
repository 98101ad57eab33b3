//! Attempts that the keeper runs, as far as it has reported them or was told to start them.

use std::collections::BTreeMap;

use balancing_policies::Moment;

use crate::interface::{Attempt, Job, KeeperOrder, Killed, Out};

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
