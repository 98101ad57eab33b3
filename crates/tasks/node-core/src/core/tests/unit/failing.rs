//! Tests of tasks that fail: tried again, or the end of their array.

use task_api::{FailureRules, NodeCounters, OutcomeFilter, TaskStatus};

use super::*;
use crate::interface::{InstanceId, Killed, Measurement};

/// Rules with the usual delay of 1 s.
fn rules(n_retries_max: u32, n_fails_max: Option<u64>) -> FailureRules {
    FailureRules { n_retries_max, n_fails_max, ..FailureRules::default() }
}

fn array(n_tasks: u64, failures: FailureRules) -> Submission {
    let array = Some(ArrayIndices::range(1, n_tasks));
    Submission { array, failures, ..submission() }
}

/// A node with this submission, of which one task runs.
fn rig(submission: &Submission) -> Rig {
    let mut rig = Rig::new();
    rig.ask(ClientRequest::Submit { submission: Box::new(submission.clone()) });
    rig
}

/// The node after its daemon and keeper were down for some time; its clock for deadlines begins at 0 again.
fn restarted(mut rig: Rig, after_ms: u64) -> Rig {
    let mut book = Book::new(node_id("n"), BookLimits::default());
    rig.core.book_mut().snapshot(|record| book.apply(record));
    let mut seen = Seen::default();
    let now = Now { moment: Moment(0), unix_ms: rig.now_ms + after_ms };
    let mut core = Core::new(CoreOptions::new("n"), now, book, &mut seen);
    let inventory = KeeperEvent::Inventory { running: Vec::new(), ended: Vec::new() };
    core.on(now, CoreEvent::Keeper(inventory), &mut seen);
    Rig { core, seen, now_ms: 0, ran_ms: 0 }
}

fn counts(rig: &mut Rig) -> NodeCounters {
    let answers = rig.ask(ClientRequest::Nodes);
    let [DaemonAnswer::Nodes { nodes }] = &answers[..] else { unreachable!("{answers:?}") };
    nodes[0].counts
}

fn tasks(rig: &mut Rig, filter: TaskFilter) -> Vec<TaskStatus> {
    let answers =
        rig.ask(ClientRequest::Tasks { filter, after: None, n_max: 99, is_backward: false });
    let [DaemonAnswer::Tasks { tasks, .. }] = &answers[..] else { unreachable!("{answers:?}") };
    tasks.clone()
}

fn instances(rig: &Rig) -> Vec<u32> {
    rig.seen.jobs.iter().map(|job| job.attempt.instance).collect()
}

#[test]
fn a_task_that_fails_is_tried_again_later_and_later() {
    let mut rig = rig(&array(1, rules(2, None)));
    rig.end_by(0, AttemptEnd::Exit(3));
    let task = tasks(&mut rig, TaskFilter::default()).remove(0);
    let why = "attempt 1 of 3 failed on `n`: exit 3: done";
    assert_eq!((task.state, task.why.as_deref()), (TaskState::Queued, Some(why)));
    assert_eq!(rig.explain("n.1").because, [format!("{why}; it is tried again in 1 s")]);
    rig.pass(999);
    assert!(rig.seen.jobs.is_empty(), "the delay is not over");
    rig.pass(1);
    assert_eq!(instances(&rig), [2]);
    rig.end_by(0, AttemptEnd::Signal(11));
    rig.pass(1_999);
    assert!(rig.seen.jobs.is_empty(), "it lasts twice as long");
    rig.pass(1);
    rig.end_by(0, AttemptEnd::Exit(4));
    let explanation = rig.explain("n.1");
    assert_eq!(explanation.status.outcome, Some(TaskOutcome::Exit(4)));
    let because = explanation.because.join("; ");
    assert!(because.contains("all 3 attempts that `--retry` allows failed"), "{because}");
    let steps: Vec<_> = explanation.steps.iter().map(|step| step.what.to_string()).collect();
    assert_eq!(steps[2], format!("queued again: {why}; tried again after 1 s"));
    let NodeCounters { n_submitted, n_ended, n_failed, n_succeeded, n_retried, .. } =
        counts(&mut rig);
    assert_eq!((n_submitted, n_ended, n_failed, n_succeeded, n_retried), (1, 3, 1, 0, 2));
}

#[test]
fn only_attempts_that_ran_and_failed_are_tried_again() {
    let check = |end: AttemptEnd, expected: &TaskOutcome| {
        let mut rig = rig(&array(1, rules(2, None)));
        rig.end_by(0, end);
        assert_eq!(rig.core.book().task(1).unwrap().outcome(), Some(expected));
    };
    check(AttemptEnd::Exit(0), &TaskOutcome::Exit(0));
    check(AttemptEnd::Killed(Killed::Canceled), &TaskOutcome::Canceled);
    let sentence = "no `x`".to_owned();
    check(AttemptEnd::NotStarted(sentence.clone()), &TaskOutcome::NotStarted(sentence));
}

#[test]
fn a_failure_that_is_reported_twice_counts_once() {
    let mut rig = rig(&array(1, rules(3, None)));
    let attempt = rig.seen.jobs[0].attempt;
    rig.end_by(0, AttemptEnd::Exit(3));
    let (started_ms, ended_ms, output) = (0, 0, Output::default());
    let again = EndedAttempt {
        attempt,
        end: AttemptEnd::Exit(3),
        started_ms,
        ended_ms,
        output,
        usage: task_api::Usage::default(),
    };
    rig.on(CoreEvent::Keeper(KeeperEvent::Ended(vec![again.clone()])));
    assert_eq!(rig.core.book().task(1).unwrap().failed().n_failed, 1);
    let mut rig = restarted(rig, 0);
    rig.on(CoreEvent::Keeper(KeeperEvent::Ended(vec![again])));
    assert_eq!(rig.core.book().task(1).unwrap().failed().n_failed, 1);
}

