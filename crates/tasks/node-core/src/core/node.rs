//! This node as the home of its tasks: their book and journal, the keeper's processes, and the other nodes.
//!
//! Own tasks are submitted, started, ended and canceled here. [`super::lending`] gives them to other nodes, and
//! [`super::holding`] has those of other homes.

use std::collections::BTreeMap;

use balancing_policies::Policy;
use task_api::{Counts, Outcome, Submission, TaskRange, TaskState};

use super::at::At;
use super::peers::Peers;
use super::processes::Processes;
use super::short_tasks::ShortTaskDetector;
use crate::book::{Book, EndRecord, JournalRecord, Reason, Task};
use crate::interface::{
    Attempt, AttemptEnd, Ended, InstanceId, Job, Killed, Measurement, NodeId, Now, PeerMessage,
    Running, TaskKey, node_id,
};

/// Most shares in one message.
pub(super) const N_SHARES_MAX: usize = 20_000;

/// Options of a core.
#[derive(Clone, Debug)]
pub struct CoreOptions {
    /// Name of the node.
    pub name: String,
    /// Address at which other nodes reach it: `host:port`.
    pub address: String,
    /// Grows with each start of the daemon.
    pub incarnation: u64,
    /// Policy by which tasks move.
    pub policy: Policy,
    /// Seed of the rules' random numbers.
    pub seed: u64,
    /// Time for which a node may run a task after its home last answered, in ms.
    pub lease_ms: u64,
    /// Additional time before a home gives the task to another node, in ms.
    pub slack_ms: u64,
    /// Cores and speed of the node.
    pub measurement: Measurement,
}

/// Node with its tasks.
#[derive(Debug)]
pub(super) struct Node {
    pub(super) me: NodeId,
    pub(super) options: CoreOptions,
    pub(super) began: Now,
    /// Tasks of the node; [`Self::record`] changes it.
    pub(super) book: Book,
    pub(super) processes: Processes,
    pub(super) peers: Peers,
    pub(super) counts: Counts,
    /// Sentences about damage on the node, for users.
    pub(super) warnings: Vec<String>,
    short_tasks: ShortTaskDetector,
    /// Ranges of own tasks that have ended since they were last taken.
    ended: Vec<(u64, u64)>,
}

impl CoreOptions {
    /// Options of a node with this name, one core, and the usual times.
    #[must_use]
    pub fn new(name: &str) -> Self {
        Self {
            name: name.to_owned(),
            address: String::new(),
            incarnation: 1,
            policy: Policy::DEFAULT,
            seed: 1,
            lease_ms: 10_000,
            slack_ms: 5_000,
            measurement: Measurement { n_cores: 1, speed: 1.0 },
        }
    }

    /// Time in ms after the last renewal of a lease at which no other node can run the task any more.
    pub(super) fn lease_over_ms(&self) -> u64 {
        self.lease_ms + self.slack_ms
    }

    /// First of the numbers that no earlier daemon has used for its messages.
    pub(super) fn first_number(&self) -> u64 {
        self.incarnation.wrapping_shl(20)
    }
}

impl Node {
    pub(super) fn new(options: CoreOptions, began: Now, mut book: Book) -> Self {
        book.renew_all(began.moment);
        Self {
            me: node_id(&options.name),
            options,
            began,
            book,
            processes: Processes::default(),
            peers: Peers::default(),
            counts: Counts::default(),
            warnings: Vec::new(),
            short_tasks: ShortTaskDetector::default(),
            ended: Vec::new(),
        }
    }

    pub(super) fn name_of(&self, node: NodeId) -> String {
        if node == self.me { self.options.name.clone() } else { self.peers.name_of(node) }
    }

    pub(super) fn attempt(&self, number: u64, instance: u32) -> Attempt {
        Attempt { task: TaskKey { home: self.me, number }, instance }
    }

    /// Applies a record, and appends it to the journal.
    pub(super) fn record(&mut self, record: &JournalRecord, at: &mut At<'_>) {
        at.out.append(record);
        self.book.apply(record);
        match record {
            JournalRecord::Ended(end) => self.ended.push((end.number, end.number)),
            JournalRecord::Canceled { first, last, .. } => self.ended.push((*first, *last)),
            // A task that was lost too often, or is to be canceled, does not wait again.
            JournalRecord::Back { number, .. }
                if self.book.task(*number).is_some_and(Task::is_over) =>
            {
                self.ended.push((*number, *number));
            }
            _ => {}
        }
    }

