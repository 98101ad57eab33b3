//! Tests of tasks that ask for more than a core, and of those that wait for others.

use task_api::{Demand, Dependency, DependencyKind, Resources, Schedule};

use super::*;
use crate::interface::{Measurement, NodeCapacity};

/// A node with four cores, 100 bytes and a GPU.
fn rig() -> Rig {
    let amounts = Resources { cpus: 4, memory_bytes: 100, gpus: 1, ..Resources::nothing() };
    let capacity = NodeCapacity { cores: vec![vec![0, 1, 2, 3]], amounts };
    let measurement = Measurement { n_cores: 4, speed: 1.0 };
    Rig::with(CoreOptions { capacity, measurement, ..CoreOptions::new("n") })
}

fn cpus(cpus: u32) -> Demand {
    let one = Resources { cpus, ..Resources::default() };
    Demand { variants: vec![one], ..Demand::default() }
}

fn after(tasks: &str, when: DependencyKind) -> Schedule {
    let tasks = tasks.parse().unwrap();
    let after = vec![Dependency { tasks, when, is_each: false }];
    Schedule { after, ..Schedule::default() }
}

impl Rig {
    fn take(&mut self, submission: Submission) {
        let answer = self.ask(ClientRequest::Submit { submission: Box::new(submission) });
        assert!(matches!(answer[..], [DaemonAnswer::Submitted { .. }]), "{answer:?}");
    }

    fn take_array(&mut self, n_tasks: u64, demand: Demand) {
        let array = Some(ArrayIndices::range(1, n_tasks));
        self.take(Submission { array, demand, ..submission() });
    }

    /// Numbers of the tasks that were started and have not ended.
    fn running(&self) -> Vec<u64> {
        self.seen.jobs.iter().map(|job| job.attempt.task.number).collect()
    }

    /// Ends the task with this number.
    fn end_task(&mut self, number: u64, code: i32) {
        let at = self.running().iter().position(|it| *it == number).expect("it runs");
        self.end_by(at, AttemptEnd::Exit(code));
    }

    fn why(&mut self, task: &str) -> String {
        self.explain(task).because.join("; ")
    }
}

#[test]
fn a_task_starts_when_all_that_it_asks_for_is_free() {
    let mut rig = rig();
    rig.take_array(2, cpus(3));
    assert_eq!(rig.running(), [1]);
    assert_eq!(rig.seen.jobs[0].allocation.cores, [0, 1, 2]);
    let why = rig.why("n.2");
    assert!(
        why.contains("it asks for 3 cores, and `n` has 1 core, 100 bytes, 1 GPU free"),
        "{why}"
    );
    rig.end_task(1, 0);
    assert_eq!(rig.running(), [2]);
}

#[test]
fn what_no_node_has_is_refused() {
    let mut rig = rig();
    let demand = Demand {
        variants: vec![Resources { gpus: 2, ..Resources::default() }],
        ..Demand::default()
    };
    let request =
        ClientRequest::Submit { submission: Box::new(Submission { demand, ..submission() }) };
    rig.on(CoreEvent::FromClient { client: ANNA, request });
    let sentence = rig.refusal();
    assert!(
        sentence.starts_with("no node of the cluster has 1 core, 2 GPUs for a task"),
        "{sentence}"
    );
}

/// What fits passes what does not, until as many cores as there are were given to it.
#[test]
fn a_large_task_is_not_passed_for_ever() {
    let mut rig = rig();
    rig.take_array(2, cpus(1));
    rig.take_array(1, cpus(4));
    rig.take_array(100, cpus(1));
    assert_eq!(rig.running(), [1, 2, 4, 5], "two have passed the large one");
    for _ in 0..4 {
        rig.end();
    }
    assert_eq!(rig.running(), [6, 7], "two more have, and then room was kept");
    rig.end();
    assert_eq!(rig.running(), [7]);
    rig.end();
    assert_eq!(rig.running(), [3]);
    rig.end();
    assert_eq!(rig.running().len(), 4);
}

