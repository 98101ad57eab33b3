//! Changes by records: tasks are submitted, given away, taken back, started, ended.

use std::sync::Arc;

use task_api::{TaskOutcome, TaskState};

use super::{Book, EndRecord, Lease, NotedEvent, Reason, Task};
use crate::attempt::Work;

/// Most tasks of one submission: a record with more is damaged.
const N_TASKS_MAX: u64 = 10_000_000;

impl Book {
    pub(super) fn submitted(
        &mut self,
        (first, n_tasks): (u64, u64),
        at_ms: u64,
        work: Option<Arc<Work>>,
        array: Option<(u64, u64)>,
    ) {
        let last_index = |(first, step): (u64, u64)| first.checked_add(step.checked_mul(n_tasks)?);
        let can_be =
            first.checked_add(n_tasks).is_some() && array.is_none_or(|it| last_index(it).is_some());
        let Some(work) = work.filter(|_| can_be) else { return };
        // A damaged or repeated record must not bring back earlier tasks.
        if first < self.next || n_tasks == 0 || N_TASKS_MAX < n_tasks {
            return;
        }
        let last = first.saturating_add(n_tasks - 1);
        let task = |number: u64| {
            let array_index = array.map(|(index, step)| index + step * (number - first));
            Task::new(work.clone(), array_index, at_ms)
        };
        self.tasks.submit(first, (first..=last).map(task));
        self.tasks.arrays_mut().submitted(work.terms.as_deref());
        self.next = last.saturating_add(1);
    }

    pub(super) fn start(&mut self, number: u64, instance: u32, at_ms: u64) {
        let fits = |task: &Task| {
            let may_run = task.waits() || task.is_uncertain;
            may_run && task.instance <= instance && !task.has_failed(instance)
        };
        if !self.tasks.open(number).is_some_and(fits) {
            return;
        }
        let me = self.me;
        self.tasks.change(number, |task| {
            task.place(TaskState::Running, me, instance);
            task.note(at_ms, NotedEvent::Started(me));
        });
        self.leases.remove(&number);
        self.tasks.resolve(number);
    }

    pub(super) fn given(&mut self, number: u64, lease: Lease, at_ms: u64) {
        let has_lease = self.leases.contains_key(&number);
        if !self.tasks.open(number).is_some_and(|task| !has_lease || task.is_uncertain) {
            return;
        }
        self.tasks.change(number, |task| {
            task.place(TaskState::Leased, lease.to, lease.instance);
            task.note(at_ms, NotedEvent::Offered(lease.to));
        });
        self.leases.insert(number, lease);
        self.tasks.resolve(number);
    }

    pub(super) fn back(&mut self, number: u64, instance: u32, reason: &Reason, at_ms: u64) {
        let fits = |task: &Task| {
            let is_known = !task.waits() && task.instance == instance;
            is_known || task.is_uncertain && task.instance <= instance
        };
        if !self.tasks.open(number).is_some_and(fits) {
            return;
        }
        self.leases.remove(&number);
        let me = self.me;
        let outcome = self.tasks.change(number, |task| {
            task.note(at_ms, NotedEvent::Back(reason.clone()));
            task.place(TaskState::Queued, me, instance);
            let lost_too_often = reason.is_loss() && task.count_loss();
            let canceled = task.is_cancel_requested.then_some(TaskOutcome::Canceled);
            if lost_too_often { Some(TaskOutcome::Lost) } else { canceled }
        });
        if let Some(outcome) = outcome.flatten() {
            self.end(&EndRecord::without_run(number, instance, me, outcome, at_ms));
        }
    }

    pub(super) fn end(&mut self, end: &EndRecord) {
        let Some(task) = self.tasks.open(end.number) else { return };
        if end.outcome.is_failure() {
            let terms = task.work.terms.clone();
            self.tasks.arrays_mut().failed(terms.as_deref());
        }
        self.leases.remove(&end.number);
        let n_bytes = self.tasks.change(end.number, |task| {
            task.end(end);
            task.n_output_bytes()
        });
        self.ended.push_back(end.number);
        self.tasks.resolve(end.number);
        if let Some(n_bytes) = n_bytes.filter(|n_bytes| 0 < *n_bytes) {
            self.n_output_bytes += n_bytes;
            self.with_output.push_back(end.number);
            self.drop_outputs();
        }
    }

    fn drop_outputs(&mut self) {
        while self.limits.output_bytes_max < self.n_output_bytes
            && let Some(number) = self.with_output.pop_front()
        {
            if let Some(n_bytes) = self.tasks.change(number, Task::drop_output) {
                self.n_output_bytes -= n_bytes;
                self.archive.drop_outputs(1, n_bytes as u64);
            }
        }
    }

    pub(super) fn canceled(&mut self, first: u64, last: u64, at_ms: u64) {
        // Where records are missing a task may seem to be elsewhere; the record was written when it waited.
        let is_open = |task: &Task| task.waits() || task.is_uncertain && !task.is_over();
        let open = self.tasks_from(first).take_while(|(number, _)| *number <= last);
        let open = open.filter(|(_, task)| is_open(task));
        for (number, instance) in open.map(|(n, task)| (n, task.instance)).collect::<Vec<_>>() {
            let me = self.me;
            self.end(&EndRecord::without_run(number, instance, me, TaskOutcome::Canceled, at_ms));
        }
    }
}
