//! Tasks of other homes that wait or run on a node, with their leases.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::sync::Arc;

use balancing_policies::Moment;

use crate::interface::{Allocation, Attempt, InstanceId, NodeId, TaskInput, TaskKey, Work};

/// Most tasks of other nodes that may wait here.
const N_WAITING_MAX: usize = 10_000;
/// Time before the end of its lease within which a task is not started, in ms.
const MARGIN_MS: u64 = 1_000;

/// Work of a task, and what tells it from others of the same work.
pub(super) type TaskWork = (Arc<Work>, TaskInput);

/// Task that may be started.
pub(super) struct Startable {
    pub(super) attempt: Attempt,
    pub(super) work: TaskWork,
    /// What it was promised of this node; `None` where it needs a core, any one.
    pub(super) allocation: Option<Allocation>,
    /// End of its lease.
    pub(super) until: Moment,
}

/// Tasks that are held.
#[derive(Debug, Default)]
pub(super) struct HeldTasks {
    held: BTreeMap<TaskKey, Held>,
    waiting: VecDeque<Attempt>,
    n_waiting: u64,
    /// Number of those that were promised something of this node.
    n_with_room: u64,
}

#[derive(Debug)]
struct Held {
    instance: u32,
    /// `None` where only the keeper knows it.
    work: Option<TaskWork>,
    /// What it was promised of this node, until it runs.
    allocation: Option<Allocation>,
    lease_until: Option<Moment>,
    taken: Moment,
    runs: bool,
}

impl HeldTasks {
    pub(super) fn n_waiting(&self) -> u64 {
        self.n_waiting
    }

    pub(super) fn n_without_room(&self) -> u64 {
        self.n_waiting - self.n_with_room
    }

    pub(super) fn are_full(&self) -> bool {
        N_WAITING_MAX <= self.waiting.len()
    }

    pub(super) fn contain(&self, task: TaskKey) -> bool {
        self.held.contains_key(&task)
    }

    pub(super) fn waits(&self, attempt: Attempt) -> bool {
        let held = self.held.get(&attempt.task);
        held.is_some_and(|held| held.instance == attempt.instance && !held.runs)
    }

    pub(super) fn hold(
        &mut self,
        attempt: Attempt,
        work: TaskWork,
        allocation: Option<Allocation>,
        now: Moment,
    ) {
        self.n_with_room += u64::from(allocation.is_some());
        let (instance, work) = (attempt.instance, Some(work));
        let held = Held { instance, work, allocation, lease_until: None, taken: now, runs: false };
        self.held.insert(attempt.task, held);
        self.waiting.push_back(attempt);
        self.n_waiting += 1;
    }

    /// Holds a task that the keeper runs for an earlier daemon.
    pub(super) fn adopt(&mut self, Attempt { task, instance }: Attempt, now: Moment) {
        let (work, allocation) = (None, None);
        let held = Held { instance, work, allocation, lease_until: None, taken: now, runs: true };
        self.held.insert(task, held);
    }

    /// Forgets a task; returns what it was promised of this node and has not used.
    pub(super) fn forget(&mut self, attempt: Attempt) -> Option<Allocation> {
        let held = self.held.get(&attempt.task);
        held.filter(|held| held.instance == attempt.instance)?;
        let held = self.held.remove(&attempt.task)?;
        self.n_waiting -= u64::from(!held.runs);
        self.n_with_room -= u64::from(held.allocation.is_some());
        held.allocation
    }

    /// The task that has waited longest, out of the queue; without `even_with_room`, of those that were promised nothing
    /// of this node.
    pub(super) fn pop_waiting(&mut self, even_with_room: bool) -> Option<Attempt> {
        let mut kept = VecDeque::new();
        let mut found = None;
        while let Some(attempt) = self.waiting.pop_front() {
            if !self.waits(attempt) {
                continue;
            }
            let has_room = self.held.get(&attempt.task).is_some_and(|it| it.allocation.is_some());
            if even_with_room || !has_room {
                found = Some(attempt);
                break;
            }
            kept.push_back(attempt);
        }
        kept.append(&mut self.waiting);
        self.waiting = kept;
        found
    }

    /// Marks the first task whose lease lasts long enough as running; returns it with its work and the end of its lease.
    /// Without `has_room`, only a task that was promised its room.
    pub(super) fn start_next(&mut self, now: Moment, has_room: bool) -> Option<Startable> {
        if !has_room && self.n_with_room == 0 {
            return None;
        }
        let from = now.plus_ms(MARGIN_MS);
        let mut n_passed = 0;
        while n_passed < self.waiting.len()
            && let Some(attempt) = self.waiting.pop_front()
        {
            if !self.waits(attempt) {
                continue;
            }
            let Some(held) = self.held.get_mut(&attempt.task) else { continue };
            let may_start = has_room || held.allocation.is_some();
            let until = held.lease_until.filter(|until| may_start && from < *until);
            let Some(until) = until else {
                self.waiting.push_back(attempt);
                n_passed += 1;
                continue;
            };
            let Some(work) = held.work.clone() else { continue };
            held.runs = true;
            let allocation = held.allocation.take();
            self.n_waiting -= 1;
            self.n_with_room -= u64::from(allocation.is_some());
            return Some(Startable { attempt, work, allocation, until });
        }
        None
    }

    /// Extends a lease; returns whether the task runs.
    pub(super) fn extend(&mut self, attempt: Attempt, until: Moment) -> bool {
        let held = self.held.get_mut(&attempt.task);
        let Some(held) = held.filter(|held| held.instance == attempt.instance) else {
            return false;
        };
        held.lease_until = held.lease_until.max(Some(until));
        held.runs
    }

    /// Tasks whose lease has expired; one without a lease may be held for `lease_ms`.
    pub(super) fn expired(&self, now: Moment, lease_ms: u64) -> Vec<Attempt> {
        let is_out =
            |held: &Held| held.lease_until.unwrap_or_else(|| held.taken.plus_ms(lease_ms)) <= now;
        let out = self.held.iter().filter(|(_, held)| is_out(held));
        out.map(|(task, held)| Attempt { task: *task, instance: held.instance }).collect()
    }

    /// Drops entries of the queue whose tasks no longer wait.
    pub(super) fn tidy(&mut self) {
        let mut waiting = std::mem::take(&mut self.waiting);
        waiting.retain(|attempt| self.waits(*attempt));
        self.waiting = waiting;
    }

    /// Tasks of a home that wait or run here.
    pub(super) fn of_home(&self, home: NodeId) -> impl Iterator<Item = InstanceId> {
        let key = |number| TaskKey { home, number };
        let held = self.held.range(key(0)..=key(u64::MAX));
        held.map(|(task, held)| InstanceId { number: task.number, instance: held.instance })
    }

    pub(super) fn homes(&self) -> BTreeSet<NodeId> {
        self.held.keys().map(|task| task.home).collect()
    }
}