/// While room is kept, only what ends in time passes.
#[test]
fn a_short_task_fills_the_gap_before_a_large_one() {
    let mut rig = rig();
    let limited = |cpus_: u32, ms| Demand { time_limit_ms: Some(ms), ..cpus(cpus_) };
    rig.take(Submission { demand: limited(3, 60_000), ..submission() });
    rig.take(Submission { demand: cpus(4), ..submission() });
    rig.take_array(4, limited(1, 100));
    for number in 3..=5 {
        assert_eq!(rig.running(), [1, number]);
        rig.end_task(number, 0);
    }
    // Four cores were given to tasks that passed it: from now on it counts how long they take.
    rig.end_task(6, 0);
    rig.take_array(1, limited(1, 90_000));
    assert_eq!(rig.running(), [1], "it would end too late");
    rig.take_array(1, limited(1, 50_000));
    rig.pass(250);
    assert_eq!(rig.running(), [1], "it is behind the other one of its kind");
    rig.end_task(1, 0);
    assert_eq!(rig.running(), [2]);
}

#[test]
fn so_many_of_an_array_run_at_once() {
    let mut rig = rig();
    let schedule = Schedule { n_at_once_max: Some(2), ..Schedule::default() };
    let array = Some(ArrayIndices::range(1, 5));
    rig.take(Submission { array, schedule, ..submission() });
    assert_eq!(rig.running(), [1, 2]);
    assert!(
        rig.why("n.3").contains("2 tasks of its array are given out, and `--at-once` allows 2")
    );
    rig.take(submission());
    assert_eq!(rig.running(), [1, 2, 6]);
    rig.end_task(1, 0);
    assert_eq!(rig.running(), [2, 6, 3]);
}

#[test]
fn held_tasks_wait_until_they_are_released() {
    let mut rig = rig();
    let schedule = Schedule { is_held: true, ..Schedule::default() };
    rig.take(Submission { schedule, ..submission() });
    rig.submit(9);
    assert_eq!(rig.running(), [2, 3, 4, 5]);
    assert!(rig.why("n.1").contains("held until it is released"));
    let hold = ClientRequest::Hold { tasks: "n.1-8".parse().unwrap() };
    assert_eq!(rig.ask(hold), [DaemonAnswer::Changed { n_tasks: 3 }]);
    rig.end_task(2, 0);
    assert_eq!(rig.running(), [3, 4, 5, 9]);
    let release = ClientRequest::Release { tasks: "n.1-7".parse().unwrap(), anyway: false };
    assert_eq!(rig.ask(release), [DaemonAnswer::Changed { n_tasks: 3 }]);
    rig.end_task(3, 0);
    assert_eq!(rig.running(), [4, 5, 9, 1]);
}

#[test]
fn a_task_runs_after_those_that_it_waits_for() {
    let mut rig = rig();
    rig.submit(2);
    rig.take(Submission { schedule: after("n.1-2", DependencyKind::Succeeded), ..submission() });
    rig.take(Submission { schedule: after("n.1", DependencyKind::Ended), ..submission() });
    rig.take(Submission { schedule: after("n.2", DependencyKind::Started), ..submission() });
    assert_eq!(rig.running(), [1, 2, 5]);
    assert_eq!(rig.why("n.3"), "waits until `n.1` has succeeded");
    rig.end_task(1, 0);
    assert_eq!(rig.running(), [2, 5, 4]);
    rig.end_task(2, 0);
    assert_eq!(rig.running(), [5, 4, 3]);
    // What has happened before counts.
    rig.take(Submission { schedule: after("n.1-2", DependencyKind::Succeeded), ..submission() });
    assert_eq!(rig.running(), [5, 4, 3, 6]);
}

