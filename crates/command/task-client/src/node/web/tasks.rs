//! Data of the pages about tasks: jobs, lists, tasks that were active lately, and single ones.

use super::error::SiteError;
use crate::requests::{now_ms, other};
use node_daemon::client_socket::{Client, ClientError};
use node_daemon::web::PageRequest;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};
use task_api::{
    ClientRequest, DaemonAnswer, EndedTask, Explanation, JobStatus, OutputNews, OutputPosition,
    StreamNews, TaskFilter, TaskName, TaskState, TaskStatus,
};

/// Most jobs that are shown: the newest ones.
const N_JOBS_MAX: usize = 200;
/// Most tasks of a page of the list.
const N_LISTED_MAX: u32 = 200;
/// Most tasks in each state of those that have not ended.
const N_OPEN_MAX: u32 = 100;
/// State in the address that stands for all tasks that have not ended.
const OPEN: &str = "open";
/// Most tasks that are shown over time: the newest ones.
const N_ACTIVE_MAX: usize = 2_000;
/// Most tasks that are asked for at once.
const N_AT_ONCE: u32 = 1_000;

/// Jobs of a node with their progress, oldest first.
pub(super) fn jobs(client: &mut Client, request: &PageRequest) -> Result<Value, SiteError> {
    let home = request.value("home");
    let (mut all, mut n_left_out, mut after) = (Vec::<JobStatus>::new(), 0, None);
    loop {
        let (page, next) = match client.ask(&ClientRequest::Jobs { home: home.clone(), after })? {
            DaemonAnswer::Jobs { jobs, next } => (jobs, next),
            answer => return Err(other(answer).into()),
        };
        all.extend(page);
        let n_excess = all.len().saturating_sub(N_JOBS_MAX);
        n_left_out += n_excess;
        all.drain(..n_excess);
        match next {
            Some(_) => after = next,
            None => break,
        }
    }
    let now_ms = now_ms();
    let jobs = all.iter().map(|job| as_json(job, now_ms)).collect::<Vec<_>>();
    Ok(json!({"at_ms": now_ms, "jobs": jobs, "n_left_out": n_left_out}))
}

fn as_json(job: &JobStatus, now_ms: u64) -> Value {
    let quantile = |share| job.account.durations.quantile_ms(share);
    json!({
        "name": job.name,
        "tasks": job.tasks,
        "ranges": job.ranges,
        "n_tasks": job.n_tasks,
        "n_queued": job.n_queued,
        "n_running": job.n_running,
        "n_succeeded": job.n_succeeded,
        "n_failed": job.n_failed,
        "n_canceled": job.n_canceled,
        "n_again": job.n_again,
        "submitted_ms": job.submitted_ms,
        "ended_ms": job.ended_ms,
        "left_ms": job.left_ms(now_ms),
        "durations_ms": [quantile(0.5), quantile(0.9)],
    })
}

/// A page of the tasks that a filter selects.
pub(super) fn tasks(client: &mut Client, request: &PageRequest) -> Result<Value, SiteError> {
    if request.value("state").as_deref() == Some(OPEN) {
        return open(client, request);
    }
    let after = request.value("after").and_then(|text| text.parse().ok());
    let is_backward = request.value("order").as_deref() == Some("newest");
    let (mut tasks, next) = page(client, &filter(request)?, (after, is_backward), N_LISTED_MAX)?;
    tasks.truncate(N_LISTED_MAX as usize);
    Ok(json!({"at_ms": now_ms(), "tasks": tasks, "next": next}))
}

/// Some of the tasks that have not ended: those that run first.
fn open(client: &mut Client, request: &PageRequest) -> Result<Value, SiteError> {
    let all = filter(request)?;
    let mut tasks = Vec::new();
    for state in [TaskState::Running, TaskState::Leased, TaskState::Queued] {
        let filter = TaskFilter { state: Some(state), ..all.clone() };
        tasks.extend(page(client, &filter, (None, false), N_OPEN_MAX)?.0);
    }
    Ok(json!({"at_ms": now_ms(), "tasks": tasks, "next": null}))
}

/// Tasks that were started, and ran after a moment; the newest ones.
pub(super) fn active(client: &mut Client, request: &PageRequest) -> Result<Value, SiteError> {
    let since_ms = request.value("since").and_then(|text| text.parse().ok()).unwrap_or(0);
    let filter = TaskFilter { active_since_ms: Some(since_ms), ..filter(request)? };
    let (mut all, mut n_left_out, mut after) = (Vec::new(), 0, None);
    loop {
        let (tasks, next) = page(client, &filter, (after, false), N_AT_ONCE)?;
        all.extend(tasks);
        if 2 * N_ACTIVE_MAX < all.len() || next.is_none() {
            n_left_out += keep_newest(&mut all);
        }
        match next {
            Some(_) => after = next,
            None => break,
        }
    }
    Ok(json!({"at_ms": now_ms(), "tasks": all, "n_left_out": n_left_out}))
}

/// Removes the tasks that were started first; returns how many.
fn keep_newest(tasks: &mut Vec<TaskStatus>) -> usize {
    tasks.sort_by_key(|task| std::cmp::Reverse(task.started_ms));
    let n_excess = tasks.len().saturating_sub(N_ACTIVE_MAX);
    tasks.truncate(N_ACTIVE_MAX);
    n_excess
}

