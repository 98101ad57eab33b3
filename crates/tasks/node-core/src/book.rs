//! Book of a node: the tasks submitted to it, and the results of those that it ran for other nodes.
//!
//! The book is the result of its [`JournalRecord`]s, applied in order: the disk holds the list of records, and a restarted
//! daemon reads them all. One fact is not recorded, and safely forgotten: whether the node that a task was given to
//! has been told that it may start. A task that the records show running here may have ended: the keeper knows.
//!
//! # Invariants
//! - Any list of records, even a senseless one, makes a book; a record that cannot apply changes nothing.
//! - A bounded number of ended tasks is kept, with a bounded number of bytes of output; of all others only the
//!   outcome, and how much was dropped.
//!
//! # Not here
//! Bytes and files (`journal`), and the decisions (`core`).

mod archive;
mod arrays;
mod changes;
mod expectations;
mod note;
mod queue;
mod record;
mod rerun;
mod retry;
mod shared;
mod snapshot;
mod task;
mod task_table;

use std::collections::{BTreeMap, VecDeque};

use balancing_policies::{Moment, NodeId};
use task_api::{Demand, Retention, TaskState};

use crate::attempt::{Attempt, EndedAttempt};
use crate::peer_message::InstanceId;
pub use archive::OutcomeArchive;
pub use arrays::{ArrayFailures, ArrayTable};
pub use note::{Failure, Note, NotedEvent, Reason};
pub use queue::QueuedClass;
pub use record::{ArchivedRange, EndRecord, JournalRecord, OutcomeKind, Retry};
pub use rerun::RerunTasks;
use shared::Shared;
pub use task::Task;
pub use task_table::{TaskTable, waits_for_room};

/// Bounds of a book.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BookLimits {
    /// Most tasks that have not ended.
    pub n_open_max: u64,
    /// Most ended tasks that are kept one by one.
    pub n_ended_max: usize,
    /// Most bytes of their output.
    pub output_bytes_max: usize,
    /// Longest time for which they are kept one by one, in ms; `None` for as long as there is room.
    pub kept_ms_max: Option<u64>,
}

impl Default for BookLimits {
    fn default() -> Self {
        let (n_open_max, n_ended_max, output_bytes_max) = (10_000_000, 200_000, 64 << 20);
        Self { n_open_max, n_ended_max, output_bytes_max, kept_ms_max: None }
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

/// Damage found in the journals of a book.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct DamageTotals {
    /// Time of the last discovery, in milliseconds since 1970.
    pub at_ms: u64,
    /// Total number of unreadable bytes.
    pub n_bytes: u64,
    /// Total number of missing records, as far as it is known.
    pub n_missing: u64,
    /// Number of discoveries.
    pub n_times: u64,
}

/// Tasks of a node.
#[derive(Debug)]
pub struct Book {
    me: NodeId,
    limits: BookLimits,
    tasks: TaskTable,
    next: u64,
    shared: Shared,
    leases: BTreeMap<u64, Lease>,
    /// Results of other nodes' tasks that their homes have not acknowledged.
    foreign: BTreeMap<Attempt, EndedAttempt>,
    /// Numbers of ended tasks, the oldest first.
    ended: VecDeque<u64>,
    /// Numbers of ended tasks whose output is kept.
    with_output: VecDeque<u64>,
    n_output_bytes: usize,
    damages: DamageTotals,
    archive: OutcomeArchive,
}

impl DamageTotals {
    fn add(&mut self, at_ms: u64, n_bytes: u64, n_missing: u64) {
        self.at_ms = self.at_ms.max(at_ms);
        self.n_bytes = self.n_bytes.saturating_add(n_bytes);
        self.n_missing = self.n_missing.saturating_add(n_missing);
        self.n_times += 1;
    }

    /// Record that holds all of it.
    fn record(self) -> Option<JournalRecord> {
        let Self { at_ms, n_bytes, n_missing, n_times } = self;
        (0 < n_times).then_some(JournalRecord::Damaged { at_ms, n_bytes, n_missing })
    }
}

impl Book {
    /// An empty book of the node `me`.
    pub fn new(me: NodeId, limits: BookLimits) -> Self {
        Self {
            me,
            limits,
            tasks: TaskTable::default(),
            next: 1,
            shared: Shared::default(),
            leases: BTreeMap::new(),
            foreign: BTreeMap::new(),
            ended: VecDeque::new(),
            with_output: VecDeque::new(),
            n_output_bytes: 0,
            damages: DamageTotals::default(),
            archive: OutcomeArchive::default(),
        }
    }