    /// Ranges of own tasks that have ended since the last call.
    pub(super) fn take_ended(&mut self) -> Vec<(u64, u64)> {
        std::mem::take(&mut self.ended)
    }

    /// Accepts a checked submission; the tasks' names are on disk when the answer is sent.
    pub(super) fn submit(&mut self, submission: &Submission, at: &mut At<'_>) -> TaskRange {
        let first = self.book.next_number();
        for record in self.book.records_of(submission, at.now.unix_ms) {
            self.record(&record, at);
        }
        let last = self.book.next_number() - 1;
        self.counts.n_submitted += submission.n_tasks();
        TaskRange { home: self.options.name.clone(), first, last }
    }

    /// Number of attempts that may be ordered where `n_slots` may run: more if the next task is expected to be short.
    pub(super) fn n_orders(&mut self, n_slots: usize) -> usize {
        let next = self.book.next_queued().and_then(|number| self.book.task(number));
        self.short_tasks.n_orders(next.map(Task::work), n_slots)
    }

    /// Starts the own task whose turn it is, if there is one; with `n_at_once`, the keeper starts it when fewer
    /// than that run.
    pub(super) fn start(&mut self, n_at_once: Option<u32>, at: &mut At<'_>) -> bool {
        let Some(number) = self.book.next_queued() else { return false };
        let Some(task) = self.book.task(number) else { return false };
        if task.is_cancel_requested() {
            // It ran before the daemon restarted, and runs no more.
            self.end_unrun(number, Outcome::Canceled, at);
            return true;
        }
        let attempt = self.attempt(number, task.instance() + 1);
        let job = Job {
            attempt,
            name: format!("{}.{number}", self.options.name),
            work: task.work().clone(),
            array_index: task.array_index(),
            lease_until: None,
            n_at_once,
        };
        self.started(attempt, at.now.unix_ms, at);
        self.processes.start(job, at);
        true
    }

    /// Notes that the keeper runs an own task for an earlier daemon.
    pub(super) fn runs(&mut self, run: Running, at: &mut At<'_>) {
        let Attempt { task: TaskKey { number, .. }, instance } = run.attempt;
        self.used_up(number, at);
        let is_behind = |task: &Task| {
            let runs = task.state() == TaskState::Running && task.instance() == instance;
            task.waits() || task.is_uncertain() && task.instance() <= instance && !runs
        };
        if self.book.task(number).is_some_and(is_behind) {
            // The record of its start was not on disk yet, or is lost.
            self.started(run.attempt, run.started_ms, at);
        }
        let wanted = |task: &Task| {
            let runs = task.state() == TaskState::Running && task.instance() == instance;
            runs && !task.is_cancel_requested()
        };
        if !self.book.task(number).is_some_and(wanted) {
            self.processes.kill(run.attempt, Killed::Canceled, at);
        } else if self.book.task(number).is_some_and(Task::is_uncertain) {
            self.record(&JournalRecord::Settled { first: number, last: number }, at);
        }
    }

    /// Marks a number that the keeper knows as used, whatever the journal has lost.
    fn used_up(&mut self, number: u64, at: &mut At<'_>) {
        if self.book.next_number() <= number {
            self.record(&JournalRecord::Next { number: number.saturating_add(1) }, at);
        }
    }

    /// Takes back own tasks that were started and that the keeper does not know: they are lost, and that start
    /// counts.
    pub(super) fn take_back_unknown(&mut self, at: &mut At<'_>) {
        let known = |number, instance| self.processes.run(self.attempt(number, instance));
        let lost = self.book.tasks().running();
        let lost = lost.filter(|(number, instance)| !known(*number, *instance));
        for (number, instance) in lost.collect::<Vec<_>>() {
            self.back(number, instance, Reason::NodeLost, at);
        }
    }

    /// Records a start without waiting for the disk: otherwise short tasks would take as long as a write.
    fn started(&mut self, attempt: Attempt, at_ms: u64, at: &mut At<'_>) {
        let Attempt { task: TaskKey { number, .. }, instance } = attempt;
        self.record(&JournalRecord::Started { number, instance, at_ms }, at);
    }