fn page(
    client: &mut Client,
    filter: &TaskFilter,
    (after, is_backward): (Option<u64>, bool),
    n_max: u32,
) -> Result<(Vec<TaskStatus>, Option<u64>), ClientError> {
    let question = ClientRequest::Tasks { filter: filter.clone(), after, n_max, is_backward };
    match client.ask(&question)? {
        DaemonAnswer::Tasks { tasks, next, .. } => Ok((tasks, next)),
        answer => Err(other(answer)),
    }
}

/// Filter that the address describes.
fn filter(request: &PageRequest) -> Result<TaskFilter, SiteError> {
    let state = request.value("state").filter(|state| state != OPEN);
    let outcome = state.as_deref().and_then(word);
    let filter = TaskFilter {
        home: request.value("home"),
        state: state.as_deref().and_then(word),
        outcome,
        title: request.value("title"),
        node: request.value("node"),
        ..TaskFilter::default()
    };
    if state.is_some() && filter.state.is_none() && outcome.is_none() {
        return Err(SiteError::Value("there is no such state"));
    }
    let tasks = request.value("tasks").map(|text| text.parse()).transpose();
    let tasks =
        tasks.map_err(|_| SiteError::Value("`tasks` is `NODE.NUMBER` or `NODE.FIRST-LAST`"))?;
    Ok(TaskFilter { tasks, ..filter })
}

/// Value that is written as a word.
fn word<T: DeserializeOwned>(text: &str) -> Option<T> {
    serde_json::from_value(Value::String(text.to_owned())).ok()
}

/// A task: why it is where it is, what happened to it, and what it wrote.
pub(super) fn task(client: &mut Client, request: &PageRequest) -> Result<Value, SiteError> {
    let name = request.value("task").and_then(|text| text.parse::<TaskName>().ok());
    let name = name.ok_or(SiteError::Value("`task` is `NODE.NUMBER`"))?;
    let explained = match client.ask(&ClientRequest::Explain { task: name.clone() })? {
        DaemonAnswer::Explained { explanation } => explanation,
        answer => return Err(other(answer).into()),
    };
    let ended = match client.ask(&ClientRequest::Result { task: name })? {
        DaemonAnswer::Ended { tasks, .. } => tasks.into_iter().next(),
        answer => return Err(other(answer).into()),
    };
    let Explanation { status, steps, n_dropped_steps, because, .. } = *explained;
    let output = match &ended {
        Some(ended) => output(ended),
        None => written(client, &status).unwrap_or(Value::Null),
    };
    let words = |at: usize| steps.get(at).map(|step| step.what.to_string());
    let steps = (0..steps.len()).map(|at| json!({"at_ms": steps[at].at_ms, "what": words(at)}));
    Ok(json!({
        "at_ms": now_ms(),
        "status": status,
        "because": because,
        "steps": steps.collect::<Vec<_>>(),
        "n_dropped_steps": n_dropped_steps,
        "output": output,
    }))
}

/// What a running task has written so far, as far as its node has it.
fn written(client: &mut Client, status: &TaskStatus) -> Option<Value> {
    let node = status.node.clone().filter(|_| status.started_ms.is_some())?;
    let tasks = vec![OutputPosition { task: status.task.clone(), stdout: 0, stderr: 0 }];
    let answer = client.ask(&ClientRequest::Output { node, tasks });
    let Ok(DaemonAnswer::Output { tasks }) = answer else { return None };
    let OutputNews { stdout, stderr, .. } = tasks.into_iter().next()?;
    let text = |news: &StreamNews| String::from_utf8_lossy(&news.text.0).into_owned();
    Some(json!({"stdout": text(&stdout), "stderr": text(&stderr), "n_dropped_bytes": 0}))
}

/// Output of a task as text.
fn output(ended: &EndedTask) -> Value {
    let Some(output) = &ended.output else { return Value::Null };
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    json!({
        "stdout": text(&output.stdout.0),
        "stderr": text(&output.stderr.0),
        "n_dropped_bytes": output.n_dropped_bytes,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use task_api::OutcomeFilter;

    #[test]
    fn a_filter_is_read_from_the_address() {
        let of = |query: &str| filter(&PageRequest::new("/tasks.json", query));
        let found =
            of("state=running&title=my%20sweep&tasks=alpha.3-9&home=&node=beta").ok().unwrap();
        let expected = TaskFilter {
            state: Some(TaskState::Running),
            title: Some("my sweep".to_owned()),
            tasks: "alpha.3-9".parse().ok(),
            node: Some("beta".to_owned()),
            ..TaskFilter::default()
        };
        assert_eq!(found, expected);
        assert_eq!(of("state=failed").ok().unwrap().outcome, Some(OutcomeFilter::Failed));
        assert!(of("state=nonsense").is_err() && of("tasks=x").is_err());
        assert_eq!(of("").ok().unwrap(), TaskFilter::default());
    }

    #[test]
    fn of_many_active_tasks_the_newest_are_kept() {
        let task = |number: u64| TaskStatus {
            task: TaskName { home: "alpha".to_owned(), number },
            title: String::new(),
            array_index: None,
            state: TaskState::Running,
            node: None,
            instance: 1,
            submitted_ms: 0,
            started_ms: Some(number),
            ended_ms: None,
            outcome: None,
            why: None,
            job: None,
            usage: None,
        };
        let mut tasks = (0..2_500).map(task).collect::<Vec<_>>();
        assert_eq!(keep_newest(&mut tasks), 500);
        assert_eq!((tasks[0].started_ms, tasks.len()), (Some(2_499), N_ACTIVE_MAX));
    }
}
