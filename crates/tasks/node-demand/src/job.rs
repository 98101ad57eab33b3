//! Jobs that were asked for, compared with the queue of the batch system.

use serde::{Deserialize, Serialize};
use std::collections::BTreeSet;

/// Time after which a submission that was interrupted, and that the queue does not have, counts as not made, in ms.
const LOST_AFTER_MS: u64 = 90_000;

/// Stage of a job.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Stage {
    /// Its submission began; nobody knows yet whether it was made.
    Asked,
    /// It waits in the queue.
    Pending,
    /// It runs.
    Running,
    /// It was told to leave, or was canceled.
    Leaving,
    /// It is ending.
    Ending,
}

/// Job that was asked for.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Job {
    /// Slot of the job.
    pub slot: u32,
    /// Number that the batch system gave it, once it is known.
    pub id: Option<u64>,
    /// Stage of the job.
    pub stage: Stage,
    /// Time when it reached this stage, in ms since 1970.
    pub since_ms: u64,
    /// True once its nodes have joined the cluster.
    pub has_joined: bool,
    /// Time until its limit, in ms; `None` where that is unknown.
    pub left_ms: Option<u64>,
    /// Hosts on which it runs, or the reason why it waits, as the batch system writes them.
    pub place: String,
}

/// Job in the queue of the batch system.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Queued {
    /// Slot, from its name.
    pub slot: u32,
    /// Number of the job.
    pub id: u64,
    /// State of the job.
    pub state: QueuedState,
    /// Time until its limit, in ms.
    pub left_ms: Option<u64>,
    /// Hosts, or the reason why it waits.
    pub place: String,
}

/// State of a job in the queue.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum QueuedState {
    /// It waits.
    Pending,
    /// It runs, or begins to.
    Running,
    /// It is ending.
    Ending,
}

/// What the queue showed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Change {
    /// A job of this cluster that was not known.
    Adopted {
        /// Slot.
        slot: u32,
        /// Number of the job.
        id: u64,
    },
    /// A second job of a slot, which must be canceled.
    Duplicate {
        /// Slot.
        slot: u32,
        /// Number of the job.
        id: u64,
    },
    /// A job has begun to run.
    Started {
        /// Slot.
        slot: u32,
        /// Number of the job.
        id: u64,
        /// Hosts on which it runs.
        place: String,
    },
    /// A job is over.
    Ended {
        /// The job.
        job: Job,
        /// True if its nodes never joined although nobody canceled it.
        has_failed: bool,
    },
}

/// Jobs that were asked for.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Jobs(pub Vec<Job>);

