//! Book of a node: the tasks submitted to it, and the results of those that it ran for other nodes.
//!
//! The book is the result of its [`JournalRecord`]s, applied in order: the disk holds the list of records, and a restarted
//! daemon reads them all. One fact is not recorded, and safely forgotten: whether the node that a task was given to
//! has been told that it may start. A task that the records show running here may have ended: the keeper knows.
//!
//! # Invariants
//! - Any list of records, even a senseless one, makes a book; a record that cannot apply changes nothing.
//! - A queued task is found through the queue; entries of the queue whose task is not queued are skipped.
//! - A bounded number of ended tasks is kept, with a bounded number of bytes of output; of all others only the
//!   outcome, and how much was dropped.
//!
//! # Not here
//! Bytes and files (`journal`), and the decisions (`core`).

mod archive;
mod changes;
mod queue;
mod record;
mod shared;
mod snapshot;
mod task;
mod uncertain;

use std::collections::{BTreeMap, VecDeque};

use task_api::{Output, Retention, TaskState};

use crate::interface::{Attempt, Ended, Moment, NodeId};
pub use archive::{ArchivedRange, OutcomeArchive, OutcomeKind};
use queue::Queue;
pub use record::{EndRecord, JournalRecord, Reason};
use shared::Shared;
pub use task::{Note, NotedEvent, Task};
pub use uncertain::DamageTotals;
use uncertain::ResolvedSinceLast;

/// Most tasks of one submission: a record with more is damaged.
const N_TASKS_MAX: u64 = 10_000_000;

/// Bounds of a book.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BookLimits {
    /// Most tasks that have not ended.
    pub n_open_max: u64,
    /// Most ended tasks that are kept one by one.
    pub n_ended_max: usize,
    /// Most bytes of their output.
    pub output_bytes_max: usize,
}

impl Default for BookLimits {
    fn default() -> Self {
        Self { n_open_max: 10_000_000, n_ended_max: 200_000, output_bytes_max: 64 << 20 }
    }
}

/// Lease of a task that was given to another node.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Lease {
    /// Node that may run the task.
    pub to: NodeId,
    /// Incarnation of that node's daemon.
    pub incarnation: u64,
    /// Instance of the task.
    pub instance: u32,
    /// Moment at which the task was given, or its node last asked for it.
    pub heard: Moment,
    /// True if the node was told that it may start.
    pub confirmed: bool,
}

/// Tasks of a node.
#[derive(Debug)]
pub struct Book {
    me: NodeId,
    limits: BookLimits,
    tasks: BTreeMap<u64, Task>,
    next: u64,
    queue: Queue,
    shared: Shared,
    leases: BTreeMap<u64, Lease>,
    /// Results of other nodes' tasks that their homes have not acknowledged.
    foreign: BTreeMap<Attempt, Ended>,
    /// Numbers of ended tasks, the oldest first.
    ended: VecDeque<u64>,
    /// Numbers of ended tasks whose output is kept.
    with_output: VecDeque<u64>,
    n_output_bytes: usize,
    /// Number of uncertain tasks.
    n_uncertain: u64,
    resolved_since_last: ResolvedSinceLast,
    damages: DamageTotals,
    archive: OutcomeArchive,
}

impl Book {
    /// An empty book of the node `me`.
    #[must_use]
    pub fn new(me: NodeId, limits: BookLimits) -> Self {
        Self {
            me,
            limits,
            tasks: BTreeMap::new(),
            next: 1,
            queue: Queue::default(),
            shared: Shared::default(),
            leases: BTreeMap::new(),
            foreign: BTreeMap::new(),
            ended: VecDeque::new(),
            with_output: VecDeque::new(),
            n_output_bytes: 0,
            n_uncertain: 0,
            resolved_since_last: ResolvedSinceLast::default(),
            damages: DamageTotals::default(),
            archive: OutcomeArchive::default(),
        }
    }