    /// Applies a record.
    #[expect(clippy::too_many_lines, reason = "a list of all records")]
    pub fn apply(&mut self, record: &JournalRecord) {
        match record {
            JournalRecord::Around { idx, around } => self.shared.learn(*idx, around),
            JournalRecord::Submitted { first, n_tasks, at_ms, work, array_first } => {
                let work = self.shared.work(work, None);
                self.submitted((*first, *n_tasks), *at_ms, work, array_first.map(|it| (it, 1)));
            }
            JournalRecord::SubmittedWith { first, n_tasks, at_ms, work, array, terms } => {
                let work = self.shared.work(work, Some(terms));
                self.submitted((*first, *n_tasks), *at_ms, work, *array);
            }
            JournalRecord::EndedWith(end, usage) => {
                self.end(&EndRecord { usage: *usage, ..end.clone() });
            }
            JournalRecord::ForeignEndedWith(ended, usage) => {
                let ended = EndedAttempt { usage: *usage, ..ended.clone() };
                self.foreign.insert(ended.attempt, ended);
            }
            JournalRecord::Held { first, last, is_held } => {
                self.tasks.change_range(*first, *last, |task| task.is_held = *is_held);
            }
            JournalRecord::Unblocked { first, last } => {
                self.tasks.change_range(*first, *last, |task| task.is_blocked = false);
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
                if self.tasks.open(*number).is_some() {
                    self.tasks.change(*number, |task| task.request_cancel(*at_ms));
                }
            }
            JournalRecord::Tried { number, instance, n_lost } => {
                self.tasks.change(*number, |task| task.tried(*instance, *n_lost));
            }
            JournalRecord::ForeignEnded(ended) => {
                self.foreign.insert(ended.attempt, ended.clone());
            }
            JournalRecord::Acknowledged(attempts) => {
                for attempt in attempts {
                    self.foreign.remove(attempt);
                }
            }
            JournalRecord::Next(number) => self.next = self.next.max(*number),
            JournalRecord::Started { number, instance, at_ms } => {
                self.start(*number, *instance, *at_ms)
            }
            JournalRecord::Story { number, n_dropped, notes } => {
                self.tasks.change(*number, |task| task.tell(notes, *n_dropped));
            }
            JournalRecord::Damaged { at_ms, n_bytes, n_missing } => {
                self.damages.add(*at_ms, *n_bytes, *n_missing);
            }
            JournalRecord::Past(runs) => runs.iter().for_each(|run| self.archive.add(*run)),
            JournalRecord::PastCounts { counts, n_outputs, n_bytes } => {
                counts.iter().for_each(|(brief, n_tasks)| self.archive.count(*brief, *n_tasks));
                self.archive.drop_outputs(*n_outputs, *n_bytes);
            }
            JournalRecord::Doubted { first, last } => {
                self.tasks.mark_uncertain(*first, *last, self.next);
            }
            JournalRecord::Settled { first, last } => self.tasks.settle(*first, *last),
            JournalRecord::Retried { number, retry, failure } => {
                if self.tasks.retried(*number, *retry, failure.as_ref(), self.me) {
                    self.leases.remove(number);
                }
            }
            JournalRecord::ArrayFailures { first, n_failed, stopped_ms } => {
                self.tasks.arrays_mut().count(*first, *n_failed, *stopped_ms);
            }
        }
    }

    /// Number of the next task.
    pub fn next_number(&self) -> u64 {
        self.next
    }

    /// The task with this number, if it is known and still kept.
    pub fn task(&self, number: u64) -> Option<&Task> {
        self.tasks.get(number)
    }

    /// Tasks from the number `first` on.
    pub fn tasks_from(&self, first: u64) -> impl Iterator<Item = (u64, &Task)> {
        self.tasks.within(first..=u64::MAX)
    }

    /// All tasks that are kept one by one.
    pub fn tasks(&self) -> &TaskTable {
        &self.tasks
    }

    /// The same, to change what no record has: moments of delays, and arrays that are beyond their bound.
    pub fn tasks_mut(&mut self) -> &mut TaskTable {
        &mut self.tasks
    }

    /// Number of tasks that have not ended.
    pub fn n_open(&self) -> u64 {
        self.tasks.len() - self.ended.len() as u64
    }

    /// Returns whether `n_tasks` more may be submitted.
    pub fn has_room(&self, n_tasks: u64) -> bool {
        self.n_open().saturating_add(n_tasks) <= self.limits.n_open_max
    }

    /// Leases by the number of their task.
    pub fn leases(&self) -> &BTreeMap<u64, Lease> {
        &self.leases
    }

