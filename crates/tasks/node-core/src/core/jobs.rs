//! Jobs of a node: tasks that were submitted together, or under one name, with what became of them.

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

use task_api::{DaemonAnswer, Demand, JobAccount, JobStatus, TaskOutcome, TaskRange, TaskState};

use super::node::Node;
use crate::book::Task;

/// Most jobs in one answer.
const N_JOBS_MAX: usize = 500;
/// Most tasks that are examined for one answer.
const N_LOOKED_AT_MAX: usize = 2_000_000;
/// Most ranges of a job.
const N_RANGES_MAX: usize = 1_000;
/// Longest time between single tasks of one title that count as one job, in ms.
const TOGETHER_WITHIN_MS: u64 = 60_000;

/// Jobs whose first task has a number greater than `after`.
pub(super) fn list(node: &Node, after: u64) -> DaemonAnswer {
    let mut jobs = Jobs::default();
    for (number, task) in node.book.tasks_from(0).take(N_LOOKED_AT_MAX) {
        let idx = jobs.of(node, number, task);
        if let Some(job) = jobs.all.get_mut(idx) {
            add(job, number, task);
        }
    }
    let mut jobs = jobs.all;
    jobs.retain(|job| after < job.tasks.first);
    let next = (N_JOBS_MAX < jobs.len()).then(|| jobs[N_JOBS_MAX - 1].tasks.first);
    jobs.truncate(N_JOBS_MAX);
    DaemonAnswer::Jobs { jobs, next }
}

/// Jobs by their first tasks, and where the next task belongs.
#[derive(Default)]
struct Jobs {
    all: Vec<JobStatus>,
    /// Positions of the jobs with a name.
    named: BTreeMap<String, usize>,
    /// Positions of the arrays, by the number of the first task.
    arrays: BTreeMap<u64, usize>,
    /// Positions of the last single tasks with a title, and when these were submitted.
    singles: HashMap<String, (usize, u64)>,
    /// Work of the last task, where all tasks of this work are of one job.
    last: Option<(usize, usize)>,
}

impl Jobs {
    /// Position of a task's job, which is added where it is new.
    fn of(&mut self, node: &Node, number: u64, task: &Task) -> usize {
        let work = Arc::as_ptr(&task.work).addr();
        let terms = task.work.terms.as_deref();
        // Tasks of an array lie side by side.
        if let Some((_, idx)) = self.last.filter(|(last, _)| terms.is_some() && *last == work) {
            return idx;
        }
        let n_before = self.all.len();
        let idx = match terms.map(|terms| (terms, terms.schedule.job.as_ref())) {
            Some((_, Some(job))) => *self.named.entry(job.clone()).or_insert(n_before),
            Some((terms, None)) if terms.first < terms.last => {
                *self.arrays.entry(terms.first).or_insert(n_before)
            }
            _ => self.of_single(task),
        };
        if idx == n_before {
            let job = terms.and_then(|terms| terms.schedule.job.clone());
            let name = job.unwrap_or_else(|| task.work.title().to_owned());
            let home = node.options.name.clone();
            let tasks = TaskRange { home, first: number, last: number };
            self.all.push(JobStatus::new(name, tasks, task.submitted_ms));
        }
        self.last = Some((work, idx));
        idx
    }

    /// Position for a task that was submitted alone: that of the one before with its title, if that is not long ago.
    fn of_single(&mut self, task: &Task) -> usize {
        let (n_before, title) = (self.all.len(), task.work.title());
        let Some((idx, last_ms)) = self.singles.get_mut(title) else {
            self.singles.insert(title.to_owned(), (n_before, task.submitted_ms));
            return n_before;
        };
        let after_ms = task.submitted_ms.checked_sub(*last_ms);
        if after_ms.is_none_or(|after_ms| TOGETHER_WITHIN_MS < after_ms) {
            *idx = n_before;
        }
        *last_ms = task.submitted_ms;
        *idx
    }
}

/// Adds a task to its job.
fn add(job: &mut JobStatus, number: u64, task: &Task) {
    job.n_tasks += 1;
    job.tasks.last = number;
    let n_ranges = job.ranges.len();
    match job.ranges.last_mut() {
        Some(range) if range.last + 1 == number => range.last = number,
        _ if N_RANGES_MAX <= n_ranges => {}
        _ => job.ranges.push(TaskRange { first: number, last: number, ..job.tasks.clone() }),
    }
    if let Some(terms) = task.work.terms.as_deref() {
        job.priority = terms.schedule.priority;
        if job.demand != terms.demand {
            job.demand = terms.demand.clone();
        }
    }
    let started_ms = task.started_ms();
    match (task.state, task.outcome()) {
        (_, Some(TaskOutcome::Canceled)) => job.n_canceled += 1,
        (_, Some(outcome)) if outcome.is_success() => job.n_succeeded += 1,
        (_, Some(_)) => job.n_failed += 1,
        (TaskState::Running, _) => job.n_running += 1,
        (TaskState::Leased, _) if started_ms.is_some() => job.n_running += 1,
        _ => job.n_queued += 1,
    }
    job.n_again += u64::from(task.instance.saturating_sub(1));
    job.started_ms = [job.started_ms, started_ms].into_iter().flatten().min();
    if let Some(ended_ms) = task.ended_ms() {
        account(job, task, (started_ms, ended_ms));
        job.ended_ms = job.ended_ms.max(Some(ended_ms));
    }
    // The end of the job is known when none of its tasks is left.
    if 0 < job.n_open() {
        job.ended_ms = None;
    }
}

fn account(job: &mut JobStatus, task: &Task, (started_ms, ended_ms): (Option<u64>, u64)) {
    let Some(started_ms) = started_ms else { return };
    let ran_ms = ended_ms.saturating_sub(started_ms);
    if matches!(task.outcome(), Some(TaskOutcome::Exit(_) | TaskOutcome::Signal(_))) {
        job.account.durations.add(ran_ms);
    }
    let n_cores_of = |demand: &Demand| demand.cpus_min().max(1).saturating_mul(demand.n_nodes());
    let n_cores = task.work.demand.as_deref().map_or(1, n_cores_of);
    let account: &mut JobAccount = &mut job.account;
    account.n_tasks += 1;
    account.used.add(task.usage().unwrap_or_default());
    account.ran_ms = account.ran_ms.saturating_add(ran_ms);
    account.longest_ms = account.longest_ms.max(ran_ms);
    account.core_ms = account.core_ms.saturating_add(ran_ms.saturating_mul(n_cores.into()));
    let waited_ms = started_ms.saturating_sub(task.submitted_ms);
    account.waited_ms = account.waited_ms.saturating_add(waited_ms);
}