    /// Applies a record.
    pub fn apply(&mut self, record: &JournalRecord) {
        match record {
            JournalRecord::Around { idx, around } => self.shared.learn(*idx, around),
            JournalRecord::Submitted { first, n_tasks, at_ms, work, array_first } => {
                let mut begins = [Some(*first), *array_first].into_iter().flatten();
                let can_be = begins.all(|begin| begin.checked_add(*n_tasks).is_some());
                if let Some(work) = self.shared.work(work).filter(|_| can_be) {
                    self.submitted((*first, *n_tasks), *at_ms, &work, *array_first);
                }
            }
            JournalRecord::Given { number, instance, to, incarnation, at_ms } => {
                let lease = Lease {
                    to: *to,
                    incarnation: *incarnation,
                    instance: *instance,
                    heard: Moment(0),
                    confirmed: true,
                };
                self.given(*number, lease, *at_ms);
            }
            JournalRecord::Back { number, instance, reason, at_ms } => {
                self.back(*number, *instance, reason, *at_ms);
            }
            JournalRecord::Ended(end) => self.end(end),
            JournalRecord::Canceled { first, last, at_ms } => self.canceled(*first, *last, *at_ms),
            JournalRecord::CancelWished { number, at_ms } => {
                if let Some(task) = self.tasks.get_mut(number).filter(|task| !task.is_over()) {
                    task.request_cancel(*at_ms);
                }
            }
            JournalRecord::Tried { number, instance, n_lost } => {
                if let Some(task) = self.tasks.get_mut(number) {
                    task.tried(*instance, *n_lost);
                }
            }
            JournalRecord::ForeignEnded(ended) => {
                self.foreign.insert(ended.attempt, ended.clone());
            }
            JournalRecord::Acknowledged { attempts } => {
                for attempt in attempts {
                    self.foreign.remove(attempt);
                }
            }
            JournalRecord::Next { number } => self.next = self.next.max(*number),
            JournalRecord::Started { number, instance, at_ms } => {
                self.start(*number, *instance, *at_ms)
            }
            JournalRecord::Story { number, n_dropped, notes } => {
                if let Some(task) = self.tasks.get_mut(number) {
                    task.tell(notes, *n_dropped);
                }
            }
            JournalRecord::Damaged { at_ms, n_bytes, n_missing } => {
                self.damages.add(*at_ms, *n_bytes, *n_missing);
            }
            JournalRecord::Past { runs } => runs.iter().for_each(|run| self.archive.add(*run)),
            JournalRecord::PastCounts { counts, n_outputs, n_bytes } => {
                counts.iter().for_each(|(brief, n_tasks)| self.archive.count(*brief, *n_tasks));
                self.archive.drop_outputs(*n_outputs, *n_bytes);
            }
            JournalRecord::Doubted { first, last } => self.mark_uncertain(*first, *last),
            JournalRecord::Settled { first, last } => self.settle(*first, *last),
        }
    }

    /// Number of the next task.
    #[must_use]
    pub fn next_number(&self) -> u64 {
        self.next
    }

    /// The task with this number, if it is known and still kept.
    #[must_use]
    pub fn task(&self, number: u64) -> Option<&Task> {
        self.tasks.get(&number)
    }

    /// Tasks from the number `first` on.
    pub fn tasks_from(&self, first: u64) -> impl Iterator<Item = (u64, &Task)> {
        self.tasks.range(first..).map(|(number, task)| (*number, task))
    }

    /// Number of tasks that wait here.
    #[must_use]
    pub fn n_queued(&self) -> u64 {
        self.queue.n_queued()
    }

    /// Number of tasks that have not ended.
    #[must_use]
    pub fn n_open(&self) -> u64 {
        self.tasks.len() as u64 - self.ended.len() as u64
    }

    /// Returns whether `n_tasks` more may be submitted.
    #[must_use]
    pub fn has_room(&self, n_tasks: u64) -> bool {
        self.n_open().saturating_add(n_tasks) <= self.limits.n_open_max
    }

    /// Leases by the number of their task.
    #[must_use]
    pub fn leases(&self) -> &BTreeMap<u64, Lease> {
        &self.leases
    }

    /// Lease of a task, to note that it was renewed.
    pub fn lease_mut(&mut self, number: u64) -> Option<&mut Lease> {
        self.leases.get_mut(&number)
    }

