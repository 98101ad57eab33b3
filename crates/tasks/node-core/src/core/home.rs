//! Own tasks of a node, as far as they stay there: they are submitted, started, ended, canceled.

use task_api::{Outcome, Submission, TaskRange, TaskState};

use super::{At, Core, KeeperOrder, NodeId};
use crate::book::{EndRecord, JournalRecord, Reason, Task};
use crate::interface::{
    Attempt, AttemptEnd, Ended, InstanceId, Job, Killed, PeerMessage, Running, TaskKey,
};

use std::collections::BTreeMap;

/// Most shares in one message.
pub(super) const N_SHARES_MAX: usize = 20_000;

impl Core {
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

    /// Starts the own task whose turn it is, if there is one; with `n_at_once`, the keeper starts it when fewer
    /// than that run.
    pub(super) fn start_own(&mut self, n_at_once: Option<u32>, at: &mut At<'_>) -> bool {
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
        self.running.insert(attempt, None);
        at.out.keeper(KeeperOrder::Start(Box::new(job)));
        true
    }

    /// Notes that the keeper runs an own task for an earlier daemon.
    pub(super) fn own_runs(&mut self, run: Running, at: &mut At<'_>) {
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
            self.kill(run.attempt, Killed::Canceled, at);
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
    pub(super) fn own_unknown(&mut self, at: &mut At<'_>) {
        let known = |number, instance| self.running.contains_key(&self.attempt(number, instance));
        let lost = self.book.running().filter(|(number, instance)| !known(*number, *instance));
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
    pub(super) fn own_ended(&mut self, ended: Ended, at: &mut At<'_>) {
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
                self.short_tasks
                    .ended(task.work(), ended.ended_ms.saturating_sub(ended.started_ms));
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
                self.found_no_room(at);
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
    pub(super) fn own_lost(&mut self, attempt: Attempt, at: &mut At<'_>) {
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
                _ => self.kill(self.attempt(number, instance), Killed::Canceled, at),
            }
        }
        for (first, last) in spans {
            self.record(&JournalRecord::Canceled { first, last, at_ms: at.now.unix_ms }, at);
            (first..=last).for_each(|number| self.clients.waits.ended(number));
        }
        for (node, shares) in leased {
            for shares in shares.chunks(N_SHARES_MAX) {
                at.out.send(node, PeerMessage::Cancel { shares: shares.to_vec() });
            }
        }
        open.len() as u64
    }

    pub(super) fn back(&mut self, number: u64, instance: u32, reason: Reason, at: &mut At<'_>) {
        self.counts.n_lost += u64::from(reason.is_loss());
        self.record(&JournalRecord::Back { number, instance, reason, at_ms: at.now.unix_ms }, at);
    }

    pub(super) fn end_unrun(&mut self, number: u64, outcome: Outcome, at: &mut At<'_>) {
        let instance = self.book.task(number).map_or(0, Task::instance);
        let end = EndRecord::without_run(number, instance, self.me, outcome, at.now.unix_ms);
        self.record(&JournalRecord::Ended(end), at);
    }

    pub(super) fn attempt(&self, number: u64, instance: u32) -> Attempt {
        Attempt { task: TaskKey { home: self.me, number }, instance }
    }
}