    /// Lease of this share, if the node has it.
    pub fn lease_of(&self, node: NodeId, share: InstanceId) -> Option<&Lease> {
        let lease = self.leases.get(&share.number)?;
        (lease.to == node && lease.instance == share.instance).then_some(lease)
    }

    /// Results of other nodes' tasks that their homes have not acknowledged.
    pub fn foreign(&self) -> &BTreeMap<Attempt, EndedAttempt> {
        &self.foreign
    }

    /// Summary of tasks that ended long ago.
    pub fn archive(&self) -> &OutcomeArchive {
        &self.archive
    }

    /// Damage found so far.
    pub fn damages(&self) -> DamageTotals {
        self.damages
    }

    /// Amounts of what is kept of ended tasks, and of what was dropped.
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

    /// Number of the queued task whose turn it is, of those that ask for what `fits`.
    pub fn next_queued(&mut self, fits: impl Fn(Option<&Demand>) -> bool) -> Option<u64> {
        self.tasks.next_queued(&fits)
    }

    /// Renews the lease of a task, whose node is then told that it may start; returns whether this is the first time.
    pub fn renew(&mut self, number: u64, now: Moment, at_ms: u64) -> bool {
        let Some(lease) = self.leases.get_mut(&number) else { return false };
        lease.heard = now;
        let is_first = !std::mem::replace(&mut lease.confirmed, true);
        if is_first {
            self.tasks.change(number, |task| {
                task.place(TaskState::Leased, lease.to, lease.instance);
                task.note(at_ms, NotedEvent::Moved(lease.to));
            });
        }
        is_first
    }

    /// Marks a given task as not confirmed, which a record cannot express.
    pub fn unconfirm(&mut self, number: u64, now: Moment) {
        if let Some(lease) = self.leases.get_mut(&number) {
            lease.confirmed = false;
            lease.heard = now;
            let (to, instance) = (lease.to, lease.instance);
            self.tasks.change(number, |task| task.place(TaskState::Offered, to, instance));
        }
    }

    /// Notes that the node that holds a task has started it.
    pub fn started_elsewhere(&mut self, node: NodeId, share: InstanceId, at_ms: u64) {
        if self.lease_of(node, share).is_some() {
            self.tasks.change(share.number, |task| task.note(at_ms, NotedEvent::Started(node)));
        }
    }

    /// Lets all leases begin now: a daemon that was down cannot know which nodes asked meanwhile.
    pub fn renew_all(&mut self, now: Moment) {
        for lease in self.leases.values_mut() {
            lease.heard = now;
        }
    }

    /// Reduces the oldest ended tasks to their outcomes: those that are too many or too old, up to one that is `wanted`.
    pub fn prune(&mut self, now_ms: u64, wanted: impl Fn(u64) -> bool) {
        let old_ms = self.limits.kept_ms_max.map_or(0, |ms| now_ms.saturating_sub(ms));
        let is_old = |task: &Task| task.ended_ms().is_some_and(|ended_ms| ended_ms < old_ms);
        while let Some(&number) = self.ended.front()
            && (self.limits.n_ended_max < self.ended.len()
                || self.tasks.get(number).is_some_and(is_old))
            && !wanted(number)
        {
            self.ended.pop_front();
            if self.with_output.front() == Some(&number) {
                self.with_output.pop_front();
            }
            let Some(task) = self.tasks.remove(number) else { continue };
            let n_bytes = task.n_output_bytes();
            self.n_output_bytes -= n_bytes;
            self.archive.drop_outputs(u64::from(0 < n_bytes), n_bytes as u64);
            if let Some(terms) = &task.work.terms
                && self
                    .tasks
                    .within(terms.first..=u64::MAX)
                    .next()
                    .is_none_or(|(next, _)| terms.last < next)
            {
                self.tasks.arrays_mut().forget(terms.first);
            }
            if let Some(outcome) = task.outcome() {
                let brief = OutcomeKind::of(outcome);
                self.archive.add(ArchivedRange { first: number, last: number, brief });
            }
        }
    }
}

/// Ranges of consecutive numbers among growing ones.
pub fn spans(numbers: impl Iterator<Item = u64>) -> Vec<(u64, u64)> {
    let mut spans = Vec::<(u64, u64)>::new();
    for number in numbers {
        match spans.last_mut() {
            Some((_, last)) if number.checked_sub(1) == Some(*last) => *last = number,
            _ => spans.push((number, number)),
        }
    }
    spans
}

#[cfg(test)]
mod tests;