impl Jobs {
    /// Lowest slots that no job has.
    pub fn free_slots(&self) -> impl Iterator<Item = u32> + '_ {
        let used: BTreeSet<u32> = self.0.iter().map(|job| job.slot).collect();
        (1..).filter(move |slot| !used.contains(slot))
    }

    /// Job of a slot.
    pub fn of_slot(&mut self, slot: u32) -> Option<&mut Job> {
        self.0.iter_mut().find(|job| job.slot == slot)
    }

    /// Adds a job whose submission begins.
    pub fn ask(&mut self, slot: u32, now_ms: u64) {
        self.0.push(Job {
            slot,
            id: None,
            stage: Stage::Asked,
            since_ms: now_ms,
            has_joined: false,
            left_ms: None,
            place: String::new(),
        });
    }

    /// Removes the job of a slot, whose submission was refused.
    pub fn remove(&mut self, slot: u32) {
        self.0.retain(|job| job.slot != slot);
    }

    /// Takes over the batch system's queue.
    pub fn update(&mut self, queue: &[Queued], now_ms: u64) -> Vec<Change> {
        let mut changes = Vec::new();
        let mut seen = BTreeSet::new();
        let mut queue: Vec<&Queued> = queue.iter().collect();
        // Of several jobs of a slot, the one that runs stays, else the first.
        queue.sort_by_key(|queued| (queued.state == QueuedState::Pending, queued.id));
        for queued in queue {
            if !seen.insert(queued.slot) {
                if queued.state != QueuedState::Ending {
                    changes.push(Change::Duplicate { slot: queued.slot, id: queued.id });
                }
                continue;
            }
            self.take(queued, now_ms, &mut changes);
        }
        let is_over = |job: &Job| {
            let may_arrive = job.id.is_none() && now_ms < job.since_ms + LOST_AFTER_MS;
            !seen.contains(&job.slot) && !may_arrive
        };
        let over: Vec<Job> = self.0.iter().filter(|job| is_over(job)).cloned().collect();
        self.0.retain(|job| !is_over(job));
        changes.extend(over.into_iter().map(|job| {
            let has_failed = !job.has_joined && job.stage != Stage::Leaving;
            Change::Ended { job, has_failed }
        }));
        changes
    }

    fn take(&mut self, queued: &Queued, now_ms: u64, changes: &mut Vec<Change>) {
        let (slot, id) = (queued.slot, queued.id);
        let is_same = |job: &Job| job.slot == slot && job.id.is_none_or(|known| known == id);
        if !self.0.iter().any(is_same) {
            // Another job of the slot than the known one: that one is over.
            self.remove(slot);
            self.ask(slot, now_ms);
            changes.push(Change::Adopted { slot, id });
        }
        let Some(job) = self.of_slot(slot) else { return };
        job.id = Some(id);
        job.left_ms = queued.left_ms;
        job.place.clone_from(&queued.place);
        let stage = match (queued.state, job.stage) {
            (QueuedState::Ending, Stage::Leaving) | (_, Stage::Leaving) => Stage::Leaving,
            (QueuedState::Ending, _) => Stage::Ending,
            (QueuedState::Running, _) => Stage::Running,
            (QueuedState::Pending, _) => Stage::Pending,
        };
        if job.stage == stage {
            return;
        }
        if stage == Stage::Running {
            changes.push(Change::Started { slot, id, place: queued.place.clone() });
        }
        (job.stage, job.since_ms) = (stage, now_ms);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn queued(slot: u32, id: u64, state: QueuedState) -> Queued {
        Queued { slot, id, state, left_ms: None, place: "n1".to_owned() }
    }

    /// Stages of the jobs, as `slot:id:stage`, after the queue was read at this time.
    #[track_caller]
    fn check(jobs: &mut Jobs, queue: &[Queued], now_ms: u64, expected: &str) -> Vec<Change> {
        let changes = jobs.update(queue, now_ms);
        let shown = jobs
            .0
            .iter()
            .map(|job| format!("{}:{}:{:?}", job.slot, job.id.map_or(0, |id| id), job.stage));
        assert_eq!(shown.collect::<Vec<_>>().join(" "), expected);
        changes
    }

    #[test]
    fn a_job_goes_through_the_queue() {
        let mut jobs = Jobs::default();
        jobs.ask(1, 0);
        let changes = check(&mut jobs, &[queued(1, 7, QueuedState::Pending)], 1, "1:7:Pending");
        assert_eq!(changes, []);
        let changes = check(&mut jobs, &[queued(1, 7, QueuedState::Running)], 2, "1:7:Running");
        let place = "n1".to_owned();
        assert_eq!(changes, [Change::Started { slot: 1, id: 7, place }]);
        assert_eq!(jobs.free_slots().next(), Some(2));
        let changes = check(&mut jobs, &[], 3, "");
        assert!(matches!(changes[..], [Change::Ended { has_failed: true, .. }]), "{changes:?}");
        assert_eq!(jobs.free_slots().next(), Some(1));
    }

    /// The controller is killed between writing down that it submits a job and knowing its number.
    #[test]
    fn an_interrupted_submission_is_recognized_or_given_up_later() {
        let mut jobs = Jobs::default();
        jobs.ask(1, 0);
        jobs.ask(2, 0);
        check(&mut jobs, &[queued(2, 8, QueuedState::Pending)], 10, "1:0:Asked 2:8:Pending");
        check(&mut jobs, &[queued(2, 8, QueuedState::Pending)], 89_999, "1:0:Asked 2:8:Pending");
        check(&mut jobs, &[queued(2, 8, QueuedState::Pending)], 90_000, "2:8:Pending");
    }

    #[test]
    fn jobs_of_a_lost_file_are_adopted_and_second_ones_named() {
        let mut jobs = Jobs::default();
        let queue = [
            queued(1, 5, QueuedState::Pending),
            queued(1, 6, QueuedState::Running),
            queued(3, 9, QueuedState::Running),
        ];
        let changes = check(&mut jobs, &queue, 1, "1:6:Running 3:9:Running");
        assert!(changes.contains(&Change::Adopted { slot: 3, id: 9 }), "{changes:?}");
        assert!(changes.contains(&Change::Duplicate { slot: 1, id: 5 }), "{changes:?}");
        assert_eq!(jobs.free_slots().take(2).collect::<Vec<_>>(), [2, 4]);
    }

    #[test]
    fn who_was_told_to_leave_has_not_failed() {
        let mut jobs = Jobs::default();
        check(&mut jobs, &[queued(1, 5, QueuedState::Running)], 1, "1:5:Running");
        jobs.of_slot(1).unwrap().stage = Stage::Leaving;
        check(&mut jobs, &[queued(1, 5, QueuedState::Running)], 2, "1:5:Leaving");
        let changes = check(&mut jobs, &[], 3, "");
        assert!(matches!(changes[..], [Change::Ended { has_failed: false, .. }]), "{changes:?}");
    }
}