    /// Handles the end of an attempt at an own task.
    pub(super) fn attempt_ended(&mut self, ended: Ended, at: &mut At<'_>) {
        let Attempt { task: TaskKey { number, .. }, instance } = ended.attempt;
        self.used_up(number, at);
        let Some(task) = self.book.task(number) else { return };
        let runs = task.state() == TaskState::Running && task.instance() == instance;
        // A task that ended while no daemon ran is queued in the book of the next one.
        let waits = (task.waits() || task.is_uncertain()) && task.instance() <= instance;
        if !runs && !waits {
            return;
        }
        match ended.end.outcome() {
            Some(outcome) => {
                let ms = ended.ended_ms.saturating_sub(ended.started_ms);
                self.short_tasks.ended(task.work(), ms);
                let end = EndRecord {
                    number,
                    instance,
                    node: self.me,
                    outcome,
                    started_ms: Some(ended.started_ms),
                    ended_ms: ended.ended_ms,
                    output: ended.output,
                };
                self.record(&JournalRecord::Ended(end), at);
            }
            None => {
                let reason = self.why_back(ended.end, at);
                self.back(number, instance, reason, at);
            }
        }
    }

    fn why_back(&mut self, end: AttemptEnd, at: &At<'_>) -> Reason {
        match end {
            AttemptEnd::NoRoom(because) => {
                self.processes.found_no_room(at.now.moment);
                Reason::NoRoom(because.into())
            }
            AttemptEnd::NoTurn => {
                self.short_tasks.waited();
                Reason::NoTurn
            }
            _ => Reason::Leaving,
        }
    }

    /// Takes back an own task whose attempt was lost with the keeper.
    pub(super) fn attempt_lost(&mut self, attempt: Attempt, at: &mut At<'_>) {
        let number = attempt.task.number;
        let runs = |task: &Task| task.state() == TaskState::Running;
        if self.book.task(number).is_some_and(runs) {
            self.back(number, attempt.instance, Reason::KeeperLost, at);
        }
    }

    /// Cancels own tasks; returns how many had not ended.
    pub(super) fn cancel(&mut self, range: &TaskRange, at: &mut At<'_>) -> u64 {
        let open =
            self.book.tasks_from(range.first).take_while(|(number, _)| *number <= range.last);
        let open = open.filter(|(_, task)| !task.is_over());
        let open = open.map(|(number, task)| (number, task.state(), task.instance(), task.node()));
        let open = open.collect::<Vec<_>>();
        let mut spans = Vec::<(u64, u64)>::new();
        let mut leased = BTreeMap::<NodeId, Vec<InstanceId>>::new();
        for &(number, state, instance, node) in &open {
            if state == TaskState::Queued {
                match spans.last_mut() {
                    Some((_, last)) if *last + 1 == number => *last = number,
                    _ => spans.push((number, number)),
                }
                continue;
            }
            self.record(&JournalRecord::CancelWished { number, at_ms: at.now.unix_ms }, at);
            match node {
                Some(node) if node != self.me => {
                    leased.entry(node).or_default().push(InstanceId { number, instance });
                }
                _ => {
                    let attempt = self.attempt(number, instance);
                    self.processes.kill(attempt, Killed::Canceled, at);
                }
            }
        }
        for (first, last) in spans {
            self.record(&JournalRecord::Canceled { first, last, at_ms: at.now.unix_ms }, at);
        }
        for (node, shares) in leased {
            for shares in shares.chunks(N_SHARES_MAX) {
                at.out.send(node, PeerMessage::Cancel { shares: shares.to_vec() });
            }
        }
        open.len() as u64
    }

    /// Puts a task back into the queue.
    pub(super) fn back(&mut self, number: u64, instance: u32, reason: Reason, at: &mut At<'_>) {
        self.counts.n_lost += u64::from(reason.is_loss());
        self.record(&JournalRecord::Back { number, instance, reason, at_ms: at.now.unix_ms }, at);
    }

    /// Ends a task that does not run.
    pub(super) fn end_unrun(&mut self, number: u64, outcome: Outcome, at: &mut At<'_>) {
        let instance = self.book.task(number).map_or(0, Task::instance);
        let end = EndRecord::without_run(number, instance, self.me, outcome, at.now.unix_ms);
        self.record(&JournalRecord::Ended(end), at);
    }
}

/// Number as messages and rules have it.
pub(super) fn count(n: usize) -> u32 {
    u32::try_from(n).unwrap_or(u32::MAX)
}
