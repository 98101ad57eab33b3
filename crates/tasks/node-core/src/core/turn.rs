//! Handling of one event by this node, the home of its tasks.
//!
//! Own tasks are submitted, started, ended and canceled here. [`super::lending`] gives them to other nodes, and
//! [`super::holding`] has those of other homes.

use std::collections::BTreeMap;

use task_api::{DaemonAnswer, Submission, TaskOutcome, TaskRange, TaskState};

use super::node::{N_SHARES_MAX, Node};
use crate::book::{EndRecord, JournalRecord, Reason, RerunTasks, Task};
use crate::interface::{
    Allocation, Attempt, AttemptEnd, ClientId, EndedAttempt, InstanceId, Job, Killed, NodeId, Now,
    Out, PeerMessage, RunningAttempt, TaskKey,
};

/// Sender of a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Asker {
    /// A client of this node.
    Client(ClientId),
    /// Client of another node, with that node's number for the question.
    Peer(NodeId, u64),
}

/// One event: this node, the time, and the receiver of the core's output.
pub(super) struct Turn<'a> {
    pub(super) node: &'a mut Node,
    pub(super) now: Now,
    pub(super) out: &'a mut dyn Out,
}

impl Turn<'_> {
    pub(super) fn answer(&mut self, asker: Asker, answer: DaemonAnswer) {
        match asker {
            Asker::Client(client) => self.out.answer(client, answer),
            Asker::Peer(node, ask) => self.out.send(node, PeerMessage::Answer { ask, answer }),
        }
    }

    pub(super) fn refuse(&mut self, asker: Asker, sentence: String) {
        self.answer(asker, DaemonAnswer::Refused { sentence });
    }

    /// Applies a record, and appends it to the journal.
    pub(super) fn record(&mut self, record: &JournalRecord) {
        let is_open = |number: u64| self.node.book.task(number).is_some_and(|it| !it.is_over());
        let is_news = match record {
            JournalRecord::Ended(end) | JournalRecord::EndedWith(end, _) => is_open(end.number),
            JournalRecord::Back { number, .. } => is_open(*number),
            // Records of arrays are written twice.
            JournalRecord::SubmittedWith { first, .. } => self.node.book.next_number() <= *first,
            _ => true,
        };
        self.out.append(record);
        self.node.book.apply(record);
        match record {
            _ if !is_news => {}
            JournalRecord::Ended(end) | JournalRecord::EndedWith(end, _) => {
                self.ended((end.number, end.number), &end.outcome);
            }
            JournalRecord::Canceled { first, last, .. } => {
                self.ended((*first, *last), &TaskOutcome::Canceled);
            }
            // A task that was lost too often, or is to be canceled, does not wait again.
            JournalRecord::Back { number, .. } => {
                let outcome = self.node.book.task(*number).and_then(Task::outcome).cloned();
                if let Some(outcome) = outcome {
                    self.ended((*number, *number), &outcome);
                }
            }
            JournalRecord::Retried { .. } => self.node.counts.n_retried += 1,
            JournalRecord::Started { number, .. } => self.node.gates.started(*number),
            JournalRecord::SubmittedWith { first, n_tasks, terms, .. }
                if !terms.schedule.after.is_empty() =>
            {
                self.block(*first, *n_tasks);
            }
            _ => {}
        }
    }

    fn ended(&mut self, (first, last): (u64, u64), outcome: &TaskOutcome) {
        self.node.ended.push((first, last));
        let Node { gates, book, .. } = &mut *self.node;
        gates.ended(book, (first, last), outcome);
        self.node.count_outcome(outcome, last - first + 1);
    }

    /// Accepts a checked submission; the tasks' names are on disk when the answer is sent.
    pub(super) fn submit(&mut self, submission: &Submission) -> TaskRange {
        let records = self.node.book.records_of(submission, self.now.unix_ms);
        self.submit_records(&records)
    }

    /// Submits ended tasks again.
    pub(super) fn submit_again(&mut self, tasks: &RerunTasks) -> TaskRange {
        let records = tasks.records(&self.node.book, self.now.unix_ms);
        self.submit_records(&records)
    }

    fn submit_records(&mut self, records: &[JournalRecord]) -> TaskRange {
        let first = self.node.book.next_number();
        records.iter().for_each(|record| self.record(record));
        let last = self.node.book.next_number() - 1;
        self.node.counts.n_submitted += last - first + 1;
        TaskRange { home: self.node.options.name.clone(), first, last }
    }

    /// Number of attempts that may be ordered where `n_slots` may run: more if the next task is expected to be short.
    pub(super) fn n_orders(&mut self, n_slots: usize) -> usize {
        let next = self.node.book.next_queued(|demand| demand.is_none());
        let next = next.and_then(|number| self.node.book.task(number));
        self.node.short_tasks.n_orders(next.map(|task| &task.work), n_slots)
    }

    /// Starts a waiting own task; returns whether it did, or the task has ended instead.
    pub(super) fn start(&mut self, number: u64, n_slots: u32) -> bool {
        let Some(task) = self.node.book.task(number) else { return false };
        if task.is_cancel_requested {
            // It ran before the daemon restarted, and runs no more.
            self.end_unrun(number, TaskOutcome::Canceled);
            return true;
        }
        let demand = task.work.demand.as_deref();
        let Some(allocation) = self.node.processes.pool.allocate(demand, n_slots) else {
            return false;
        };
        self.order(number, allocation, None)
    }

    /// Orders the own task whose turn it is, of those that need a core, any one: the keeper starts it when fewer than
    /// `n_at_once` run. Returns whether there was one.
    pub(super) fn start_ahead(&mut self, n_at_once: u32) -> bool {
        let next = self.node.book.next_queued(|demand| demand.is_none());
        next.is_some_and(|number| {
            let allocation = self.node.processes.pool.give(Allocation::default());
            self.order(number, allocation, Some(n_at_once))
        })
    }

    /// Orders the start of an own task with what it was given.
    pub(super) fn order(
        &mut self,
        number: u64,
        allocation: Allocation,
        n_at_once: Option<u32>,
    ) -> bool {
        let Some(task) = self.node.book.task(number) else { return false };
        let attempt = self.node.attempt(number, task.instance + 1);
        let lease_ms = self.node.options.lease_ms;
        let job = Job {
            attempt,
            name: format!("{}.{number}", self.node.options.name),
            work: task.work.clone(),
            input: task.input(number),
            // What has room on other nodes ends when this daemon does not keep it any more.
            lease_until: allocation.span.is_some().then(|| self.now.moment.plus_ms(lease_ms)),
            allocation,
            n_at_once,
        };
        self.started(attempt, self.now.unix_ms);
        let lasts_ms = self.node.book.tasks().lasts_ms(&job.work);
        self.node.processes.start(job, lasts_ms, self.now.moment, self.out);
        true
    }

    /// Notes that the keeper runs an own task for an earlier daemon.
    pub(super) fn runs(&mut self, run: RunningAttempt) {
        let Attempt { task: TaskKey { number, .. }, instance } = run.attempt;
        self.used_up(number);
        let is_behind = |task: &Task| {
            let runs = task.state == TaskState::Running && task.instance == instance;
            task.waits() || task.is_uncertain && task.instance <= instance && !runs
        };
        if self.node.book.task(number).is_some_and(is_behind) {
            // The record of its start was not on disk yet, or is lost.
            self.started(run.attempt, run.started_ms);
        }
        let wanted = |task: &Task| {
            let runs = task.state == TaskState::Running && task.instance == instance;
            runs && !task.is_cancel_requested
        };
        if !self.node.book.task(number).is_some_and(wanted) {
            self.node.processes.kill(run.attempt, Killed::Canceled, self.out);
        } else if self.node.book.task(number).is_some_and(|task| task.is_uncertain) {
            self.record(&JournalRecord::Settled { first: number, last: number });
        }
    }

    /// Marks a number that the keeper knows as used, whatever the journal has lost.
    fn used_up(&mut self, number: u64) {
        if self.node.book.next_number() <= number {
            self.record(&JournalRecord::Next(number.saturating_add(1)));
        }
    }

    /// Takes back own tasks that were started and that the keeper does not know: they are lost, and that start
    /// counts.
    pub(super) fn take_back_unknown(&mut self) {
        let known = |number, instance| self.node.processes.run(self.node.attempt(number, instance));
        let lost = self.node.book.tasks().running();
        let lost = lost.filter(|(number, instance)| !known(*number, *instance));
        for (number, instance) in lost.collect::<Vec<_>>() {
            self.back(number, instance, Reason::NodeLost);
        }
    }

    /// Records a start without waiting for the disk: otherwise short tasks would take as long as a write.
    fn started(&mut self, attempt: Attempt, at_ms: u64) {
        let Attempt { task: TaskKey { number, .. }, instance } = attempt;
        self.record(&JournalRecord::Started { number, instance, at_ms });
    }

    /// Handles the end of an attempt at an own task.
    pub(super) fn attempt_ended(&mut self, ended: EndedAttempt) {
        let Attempt { task: TaskKey { number, .. }, instance } = ended.attempt;
        self.used_up(number);
        let Some(task) = self.node.book.task(number) else { return };
        let runs = task.state == TaskState::Running && task.instance == instance;
        // A task that ended while no daemon ran is queued in the book of the next one.
        let waits = (task.waits() || task.is_uncertain) && task.instance <= instance;
        if !runs && !waits || task.has_failed(instance) {
            return;
        }
        match ended.end.outcome() {
            Some(outcome) => {
                let ms = ended.ended_ms.saturating_sub(ended.started_ms);
                self.node.short_tasks.ended(&task.work, ms);
                let end = EndRecord {
                    number,
                    instance,
                    node: self.node.me,
                    outcome,
                    started_ms: Some(ended.started_ms),
                    ended_ms: ended.ended_ms,
                    output: ended.output,
                    usage: ended.usage,
                };
                self.attempt_over(end);
            }
            None => {
                let reason = self.why_back(ended.end);
                self.back(number, instance, reason);
            }
        }
    }

    fn why_back(&mut self, end: AttemptEnd) -> Reason {
        match end {
            AttemptEnd::NoRoom(because) => {
                self.node.processes.found_no_room(self.now.moment);
                Reason::NoRoom(because.into())
            }
            AttemptEnd::Killed(Killed::LeaseOut) => Reason::RoomLost,
            AttemptEnd::NoTurn => {
                self.node.short_tasks.waited();
                Reason::NoTurn
            }
            _ => Reason::Leaving,
        }
    }

    /// Takes back an own task whose attempt was lost with the keeper.
    pub(super) fn attempt_lost(&mut self, attempt: Attempt) {
        let number = attempt.task.number;
        let runs = |task: &Task| task.state == TaskState::Running;
        if self.node.book.task(number).is_some_and(runs) {
            self.back(number, attempt.instance, Reason::KeeperLost);
        }
    }

    /// Cancels own tasks; returns how many had not ended.
    pub(super) fn cancel(&mut self, range: &TaskRange) -> u64 {
        let open =
            self.node.book.tasks_from(range.first).take_while(|(number, _)| *number <= range.last);
        let open = open.filter(|(_, task)| !task.is_over());
        let open = open.map(|(number, task)| (number, task.state, task.instance, task.node()));
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
            self.record(&JournalRecord::CancelWished { number, at_ms: self.now.unix_ms });
            match node {
                Some(node) if node != self.node.me => {
                    leased.entry(node).or_default().push(InstanceId { number, instance });
                }
                _ => {
                    let attempt = self.node.attempt(number, instance);
                    self.node.processes.kill(attempt, Killed::Canceled, self.out);
                }
            }
        }
        for (first, last) in spans {
            self.record(&JournalRecord::Canceled { first, last, at_ms: self.now.unix_ms });
        }
        for (node, shares) in leased {
            for shares in shares.chunks(N_SHARES_MAX) {
                self.out.send(node, PeerMessage::Cancel(shares.to_vec()));
            }
        }
        open.len() as u64
    }

    /// Puts a task back into the queue.
    pub(super) fn back(&mut self, number: u64, instance: u32, reason: Reason) {
        self.node.counts.n_lost += u64::from(reason.is_loss());
        self.record(&JournalRecord::Back { number, instance, reason, at_ms: self.now.unix_ms });
    }

    /// Ends a task that does not run.
    pub(super) fn end_unrun(&mut self, number: u64, outcome: TaskOutcome) {
        let instance = self.node.book.task(number).map_or(0, |task| task.instance);
        let end = EndRecord::without_run(number, instance, self.node.me, outcome, self.now.unix_ms);
        self.record(&JournalRecord::of_end(end));
    }
}