#[test]
fn what_can_never_run_is_canceled_with_what_waits_for_it() {
    let mut rig = rig();
    rig.submit(1);
    rig.take(Submission { schedule: after("n.1", DependencyKind::Succeeded), ..submission() });
    rig.take(Submission { schedule: after("n.2", DependencyKind::Succeeded), ..submission() });
    rig.take(Submission { schedule: after("n.2", DependencyKind::Ended), ..submission() });
    rig.take(Submission { schedule: after("n.1", DependencyKind::Failed), ..submission() });
    rig.end_task(1, 3);
    assert_eq!(rig.running(), [4, 5]);
    let outcome = |number| rig.core.book().task(number).unwrap().outcome().cloned();
    assert_eq!([2, 3].map(outcome), [Some(TaskOutcome::Canceled), Some(TaskOutcome::Canceled)]);
    let why = rig.explain("n.2").status.why.unwrap();
    assert_eq!(why, "it was to run when `n.1` has succeeded, which ended otherwise: exit 3");
}

#[test]
fn each_task_of_an_array_waits_for_its_own() {
    let mut rig = rig();
    rig.submit(3);
    let mut schedule = after("n.1-3", DependencyKind::Succeeded);
    schedule.after[0].is_each = true;
    rig.take(Submission { array: Some(ArrayIndices::range(1, 3)), schedule, ..submission() });
    rig.end_task(2, 0);
    assert_eq!(rig.running(), [1, 3, 5]);
    rig.end_task(1, 1);
    assert_eq!(rig.core.book().task(4).unwrap().outcome(), Some(&TaskOutcome::Canceled));
}

#[test]
fn a_restarted_daemon_knows_what_is_waited_for() {
    let mut rig = rig();
    rig.submit(2);
    rig.take(Submission { schedule: after("n.1-2", DependencyKind::Succeeded), ..submission() });
    rig.end_task(1, 0);
    let mut book = Book::new(node_id("n"), BookLimits::default());
    rig.core.book_mut().snapshot(|record| book.apply(record));
    let options = CoreOptions::new("n");
    let mut again = Rig::of(options, book);
    // Its keeper knows nothing of task 2, which is started again.
    assert_eq!(again.running(), [2]);
    again.end();
    assert_eq!(again.running(), [3]);
}

#[test]
fn a_user_may_release_what_waits_for_others() {
    let mut rig = rig();
    rig.submit(1);
    rig.take(Submission { schedule: after("n.1", DependencyKind::Succeeded), ..submission() });
    let release = |anyway| ClientRequest::Release { tasks: "n.2".parse().unwrap(), anyway };
    assert_eq!(rig.ask(release(false)), [DaemonAnswer::Changed { n_tasks: 0 }]);
    assert_eq!(rig.ask(release(true)), [DaemonAnswer::Changed { n_tasks: 1 }]);
    assert_eq!(rig.running(), [1, 2]);
    rig.end_task(1, 3);
    assert_eq!(rig.core.book().task(2).unwrap().outcome(), None);
}

#[test]
fn tasks_of_one_job_are_told_together() {
    let mut rig = rig();
    let schedule = Schedule { job: Some("sweep".to_owned()), ..Schedule::default() };
    rig.take(Submission { schedule: schedule.clone(), ..submission() });
    rig.submit(3);
    rig.take(Submission { schedule, demand: cpus(2), ..submission() });
    rig.end_task(1, 1);
    let answer = rig.ask(ClientRequest::Jobs { home: None, after: None });
    let [DaemonAnswer::Jobs { jobs, next: None }] = &answer[..] else { panic!("{answer:?}") };
    let told = jobs.iter().map(|job| (job.name.as_str(), job.tasks.to_string(), job.n_tasks));
    let expected = [("sweep", "n.1-5".to_owned(), 2), ("3 of them", "n.2-4".to_owned(), 3)];
    assert_eq!(told.collect::<Vec<_>>(), expected);
    assert_eq!((jobs[0].n_failed, jobs[1].n_running, jobs[0].account.n_tasks), (1, 3, 1));
}

