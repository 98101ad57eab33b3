//! Tests of tasks whose place a damaged journal may have lost.

use task_api::TaskState;

use super::*;
use crate::interface::{
    Allocation, Attempt, AttemptEnd, EndedAttempt, InstanceId, RunningAttempt, SharedEnd, TaskKey,
};

/// A node whose journal has lost records of both of its tasks.
fn rig(keeper_runs: &[(u64, u32)]) -> Rig {
    let array = Some(ArrayIndices::range(1, 2));
    let mut book = book_of(&Submission { array, ..submission() });
    book.apply(&JournalRecord::Doubted { first: 1, last: u64::MAX });
    let mut seen = Seen::default();
    let core = Core::new(CoreOptions::new("n"), Now::default(), book, &mut seen);
    let mut rig = Rig { core, seen, now_ms: 0, ran_ms: 0 };
    rig.member(Presence::Up, 1);
    let attempt = |&(number, instance): &(u64, u32)| RunningAttempt {
        attempt: Attempt { task: TaskKey { home: node_id("n"), number }, instance },
        started_ms: 1,
        allocation: Allocation::default(),
    };
    let running = keeper_runs.iter().map(attempt).collect();
    rig.on(CoreEvent::Keeper(KeeperEvent::Inventory { running, ended: Vec::new() }));
    rig
}

fn renew(rig: &mut Rig, shares: &[(u64, u32)]) -> Vec<InstanceId> {
    rig.seen.sent.clear();
    let shares = shares.iter().map(|&(number, instance)| InstanceId { number, instance }).collect();
    rig.hear(PeerMessage::Renew { number: 7, incarnation: 1, whole: true, shares });
    let gone = rig.seen.sent.drain(..).find_map(|(_, message)| match message {
        PeerMessage::Renewed { gone, .. } => Some(gone),
        _ => None,
    });
    gone.expect("an answer")
}

/// Receives the end of a task of this node that the other node ran.
fn ended_there(rig: &mut Rig, (number, instance): (u64, u32), outcome: TaskOutcome) {
    let (share, output) = (InstanceId { number, instance }, Output::default());
    rig.hear(PeerMessage::Ended(vec![SharedEnd {
        share,
        outcome,
        started_ms: 1,
        ended_ms: 2,
        output,
        usage: task_api::Usage::default(),
    }]));
}

fn state(rig: &Rig, number: u64) -> TaskState {
    rig.core.book().task(number).unwrap().state
}

/// Fault: the journal had lost a lease, and the home ran the task while another node did.
#[test]
fn a_task_waits_until_all_leases_have_run_out_and_all_nodes_have_said_what_they_hold() {
    let mut rig = rig(&[]);
    rig.pass(14_900);
    assert!(rig.seen.jobs.is_empty(), "any lease lasts 10 s, and 5 s more");
    rig.pass(5_000);
    assert!(rig.seen.jobs.is_empty(), "the other node has not said what it holds");
    assert_eq!(renew(&mut rig, &[]), []);
    rig.pass(250);
    assert_eq!(rig.seen.jobs.iter().map(|job| job.attempt.task.number).collect::<Vec<_>>(), [1]);
    assert_eq!(rig.core.book().tasks().n_uncertain(), 0);
}

#[test]
fn a_node_that_does_not_say_what_it_holds_is_not_waited_for_forever() {
    let mut rig = rig(&[]);
    rig.pass(29_900);
    assert!(rig.seen.jobs.is_empty());
    rig.pass(250);
    assert_eq!(rig.seen.jobs.len(), 1);
}

#[test]
fn who_holds_a_task_whose_lease_was_lost_has_it_again() {
    let mut rig = rig(&[]);
    assert_eq!(renew(&mut rig, &[(2, 3)]), [], "it goes on");
    assert_eq!((state(&rig, 2), rig.core.book().tasks().n_uncertain()), (TaskState::Leased, 1));
    rig.pass(10_000);
    assert_eq!(renew(&mut rig, &[(2, 3)]), []);
    rig.pass(6_000);
    assert_eq!(rig.seen.jobs.iter().map(|job| job.attempt.task.number).collect::<Vec<_>>(), [1]);
    ended_there(&mut rig, (2, 3), TaskOutcome::Exit(4));
    assert_eq!(rig.core.book().task(2).unwrap().outcome(), Some(&TaskOutcome::Exit(4)));
}

/// Fault: a result whose lease was lost was discarded.
#[test]
fn an_end_of_a_task_whose_lease_was_lost_counts() {
    let mut rig = rig(&[]);
    ended_there(&mut rig, (1, 2), TaskOutcome::Canceled);
    assert_eq!(rig.core.book().task(1).unwrap().outcome(), Some(&TaskOutcome::Canceled));
    assert_eq!(rig.core.book().tasks().n_uncertain(), 1);
}

/// Fault: the keeper had started a task of which no record was left, and its number was given out again.
#[test]
fn a_number_that_the_keeper_knows_is_not_given_out_again() {
    let mut rig = rig(&[(7, 1)]);
    assert_eq!(rig.core.book().next_number(), 8);
    let attempt = Attempt { task: TaskKey { home: node_id("n"), number: 9 }, instance: 1 };
    let (end, output) = (AttemptEnd::Exit(0), Output::default());
    let ended = EndedAttempt {
        attempt,
        end,
        started_ms: 1,
        ended_ms: 2,
        output,
        usage: task_api::Usage::default(),
    };
    rig.on(CoreEvent::Keeper(KeeperEvent::Ended(vec![ended])));
    assert_eq!(rig.core.book().next_number(), 10);
}

#[test]
fn what_runs_here_goes_on_although_its_start_was_lost() {
    let mut rig = rig(&[(1, 2)]);
    assert_eq!((state(&rig, 1), rig.core.book().tasks().n_uncertain()), (TaskState::Running, 1));
    assert!(rig.seen.orders.is_empty(), "{:?}", rig.seen.orders);
    let because = rig.explain("n.2").because.join("; ");
    assert!(because.contains("may have lost which node runs it"), "{because}");
    let answers = rig.ask(ClientRequest::Nodes);
    rig.pass(1_000);
    let said = format!("{answers:?}{:?}", rig.answers());
    assert!(said.contains("1 tasks wait until no other node can run them"), "{said}");
}
