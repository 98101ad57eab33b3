//! Processes of a node, which exist only as times.

use std::collections::{BTreeMap, VecDeque};

use node_core::interface::{Allocation, Attempt, AttemptEnd, EndedAttempt, Job, Killed};
use task_api::{Output, Usage};

/// Time for which an attempt that was ordered ahead waits for its turn, as in the keeper, in ns.
pub(super) const TURN_NS: u64 = 50_000_000;

/// Processes of a node.
#[derive(Debug, Default)]
pub(super) struct Processes {
    running: BTreeMap<Attempt, Process>,
    /// Attempts that were ordered ahead, with the time when they were.
    ahead: VecDeque<(Job, u64)>,
}

/// Running attempt.
#[derive(Debug)]
pub(super) struct Process {
    pub(super) started_ns: u64,
    pub(super) ends_ns: u64,
    pub(super) end: AttemptEnd,
    pub(super) allocation: Allocation,
}

impl Processes {
    /// Number of running attempts.
    pub(super) fn n_running(&self) -> usize {
        self.running.len()
    }

    /// Notes an attempt that is ordered ahead; returns false where it is to be started now.
    pub(super) fn waits_for_turn(&mut self, job: &Job, now_ns: u64) -> bool {
        let waits = job.n_at_once.is_some_and(|n| n as usize <= self.running.len());
        if waits {
            self.ahead.push_back((job.clone(), now_ns));
        }
        waits
    }

    /// Removes the next attempt whose turn has come.
    pub(super) fn next_in_turn(&mut self) -> Option<Job> {
        let (job, _) = self.ahead.front()?;
        let is_next = job.n_at_once.is_none_or(|n| self.running.len() < n as usize);
        is_next.then(|| self.ahead.pop_front()).flatten().map(|(job, _)| job)
    }

    /// Removes the attempts that have waited too long for their turn.
    pub(super) fn late(&mut self, now_ns: u64) -> Vec<EndedAttempt> {
        let mut late = Vec::new();
        while let Some((_, since_ns)) = self.ahead.front()
            && since_ns + TURN_NS <= now_ns
            && let Some((job, _)) = self.ahead.pop_front()
        {
            late.push(ended(job.attempt, AttemptEnd::NoTurn, (now_ns, now_ns)));
        }
        late
    }

    pub(super) fn start(&mut self, attempt: Attempt, process: Process) {
        self.running.insert(attempt, process);
    }

    /// Ends an attempt whose time has come; `None` where it has ended before, or ends at another time.
    pub(super) fn end(&mut self, attempt: Attempt, now_ns: u64) -> Option<(Process, EndedAttempt)> {
        if self.running.get(&attempt)?.ends_ns != now_ns {
            return None;
        }
        let process = self.running.remove(&attempt)?;
        let report = ended(attempt, process.end.clone(), (process.started_ns, now_ns));
        Some((process, report))
    }

    /// Ends an attempt by force; returns whether it runs, or its report where it waits for its turn.
    pub(super) fn kill(
        &mut self,
        attempt: Attempt,
        because: Killed,
        now_ns: u64,
    ) -> (bool, Option<EndedAttempt>) {
        if let Some(process) = self.running.get_mut(&attempt) {
            (process.end, process.ends_ns) = (AttemptEnd::Killed(because), now_ns);
            return (true, None);
        }
        let n_before = self.ahead.len();
        self.ahead.retain(|(job, _)| job.attempt != attempt);
        let was_ahead = self.ahead.len() < n_before;
        let report =
            was_ahead.then(|| ended(attempt, AttemptEnd::Killed(because), (now_ns, now_ns)));
        (false, report)
    }
}

fn ended(attempt: Attempt, end: AttemptEnd, (started_ns, ended_ns): (u64, u64)) -> EndedAttempt {
    EndedAttempt {
        attempt,
        end,
        started_ms: started_ns / 1_000_000,
        ended_ms: ended_ns / 1_000_000,
        output: Output::default(),
        usage: Usage::default(),
    }
}
