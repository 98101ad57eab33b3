//! Tests of what is told about submissions, tasks over time, and the past of the node.

use task_api::{JobStatus, OutcomeFilter, Schedule};

use super::*;

fn jobs(rig: &mut Rig) -> Vec<JobStatus> {
    let answers = rig.ask(ClientRequest::Jobs { home: None, after: None });
    let [DaemonAnswer::Jobs { jobs, next: None }] = &answers[..] else {
        unreachable!("{answers:?}")
    };
    jobs.clone()
}

fn active(rig: &mut Rig, filter: TaskFilter) -> Vec<u64> {
    let answers =
        rig.ask(ClientRequest::Tasks { filter, after: None, n_max: 99, is_backward: false });
    let [DaemonAnswer::Tasks { tasks, past: None, .. }] = &answers[..] else {
        unreachable!("{answers:?}")
    };
    tasks.iter().map(|task| task.task.number).collect()
}

#[test]
fn jobs_are_told_with_their_progress() {
    let mut rig = Rig::new();
    rig.submit(4);
    rig.pass(2_000);
    rig.end();
    rig.end_by(0, AttemptEnd::Exit(3));
    rig.submit(2);
    let said = jobs(&mut rig);
    let progress = said.iter().map(|it| {
        let counts = [it.n_queued, it.n_running, it.n_succeeded, it.n_failed, it.n_canceled];
        (it.tasks.to_string(), it.name.as_str(), counts)
    });
    let expected = [
        ("n.1-4".to_owned(), "4 of them", [1, 1, 1, 1, 0]),
        ("n.5-6".to_owned(), "2 of them", [2, 0, 0, 0, 0]),
    ];
    assert_eq!(progress.collect::<Vec<_>>(), expected);
    assert_eq!((said[0].account.durations.n(), said[0].ended_ms), (2, None));
    rig.ask(ClientRequest::Cancel { tasks: "n.5-6".parse().unwrap() });
    assert_eq!(jobs(&mut rig)[1].n_canceled, 2);
}

#[test]
fn single_tasks_of_a_loop_are_one_job() {
    let mut rig = Rig::new();
    let single = |rig: &mut Rig, title: &str, job: Option<&str>, ms| {
        let command = vec!["true".to_owned()];
        let schedule = Schedule { job: job.map(str::to_owned), ..Schedule::default() };
        let name = Some(title.to_owned());
        let folder = "/".to_owned();
        let submission = Submission { command, folder, name, schedule, ..Submission::default() };
        rig.ask(ClientRequest::Submit { submission: Box::new(submission) });
        rig.pass(ms);
    };
    for (title, job, ms) in [
        ("solve", None, 59_000),
        ("plot", None, 0),
        ("solve", None, 0),
        ("solve", Some("nightly"), 61_000),
        ("solve", None, 0),
        ("plot", Some("nightly"), 0),
    ] {
        single(&mut rig, title, job, ms);
    }
    let said = jobs(&mut rig);
    let ranges = |job: &JobStatus| {
        let ranges = job.ranges.iter().map(ToString::to_string).collect::<Vec<_>>();
        format!("{} {}", job.name, ranges.join(" "))
    };
    let found = said.iter().map(ranges).collect::<Vec<_>>();
    assert_eq!(found, ["solve n.1 n.3", "plot n.2", "nightly n.4 n.6", "solve n.5"]);
    let of_job = TaskFilter { job: Some("nightly".to_owned()), ..TaskFilter::default() };
    assert!(active(&mut rig, of_job) == [4, 6]);
}

#[test]
fn the_last_tasks_are_listed_first_where_that_is_asked_for() {
    let mut rig = Rig::new();
    rig.submit(5);
    rig.end();
    rig.end_by(0, AttemptEnd::Exit(3));
    let mut page = |filter: TaskFilter, after| {
        let answers = rig.ask(ClientRequest::Tasks { filter, after, n_max: 2, is_backward: true });
        let [DaemonAnswer::Tasks { tasks, next, .. }] = &answers[..] else {
            unreachable!("{answers:?}")
        };
        (tasks.iter().map(|task| task.task.number).collect::<Vec<_>>(), *next)
    };
    let all = TaskFilter::default();
    assert_eq!(page(all.clone(), None), (vec![5, 4], Some(4)));
    assert_eq!(page(all.clone(), Some(4)), (vec![3, 2], Some(2)));
    assert_eq!(page(all.clone(), Some(2)), (vec![1], None));
    let part = TaskFilter { tasks: Some("n.2-4".parse().unwrap()), ..all.clone() };
    assert_eq!(page(part.clone(), None), (vec![4, 3], Some(3)));
    assert_eq!(page(part, Some(3)), (vec![2], None));
    let failed = TaskFilter { outcome: Some(OutcomeFilter::Failed), ..all.clone() };
    assert_eq!(page(failed, None), (vec![2], None));
    let running = TaskFilter { state: Some(TaskState::Running), ..all };
    assert_eq!(page(running, None), (vec![3], None));
}

#[test]
fn tasks_are_selected_by_node_and_by_when_they_ran() {
    let mut rig = Rig::new();
    rig.submit(4);
    rig.end();
    rig.pass(5_000);
    rig.end();
    let since = |ms| TaskFilter { active_since_ms: Some(ms), ..TaskFilter::default() };
    assert_eq!(active(&mut rig, since(0)), [1, 2, 3]);
    assert_eq!(active(&mut rig, since(5_000)), [2, 3]);
    assert_eq!(active(&mut rig, since(5_001)), [3]);
    let on = |node: &str| TaskFilter { node: Some(node.to_owned()), ..TaskFilter::default() };
    assert_eq!(active(&mut rig, on("n")), [1, 2, 3]);
    assert!(active(&mut rig, on("other")).is_empty());
}

#[test]
fn a_node_keeps_its_past() {
    let mut rig = Rig::new();
    rig.submit(9);
    (0..12).for_each(|_| rig.pass(250));
    rig.end();
    rig.pass(1_000);
    let answers = rig.ask(ClientRequest::History { home: None });
    let [DaemonAnswer::History { node, samples }] = &answers[..] else {
        unreachable!("{answers:?}")
    };
    let told = samples.iter().map(|it| (it.at_ms, it.n_running, it.n_queued, it.n_succeeded));
    let expected = [(250, 1, 8, 0), (1_250, 1, 8, 0), (2_250, 1, 8, 0), (4_000, 1, 7, 1)];
    assert_eq!((node.as_str(), told.collect::<Vec<_>>()), ("n", expected.to_vec()));
}
