//! Changes by records: tasks are submitted, given away, taken back, started, ended.

use std::sync::Arc;

use task_api::{Outcome, TaskState};

use super::{Book, EndRecord, Lease, N_TASKS_MAX, NotedEvent, Reason, Task};
use crate::interface::Work;

impl Book {
    pub(super) fn submitted(
        &mut self,
        tasks: (u64, u64),
        at_ms: u64,
        work: &Arc<Work>,
        array_first: Option<u64>,
    ) {
        let (first, n_tasks) = tasks;
        // A damaged or repeated record must not bring back earlier tasks.
        if first < self.next || n_tasks == 0 || N_TASKS_MAX < n_tasks {
            return;
        }
        let last = first.saturating_add(n_tasks - 1);
        for number in first..=last {
            let array_index = array_first.map(|index| index.saturating_add(number - first));
            self.tasks.insert(number, Task::new(work.clone(), array_index, at_ms));
        }
        self.queue.push_back(first, last);
        self.next = last.saturating_add(1);
    }

    pub(super) fn start(&mut self, number: u64, instance: u32, at_ms: u64) {
        let Some(task) = self.tasks.get_mut(&number).filter(|task| !task.is_over()) else { return };
        let is_known = task.is_queued();
        if !(is_known || task.is_uncertain()) || instance < task.instance() {
            return;
        }
        if is_known {
            self.queue.left();
        }
        task.place(TaskState::Running, self.me, instance);
        task.note(at_ms, NotedEvent::Started(self.me));
        self.leases.remove(&number);
        self.resolve(number);
    }

    pub(super) fn given(&mut self, number: u64, lease: Lease, at_ms: u64) {
        let Some(task) = self.tasks.get_mut(&number).filter(|task| !task.is_over()) else { return };
        if self.leases.contains_key(&number) && !task.is_uncertain() {
            return;
        }
        if task.is_queued() {
            self.queue.left();
        }
        task.place(TaskState::Leased, lease.to, lease.instance);
        task.note(at_ms, NotedEvent::Offered(lease.to));
        self.leases.insert(number, lease);
        self.resolve(number);
    }

    pub(super) fn back(&mut self, number: u64, instance: u32, reason: &Reason, at_ms: u64) {
        let Some(task) = self.tasks.get_mut(&number).filter(|task| !task.is_over()) else { return };
        let is_known = !task.waits() && task.instance() == instance;
        if !(is_known || task.is_uncertain() && task.instance() <= instance) {
            return;
        }
        self.leases.remove(&number);
        task.note(at_ms, NotedEvent::Back(reason.clone()));
        task.place(TaskState::Queued, self.me, instance);
        let lost_too_often = reason.is_loss() && task.count_loss();
        if task.is_queued() {
            self.queue.push_front(number);
        }
        if lost_too_often || task.is_cancel_requested() {
            let outcome = if lost_too_often { Outcome::Lost } else { Outcome::Canceled };
            self.end(&EndRecord::without_run(number, instance, self.me, outcome, at_ms));
        }
    }

    pub(super) fn end(&mut self, end: &EndRecord) {
        let Some(task) = self.tasks.get_mut(&end.number).filter(|task| !task.is_over()) else {
            return;
        };
        if task.is_queued() {
            self.queue.left();
        }
        self.leases.remove(&end.number);
        task.end(end);
        let n_bytes = task.n_output_bytes();
        self.ended.push_back(end.number);
        self.resolve(end.number);
        if 0 < n_bytes {
            self.n_output_bytes += n_bytes;
            self.with_output.push_back(end.number);
            self.drop_outputs();
        }
    }

    pub(super) fn drop_outputs(&mut self) {
        while self.limits.output_bytes_max < self.n_output_bytes
            && let Some(number) = self.with_output.pop_front()
        {
            if let Some(task) = self.tasks.get_mut(&number) {
                let n_bytes = task.n_output_bytes();
                self.n_output_bytes -= n_bytes;
                self.archive.drop_outputs(1, n_bytes as u64);
                task.drop_output();
            }
        }
    }

    pub(super) fn canceled(&mut self, first: u64, last: u64, at_ms: u64) {
        if last < first {
            return;
        }
        // Where records are missing a task may seem to be elsewhere; the record was written when it waited.
        let open = self
            .tasks
            .range(first..=last)
            .filter(|(_, task)| task.waits() || task.is_uncertain() && !task.is_over());
        let over = open.map(|(number, task)| (*number, task.instance())).collect::<Vec<_>>();
        for (number, instance) in over {
            let me = self.me;
            self.end(&EndRecord::without_run(number, instance, me, Outcome::Canceled, at_ms));
        }
    }
}
