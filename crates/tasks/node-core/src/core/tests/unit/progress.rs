//! Tests of what is told about submissions, tasks over time, and the past of the node.

use task_api::SubmissionStatus;

use super::*;

fn submissions(rig: &mut Rig) -> Vec<SubmissionStatus> {
    let answers = rig.ask(ClientRequest::Submissions { home: None, after: None });
    let [DaemonAnswer::Submissions { submissions, next: None }] = &answers[..] else {
        unreachable!("{answers:?}")
    };
    submissions.clone()
}

fn active(rig: &mut Rig, filter: TaskFilter) -> Vec<u64> {
    let answers = rig.ask(ClientRequest::Tasks { filter, after: None, n_max: 99 });
    let [DaemonAnswer::Tasks { tasks, past: None, .. }] = &answers[..] else {
        unreachable!("{answers:?}")
    };
    tasks.iter().map(|task| task.task.number).collect()
}

#[test]
fn submissions_are_told_with_their_progress() {
    let mut rig = Rig::new();
    rig.submit(4);
    rig.pass(2_000);
    rig.end();
    rig.end_by(0, AttemptEnd::Exit(3));
    rig.submit(2);
    let said = submissions(&mut rig);
    let progress = said.iter().map(|it| {
        let counts = [it.n_waiting, it.n_running, it.n_succeeded, it.n_failed, it.n_canceled];
        (it.tasks.to_string(), it.title.as_str(), counts)
    });
    let expected = [
        ("n.1-4".to_owned(), "4 of them", [1, 1, 1, 1, 0]),
        ("n.5-6".to_owned(), "2 of them", [2, 0, 0, 0, 0]),
    ];
    assert_eq!(progress.collect::<Vec<_>>(), expected);
    assert_eq!((said[0].durations.n(), said[0].last_ended_ms), (2, Some(2_000)));
    rig.ask(ClientRequest::Cancel { tasks: "n.5-6".parse().unwrap() });
    assert_eq!(submissions(&mut rig)[1].n_canceled, 2);
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
