//! Tests of losses when nodes go down and links break, and of what clients see of them.

use task_api::{EndedTask, TaskLimits};

use super::*;

/// A node with this submission whose daemon and keeper went down `n_times` while a task ran.
fn down_while_it_runs(n_times: u32, n_starts_max: u32) -> Rig {
    let limits = TaskLimits { n_starts_max, ..TaskLimits::default() };
    let book = book_of(&Submission { limits, ..submission() });
    let mut rig = Rig::of(CoreOptions::new("n"), book);
    for _ in 0..n_times {
        let mut book = Book::new(node_id("n"), BookLimits::default());
        rig.core.book_mut().snapshot(|record| book.apply(record));
        rig = Rig::of(CoreOptions::new("n"), book);
    }
    rig
}

#[test]
fn a_start_counts_although_daemon_and_keeper_went_down() {
    let rig = down_while_it_runs(3, 10);
    let instances = rig.seen.jobs.iter().map(|job| job.attempt.instance).collect::<Vec<_>>();
    assert_eq!(instances, [4]);
    let mut rig = down_while_it_runs(3, 3);
    assert!(rig.seen.jobs.is_empty());
    let explanation = rig.explain("n.1");
    let because = explanation.because.join("; ");
    assert!(because.contains("given up after 3 of its starts were lost"), "{because}");
    let steps = &explanation.steps;
    assert_eq!(steps.len(), 8, "submitted, thrice started and lost, ended: {steps:?}");
}

/// The last question to the other node.
fn asked_last(rig: &mut Rig) -> Option<(u64, ClientRequest)> {
    rig.seen.sent.drain(..).rev().find_map(|(_, message)| match message {
        PeerMessage::Ask { ask, request } => Some((ask, request)),
        _ => None,
    })
}

fn answered(rig: &mut Rig, ask: u64, numbers: &[u64], n_left: u64) {
    let ended = |&number: &u64| EndedTask {
        number,
        instance: 1,
        node: "other".to_owned(),
        outcome: TaskOutcome::Exit(0),
        started_ms: None,
        ended_ms: 1,
        output: None,
        is_brief: false,
        why: None,
        usage: task_api::Usage::default(),
        output_folder: None,
    };
    let answer = DaemonAnswer::Ended { tasks: numbers.iter().map(ended).collect(), n_left };
    rig.hear(PeerMessage::Answer { ask, answer });
}

#[test]
fn who_waits_for_another_node_is_told_although_words_are_lost() {
    let mut rig = Rig::new();
    assert_eq!(rig.ask(wait("other.1-3")).len(), 1, "nobody is known");
    rig.member(Presence::Up, 1);
    assert!(rig.ask(wait("other.1-3")).is_empty());
    let (ask, question) = asked_last(&mut rig).unwrap();
    rig.pass(4_000);
    assert!(asked_last(&mut rig).is_none());
    rig.pass(2_000);
    assert_eq!(asked_last(&mut rig), Some((ask, question.clone())), "it is asked again");
    answered(&mut rig, ask, &[1], 2);
    answered(&mut rig, ask, &[1, 2], 1);
    assert_eq!(numbers(&rig.answers()), (vec![1], 2));
    assert_eq!(numbers(&rig.ask(ClientRequest::More)), (vec![1, 2], 1), "it had come before");
    assert!(rig.ask(ClientRequest::More).is_empty());
    assert_eq!(asked_last(&mut rig), Some((ask, ClientRequest::More)));
    let answer = DaemonAnswer::Refused { sentence: "nothing is waited for".to_owned() };
    rig.hear(PeerMessage::Answer { ask, answer });
    assert_eq!(asked_last(&mut rig), Some((ask, question.clone())), "it has forgotten");
    rig.member(Presence::Silent, 1);
    rig.pass(20_000);
    assert!(asked_last(&mut rig).is_none() && rig.answers().is_empty());
    rig.member(Presence::Up, 2);
    assert_eq!(asked_last(&mut rig), Some((ask, question)), "its daemon was started anew");
    // Fault: a client that was ready for more before the link broke was refused by a late answer to that.
    let answer = DaemonAnswer::Refused { sentence: "nothing is waited for".to_owned() };
    rig.hear(PeerMessage::Answer { ask, answer });
    assert!(rig.answers().is_empty(), "the question was asked again");
    answered(&mut rig, ask, &[1, 2, 3], 0);
    assert_eq!(numbers(&rig.answers()), (vec![1, 2, 3], 0));
    answered(&mut rig, ask, &[3], 0);
    assert!(rig.answers().is_empty());
    assert_eq!(rig.seen.sent.pop(), Some((node_id("other"), PeerMessage::AskGone(ask))));
}

#[test]
fn who_waits_for_a_node_that_does_not_come_back_is_told_so() {
    for presence in [Presence::Silent, Presence::Left] {
        let mut rig = Rig::new();
        rig.member(Presence::Up, 1);
        assert!(rig.ask(wait("other.1")).is_empty());
        rig.member(presence, 1);
        if presence == Presence::Silent {
            rig.pass(29_000);
            assert!(rig.answers().is_empty());
            rig.pass(2_000);
        }
        assert_eq!(rig.refusal(), "`other` is no longer reachable; try again");
    }
}

#[test]
fn a_node_that_asks_again_is_told_what_it_may_not_have_heard() {
    let mut rig = Rig::new();
    rig.member(Presence::Up, 1);
    rig.submit(3);
    let asks = |rig: &mut Rig, request: ClientRequest| {
        rig.seen.sent.clear();
        rig.hear(PeerMessage::Ask { ask: 7, request });
        rig.seen.sent.drain(..).find_map(|(_, message)| match message {
            PeerMessage::Answer { ask: 7, answer } => Some(numbers(&[answer])),
            _ => None,
        })
    };
    assert_eq!(asks(&mut rig, wait("n.1-3")), None);
    rig.end();
    assert_eq!(asks(&mut rig, wait("n.1-3")), Some((vec![1], 2)), "the first was lost");
    rig.end();
    assert_eq!(asks(&mut rig, ClientRequest::More), Some((vec![2], 1)));
    assert_eq!(asks(&mut rig, wait("n.1-3")), Some((vec![2], 1)));
    assert_eq!(asks(&mut rig, ClientRequest::More), None);
    assert_eq!(asks(&mut rig, wait("n.1-3")), None, "there is nothing to say");
    rig.end();
    assert_eq!(asks(&mut rig, wait("n.1-3")), Some((vec![1, 2, 3], 0)), "the last was lost");
}