    /// Results of other nodes' tasks that their homes have not acknowledged.
    #[must_use]
    pub fn foreign(&self) -> &BTreeMap<Attempt, Ended> {
        &self.foreign
    }

    /// Summary of tasks that ended long ago.
    #[must_use]
    pub fn archive(&self) -> &OutcomeArchive {
        &self.archive
    }

    /// Amounts of what is kept of ended tasks, and of what was dropped.
    #[must_use]
    pub fn kept(&self) -> Retention {
        let (n_outputs_dropped, output_bytes_dropped) = self.archive.dropped();
        Retention {
            n_tasks: self.ended.len() as u64,
            n_tasks_max: self.limits.n_ended_max as u64,
            n_brief: self.archive.n_tasks(),
            output_bytes: self.n_output_bytes as u64,
            output_bytes_max: self.limits.output_bytes_max as u64,
            n_outputs_dropped,
            output_bytes_dropped,
        }
    }

    /// Number of the queued task whose turn it is.
    pub fn next_queued(&mut self) -> Option<u64> {
        let tasks = &self.tasks;
        self.queue.next(|number| tasks.get(&number).is_some_and(Task::is_queued))
    }

    /// Tasks that were started here and have not ended, with their instances.
    pub fn running(&self) -> impl Iterator<Item = (u64, u32)> {
        let runs = self.tasks.iter().filter(|(_, task)| task.state() == TaskState::Running);
        runs.map(|(number, task)| (*number, task.instance()))
    }

    /// Notes that the node to which the task was offered was told that it may start.
    pub fn confirm(&mut self, number: u64, at_ms: u64) {
        let Some(lease) = self.leases.get_mut(&number) else { return };
        let first = !std::mem::replace(&mut lease.confirmed, true);
        if let Some(task) = self.tasks.get_mut(&number)
            && first
        {
            task.place(TaskState::Leased, lease.to, lease.instance);
            task.note(at_ms, NotedEvent::Moved(lease.to));
        }
    }

    /// Marks a given task as not confirmed, which a record cannot express.
    pub fn unconfirm(&mut self, number: u64, now: Moment) {
        if let Some(lease) = self.leases.get_mut(&number) {
            lease.confirmed = false;
            lease.heard = now;
            if let Some(task) = self.tasks.get_mut(&number) {
                task.place(TaskState::Offered, lease.to, lease.instance);
            }
        }
    }

    /// Notes that the node that holds the task has started it.
    pub fn started_elsewhere(&mut self, number: u64, instance: u32, at_ms: u64) {
        let Some(lease) = self.leases.get(&number).filter(|lease| lease.instance == instance)
        else {
            return;
        };
        if let Some(task) = self.tasks.get_mut(&number) {
            task.note(at_ms, NotedEvent::Started(lease.to));
        }
    }

    /// Lets all leases begin now: a daemon that was down cannot know which nodes asked meanwhile.
    pub fn renew_all(&mut self, now: Moment) {
        for lease in self.leases.values_mut() {
            lease.heard = now;
        }
    }

    /// Reduces the oldest ended tasks to their outcomes, as long as there are too many and the oldest is not
    /// `wanted`.
    pub fn prune(&mut self, wanted: impl Fn(u64) -> bool) {
        while self.limits.n_ended_max < self.ended.len()
            && let Some(&number) = self.ended.front()
            && !wanted(number)
        {
            self.ended.pop_front();
            if self.with_output.front() == Some(&number) {
                self.with_output.pop_front();
            }
            let Some(task) = self.tasks.remove(&number) else { continue };
            let n_bytes = task.n_output_bytes();
            self.n_output_bytes -= n_bytes;
            self.archive.drop_outputs(u64::from(0 < n_bytes), n_bytes as u64);
            if let Some(outcome) = task.outcome() {
                let brief = OutcomeKind::of(outcome);
                self.archive.add(ArchivedRange { first: number, last: number, brief });
            }
        }
    }
}

/// Output of a task; `None` where it wrote nothing.
pub(crate) fn some_output(output: &Output) -> Option<Box<Output>> {
    let silent = output.n_bytes() == 0 && output.n_dropped_bytes == 0;
    (!silent).then(|| Box::new(output.clone()))
}

#[cfg(test)]
mod tests;
