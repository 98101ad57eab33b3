//! Sample cluster of four nodes: one got too many tasks, one is silent.

use task_api::{
    Explanation, HistoryEvent, NodeCounters, NodeLoadState, NodeStatus, Presence, TaskEvent,
    TaskName, TaskOutcome, TaskState, TaskStatus,
};

/// 2026-01-02 03:04:05 UTC.
const NOW_MS: u64 = 1_767_323_045_000;

/// Returns the current time of the sample, in ms since 1970, and its nodes.
#[must_use]
pub fn nodes() -> (u64, Vec<NodeStatus>) {
    let counts = |n_moved_in, n_moved_out| NodeCounters {
        n_submitted: 4 * n_moved_out,
        n_ended: 25,
        n_moved_out,
        n_moved_in,
        n_messages: 12,
        n_accepted: 7,
        n_not_accepted: 2,
        ..NodeCounters::default()
    };
    let node = |name: &str, load, n_running, n_queued, counts| NodeStatus {
        node: name.to_owned(),
        address: format!("{name}:4714"),
        presence: Presence::Up,
        n_cores: 4,
        speed: 1.0,
        load: Some(load),
        index: Some(f64::from(n_running) / 4.0),
        policy: Some("subscription".to_owned()),
        n_running,
        n_queued,
        n_leased: 0,
        counts,
        uptime_ms: 725_000,
        ..NodeStatus::default()
    };
    let mut alpha = node("alpha", NodeLoadState::Sender, 4, 12_345, counts(0, 45));
    alpha.n_leased = 9;
    let (n_succeeded, n_failed, n_canceled, n_retried) = (51, 17, 2, 4);
    alpha.counts =
        NodeCounters { n_succeeded, n_failed, n_canceled, n_retried, n_lost: 1, ..alpha.counts };
    let beta = node("beta", NodeLoadState::Neutral, 4, 1, counts(25, 0));
    let gamma = node("gamma", NodeLoadState::Receiver, 2, 0, counts(20, 0));
    let mut delta = node("delta", NodeLoadState::Receiver, 0, 0, NodeCounters::default());
    delta.presence = Presence::Silent;
    (delta.load, delta.index, delta.policy, delta.speed) = (None, None, None, 0.5);
    (NOW_MS, vec![alpha, beta, delta, gamma])
}

/// Returns the current time of the sample, and tasks in every state.
#[must_use]
pub fn tasks() -> (u64, Vec<TaskStatus>) {
    let task = |number, state, node: Option<&str>| TaskStatus {
        task: TaskName { home: "alpha".to_owned(), number },
        title: "simulate".to_owned(),
        array_index: Some(number),
        state,
        node: node.map(str::to_owned),
        instance: 1,
        submitted_ms: NOW_MS - 95_000,
        started_ms: None,
        ended_ms: None,
        outcome: None,
        why: None,
        job: None,
        usage: None,
    };
    let ended = |number, node, outcome| TaskStatus {
        started_ms: Some(NOW_MS - 94_000),
        ended_ms: Some(NOW_MS - 92_500),
        outcome: Some(outcome),
        ..task(number, TaskState::Ended, Some(node))
    };
    let started = Some(NOW_MS - 12_000);
    let again = TaskStatus {
        instance: 2,
        started_ms: started,
        ..task(5, TaskState::Running, Some("alpha"))
    };
    let missing = "there is no `simulte` in `PATH`";
    let tasks = vec![
        ended(1, "alpha", TaskOutcome::Exit(0)),
        TaskStatus {
            why: Some("simulate: cannot open `input-2.txt`".to_owned()),
            ..ended(2, "beta", TaskOutcome::Exit(3))
        },
        TaskStatus {
            why: Some(missing.to_owned()),
            ..ended(3, "gamma", TaskOutcome::NotStarted(missing.to_owned()))
        },
        TaskStatus { started_ms: None, ..ended(4, "alpha", TaskOutcome::Canceled) },
        again,
        TaskStatus { started_ms: started, ..task(6, TaskState::Leased, Some("beta")) },
        task(7, TaskState::Offered, Some("gamma")),
        task(8, TaskState::Queued, Some("alpha")),
    ];
    (NOW_MS, tasks)
}

/// Returns the current time of the sample, and the explanation of a waiting task.
#[must_use]
pub fn explanation() -> (u64, Explanation) {
    let (now_ms, tasks) = tasks();
    let (_, nodes) = nodes();
    let step = |after_ms, what| HistoryEvent { at_ms: now_ms - 95_000 + after_ms, what };
    let busy = "its cores are taken".to_owned();
    let explanation = Explanation {
        status: tasks[7].clone(),
        steps: vec![
            step(0, TaskEvent::Submitted),
            step(12, TaskEvent::Offered { to: "beta".to_owned() }),
            step(15, TaskEvent::NotTaken { by: "beta".to_owned(), because: busy }),
        ],
        n_dropped_steps: 0,
        because: vec![
            "it waits for a core: 12344 tasks of `alpha` are before it".to_owned(),
            "no known node accepts tasks".to_owned(),
        ],
        home: nodes[0].clone(),
    };
    (now_ms, explanation)
}