#[test]
fn a_delay_survives_the_daemon() {
    let mut rig = rig(&array(1, rules(1, None)));
    rig.end_by(0, AttemptEnd::Exit(3));
    let mut rig = restarted(rig, 400);
    rig.pass(599);
    assert!(rig.seen.jobs.is_empty());
    rig.pass(1);
    assert_eq!(instances(&rig), [2]);
    rig.end_by(0, AttemptEnd::Exit(3));
    assert!(rig.core.book().task(1).unwrap().is_over(), "one retry is allowed, in all");
}

#[test]
fn a_task_that_failed_elsewhere_is_given_to_nobody_before_its_time() {
    let mut rig = rig(&array(2, rules(1, None)));
    let share = InstanceId { number: 2, instance: 1 };
    let report = |rig: &mut Rig| {
        let (outcome, output) = (TaskOutcome::Exit(3), Output::default());
        let end = SharedEnd {
            share,
            outcome,
            started_ms: 1,
            ended_ms: 2,
            output,
            usage: task_api::Usage::default(),
        };
        rig.hear(PeerMessage::Ended(vec![end]));
    };
    rig.member(Presence::Up, 1);
    rig.core.roles.lending.lend(
        node_id("other"),
        1,
        &mut crate::core::Turn {
            node: &mut rig.core.node,
            now: Now::default(),
            out: &mut rig.seen,
        },
    );
    let renew =
        |number| PeerMessage::Renew { number, incarnation: 1, whole: true, shares: vec![share] };
    rig.hear(renew(1));
    assert_eq!(rig.core.book().task(2).unwrap().state, TaskState::Leased);
    report(&mut rig);
    report(&mut rig);
    rig.hear(renew(2));
    let task = rig.core.book().task(2).unwrap();
    assert_eq!((task.state, task.failed().n_failed), (TaskState::Queued, 1));
    let gone = PeerMessage::Renewed { number: 2, gone: vec![share] };
    assert!(rig.seen.sent.contains(&(node_id("other"), gone)));
    rig.end();
    rig.pass(999);
    assert!(rig.seen.jobs.is_empty());
    rig.pass(1);
    assert_eq!(instances(&rig), [2]);
}

#[test]
fn a_task_that_waits_for_a_retry_can_be_canceled() {
    let mut rig = rig(&array(1, rules(1, None)));
    rig.end_by(0, AttemptEnd::Exit(3));
    let cancel = ClientRequest::Cancel { tasks: "n.1".parse().unwrap() };
    assert_eq!(rig.ask(cancel), [DaemonAnswer::Canceled { n_tasks: 1 }]);
    rig.pass(5_000);
    assert!(rig.seen.jobs.is_empty() && rig.core.book().n_open() == 0);
    assert_eq!(rig.core.book().tasks().n_waiting(), 0);
}

#[test]
fn an_array_ends_when_too_many_of_its_tasks_have_failed() {
    let mut rig = rig(&array(6, rules(0, Some(1))));
    rig.end_by(0, AttemptEnd::Exit(3));
    rig.end();
    assert_eq!(rig.seen.jobs.len(), 1, "one may fail");
    let mut rig = restarted(rig, 100);
    assert_eq!(rig.seen.jobs.len(), 1);
    rig.end_by(0, AttemptEnd::Exit(3));
    assert!(rig.seen.jobs.is_empty() && rig.core.book().n_open() == 0);
    let canceled = TaskFilter { outcome: Some(OutcomeFilter::Canceled), ..TaskFilter::default() };
    let canceled = tasks(&mut rig, canceled);
    let why = "2 tasks of its array failed, and `--max-fails` allows 1";
    assert_eq!(canceled.len(), 3);
    assert!(canceled.iter().all(|task| task.why.as_deref() == Some(why)), "{canceled:?}");
    assert_eq!(rig.explain("n.6").because, [format!("it was canceled since {why}")]);
    let mut rig = restarted(rig, 200);
    assert_eq!(rig.explain("n.6").because, [format!("it was canceled since {why}")]);
}

#[test]
fn what_runs_of_an_array_is_canceled_too() {
    let mut options = CoreOptions::new("n");
    options.measurement = Measurement { n_cores: 2, speed: 1.0 };
    let mut rig = Rig::with(options);
    rig.on(CoreEvent::Members(Vec::new()));
    rig.ask(ClientRequest::Submit { submission: Box::new(array(4, rules(2, Some(0)))) });
    assert_eq!(rig.seen.jobs.len(), 2);
    rig.end_by(0, AttemptEnd::NotStarted("no `x`".to_owned()));
    let is_kill = |order: &&KeeperOrder| matches!(order, KeeperOrder::Kill { .. });
    assert_eq!(rig.seen.orders.iter().filter(is_kill).count(), 1);
    rig.end_by(0, AttemptEnd::Exit(1));
    assert_eq!(rig.core.book().n_open(), 0, "what fails while it is canceled is not tried again");
    let counts = counts(&mut rig);
    assert_eq!((counts.n_failed, counts.n_canceled, counts.n_retried), (2, 2, 0));
}
