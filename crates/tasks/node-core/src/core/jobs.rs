//! Jobs of a node: tasks that were submitted together, or under one name, with what became of them.

use std::collections::BTreeMap;

use task_api::{DaemonAnswer, JobAccount, JobStatus, TaskOutcome, TaskRange, TaskState};

use super::node::Node;
use crate::book::Task;

/// Most jobs in one answer.
const N_JOBS_MAX: usize = 500;
/// Most tasks that are examined for one answer.
const N_LOOKED_AT_MAX: usize = 2_000_000;

/// Key of a job: its name, or the number of the first task of its submission.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord)]
enum JobKey {
    Named(String),
    Submission(u64),
}

fn key_of(number: u64, task: &Task) -> JobKey {
    let terms = task.work.terms.as_deref();
    match terms.and_then(|terms| terms.schedule.job.as_ref()) {
        Some(job) => JobKey::Named(job.clone()),
        None => JobKey::Submission(terms.map_or(number, |terms| terms.first)),
    }
}

/// Jobs whose first task has a number greater than `after`.
pub(super) fn list(node: &Node, after: u64) -> DaemonAnswer {
    let mut jobs = BTreeMap::<JobKey, JobStatus>::new();
    let mut last = None::<(u64, JobKey)>;
    for (number, task) in node.book.tasks_from(0).take(N_LOOKED_AT_MAX) {
        // Tasks of an array lie side by side.
        let submission = std::sync::Arc::as_ptr(&task.work).addr() as u64;
        let key = match last.take() {
            Some((known, key)) if known == submission && task.work.terms.is_some() => key,
            _ => key_of(number, task),
        };
        let job = jobs.entry(key.clone()).or_insert_with(|| new_job(node, number, task));
        add(job, number, task);
        last = Some((submission, key));
    }
    let mut jobs = jobs.into_values().filter(|job| after < job.tasks.first).collect::<Vec<_>>();
    jobs.sort_by_key(|job| job.tasks.first);
    let next = (N_JOBS_MAX < jobs.len()).then(|| jobs[N_JOBS_MAX - 1].tasks.first);
    jobs.truncate(N_JOBS_MAX);
    DaemonAnswer::Jobs { jobs, next }
}

fn new_job(node: &Node, number: u64, task: &Task) -> JobStatus {
    let terms = task.work.terms.as_deref();
    let job = terms.and_then(|terms| terms.schedule.job.clone());
    JobStatus {
        name: job.unwrap_or_else(|| task.work.title().to_owned()),
        tasks: TaskRange { home: node.options.name.clone(), first: number, last: number },
        n_tasks: 0,
        n_queued: 0,
        n_running: 0,
        n_succeeded: 0,
        n_failed: 0,
        n_canceled: 0,
        submitted_ms: task.submitted_ms,
        ended_ms: None,
        priority: 0,
        demand: task_api::Demand::default(),
        account: JobAccount::default(),
    }
}

/// Adds a task to its job.
fn add(job: &mut JobStatus, number: u64, task: &Task) {
    job.n_tasks += 1;
    job.tasks.last = number;
    if let Some(terms) = task.work.terms.as_deref() {
        job.priority = terms.schedule.priority;
        if job.demand != terms.demand {
            job.demand = terms.demand.clone();
        }
    }
    match (task.state, task.outcome()) {
        (_, Some(TaskOutcome::Canceled)) => job.n_canceled += 1,
        (_, Some(outcome)) if outcome.is_success() => job.n_succeeded += 1,
        (_, Some(_)) => job.n_failed += 1,
        (TaskState::Running, _) => job.n_running += 1,
        (TaskState::Leased, _) if task.started_ms().is_some() => job.n_running += 1,
        _ => job.n_queued += 1,
    }
    if let Some(ended_ms) = task.ended_ms() {
        account(&mut job.account, task, ended_ms);
        job.ended_ms = job.ended_ms.max(Some(ended_ms));
    }
    // The end of the job is known when none of its tasks is left.
    if 0 < job.n_queued + job.n_running {
        job.ended_ms = None;
    }
}

fn account(account: &mut JobAccount, task: &Task, ended_ms: u64) {
    let Some(started_ms) = task.started_ms() else { return };
    let ran_ms = ended_ms.saturating_sub(started_ms);
    let n_cores = task.work.demand.as_ref().map_or(1, |demand| demand.cpus_min().max(1));
    account.n_tasks += 1;
    account.used.add(task.usage().unwrap_or_default());
    account.ran_ms = account.ran_ms.saturating_add(ran_ms);
    account.longest_ms = account.longest_ms.max(ran_ms);
    account.core_ms = account.core_ms.saturating_add(ran_ms.saturating_mul(n_cores.into()));
    let waited_ms = started_ms.saturating_sub(task.submitted_ms);
    account.waited_ms = account.waited_ms.saturating_add(waited_ms);
}