/// A task that this node never can run goes to one that can, which refuses as long as it has no room.
#[test]
fn a_task_goes_to_a_node_that_has_what_it_asks_for() {
    let mut rig = Rig::with(CoreOptions::new("n"));
    let capacity = Resources { cpus: 2, gpus: 1, ..Resources::nothing() };
    rig.on(CoreEvent::Members(vec![Member { capacity, ..member("other") }]));
    let gpu = Demand {
        variants: vec![Resources { gpus: 1, ..Resources::default() }],
        ..Demand::default()
    };
    rig.take_array(3, gpu);
    rig.pass(250);
    let offers = |rig: &mut Rig| -> Vec<(u64, usize)> {
        let sent = rig.seen.sent.drain(..);
        sent.filter_map(|(_, message)| match message {
            PeerMessage::Offer { offer, tasks, .. } => Some((offer, tasks.len())),
            _ => None,
        })
        .collect()
    };
    let first = offers(&mut rig);
    assert_eq!(first.iter().map(|(_, n)| *n).collect::<Vec<_>>(), [1], "as many as it has GPUs");
    let because = Some("not free there".to_owned());
    rig.hear(PeerMessage::Taken { offer: first[0].0, n_tasks: 0, because });
    assert_eq!(offers(&mut rig), [], "not at once");
    rig.hear(PeerMessage::HasRoom);
    let again = offers(&mut rig);
    assert_eq!(again.len(), 1);
    rig.hear(PeerMessage::Taken { offer: again[0].0, n_tasks: 1, because: None });
    assert_eq!(rig.core.book().tasks().n_queued(), 2);
}

/// Two nodes with two cores each are asked for where there is one.
#[test]
fn a_task_that_asks_for_more_nodes_than_there_are_is_refused() {
    let mut rig = rig();
    let demand = Demand { nodes: 2, ..cpus(2) };
    let submission = Box::new(Submission { demand, ..submission() });
    rig.on(CoreEvent::FromClient { client: ANNA, request: ClientRequest::Submit { submission } });
    let sentence = rig.refusal();
    let expected = "1 nodes of the cluster have 2 cores for a task that asks for 2 such nodes";
    assert!(sentence.starts_with(expected), "{sentence}");
}

/// Arrays of one job, of which nobody has said how long their tasks run.
#[test]
fn what_ran_longer_so_far_goes_first() {
    let mut rig = rig();
    let schedule = Schedule { job: Some("graph".to_owned()), ..Schedule::default() };
    for n_tasks in [8, 8] {
        let array = Some(ArrayIndices::range(1, n_tasks));
        let schedule = schedule.clone();
        rig.take(Submission { array, demand: cpus(4), schedule, ..submission() });
    }
    // Each is tried until it is known how long its tasks run; each fourth time it is the turn of the oldest one.
    let mut order = Vec::new();
    while let Some(&number) = rig.running().first() {
        order.push(number);
        rig.ran_ms = if number <= 8 { 10 } else { 5_000 };
        rig.end_task(number, 0);
    }
    assert_eq!(order, [1, 2, 3, 4, 9, 10, 11, 5, 12, 13, 14, 6, 15, 16, 7, 8]);
}

/// A node that ends in a minute.
#[test]
fn a_task_that_asks_for_time_is_not_started_on_a_node_that_ends_sooner() {
    let amounts = Resources { cpus: 4, ..Resources::nothing() };
    let capacity = NodeCapacity { cores: vec![vec![0, 1, 2, 3]], amounts };
    let measurement = Measurement { n_cores: 4, speed: 1.0 };
    let ends_ms = Some(60_000);
    let mut rig =
        Rig::with(CoreOptions { capacity, measurement, ends_ms, ..CoreOptions::new("n") });
    let timed = |ms| Demand { time_request_ms: Some(ms), ..cpus(1) };
    for ms in [50_000, 70_000, 59_000, 1] {
        rig.take(Submission { demand: timed(ms), ..submission() });
    }
    assert_eq!(rig.running(), [1, 3, 4]);
    let why = rig.why("n.2");
    assert!(why.contains("it asks for 70 s, and `n` ends sooner"), "{why}");
    rig.pass(20_000);
    rig.take(Submission { demand: timed(45_000), ..submission() });
    assert_eq!(rig.running(), [1, 3, 4], "40 s are left");
}
