//! Tests of the last tasks of a slow node, which a fast node fetches.

use balancing_policies::PolicyMessage;

use super::*;

impl Rig {
    /// Lets the fast node fetch a task.
    fn pulled(&mut self, operation: u32) {
        let from = node_id("fast");
        self.seen.sent.clear();
        let pull = PolicyMessage::Pull { operation, n_tasks_max: 1 };
        self.on(CoreEvent::FromPeer { from, message: PeerMessage::Balance(pull) });
        let offer = self.seen.sent.iter().find_map(|(_, message)| match message {
            PeerMessage::Offer { offer, .. } => Some(*offer),
            _ => None,
        });
        let offer = offer.expect("a task is there for it");
        let message = PeerMessage::Taken { offer, n_tasks: 1, because: None };
        self.on(CoreEvent::FromPeer { from, message });
    }
}

/// Fault: only the last ended tasks were known, and nothing said so.
#[test]
fn of_tasks_that_ended_long_ago_it_is_said_how_they_ended() {
    let limits = BookLimits { n_ended_max: 2, ..BookLimits::default() };
    let mut rig = Rig::of(CoreOptions::new("n"), Book::new(node_id("n"), limits));
    rig.submit(6);
    (0..5).for_each(|_| rig.end());
    assert_eq!(numbers(&rig.ask(wait("n.2-3"))), (vec![2, 3], 0));
    assert_eq!(numbers(&rig.ask(wait("n.1-6"))), (vec![4, 5, 1, 2, 3], 1));
    let answers = rig.ask(ClientRequest::Tasks {
        filter: TaskFilter::default(),
        after: None,
        n_max: 9,
        is_backward: false,
    });
    let [DaemonAnswer::Tasks { tasks, past: Some(past), .. }] = &answers[..] else {
        unreachable!("{answers:?}")
    };
    assert_eq!((tasks.len(), past.n_tasks, past.sentence()), (3, 3, "3 exit 0".to_owned()));
    let answers = rig.ask(ClientRequest::Result { task: "n.2".parse().unwrap() });
    let [DaemonAnswer::Ended { tasks, .. }] = &answers[..] else { unreachable!("{answers:?}") };
    assert!(tasks[0].is_brief && tasks[0].outcome == TaskOutcome::Exit(0), "{tasks:?}");
    rig.ask(ClientRequest::Explain { task: "n.2".parse().unwrap() });
    let answers = rig.ask(ClientRequest::Nodes);
    let [DaemonAnswer::Nodes { nodes }] = &answers[..] else { unreachable!("{answers:?}") };
    assert_eq!((nodes[0].kept.n_tasks, nodes[0].kept.n_brief), (2, 3));
}

#[test]
fn what_ended_too_long_ago_is_forgotten_but_for_its_outcome() {
    let limits = BookLimits { kept_ms_max: Some(60_000), ..BookLimits::default() };
    let mut rig = Rig::of(CoreOptions::new("n"), Book::new(node_id("n"), limits));
    rig.submit(3);
    rig.end();
    rig.pass(50_000);
    rig.end();
    let kept = |rig: &mut Rig| {
        let answers = rig.ask(ClientRequest::Nodes);
        let [DaemonAnswer::Nodes { nodes }] = &answers[..] else { unreachable!("{answers:?}") };
        (nodes[0].kept.n_tasks, nodes[0].kept.n_brief)
    };
    let before = kept(&mut rig);
    rig.pass(20_000);
    assert_eq!((before.1, kept(&mut rig).1), (0, 1));
    assert_eq!(numbers(&rig.ask(wait("n.1-2"))), (vec![2, 1], 0));
}

/// Fault: a wait that went on kept all tasks that it had told of.
#[test]
fn what_a_client_was_told_of_can_be_forgotten_while_it_waits() {
    let limits = BookLimits { n_ended_max: 2, ..BookLimits::default() };
    let mut rig = Rig::of(CoreOptions::new("n"), Book::new(node_id("n"), limits));
    rig.submit(6);
    assert!(rig.ask(wait("n.1-6")).is_empty());
    for number in 1..6 {
        rig.end();
        assert_eq!(numbers(&rig.answers()), (vec![number], 6 - number));
        assert!(rig.ask(ClientRequest::More).is_empty());
    }
    let answers = rig.ask(ClientRequest::Nodes);
    let [DaemonAnswer::Nodes { nodes }] = &answers[..] else { unreachable!("{answers:?}") };
    assert_eq!((nodes[0].kept.n_tasks, nodes[0].kept.n_brief), (2, 3));
}

#[test]
fn a_core_stays_free_while_a_fast_node_ends_the_last_tasks_sooner() {
    let mut rig = Rig::new();
    rig.on(CoreEvent::Members(vec![Member { speed: 4.0, ..member("fast") }]));
    rig.submit(6);
    rig.pulled(1);
    rig.pass(2_000);
    rig.pulled(2);
    rig.end();
    assert!(rig.seen.jobs.is_empty(), "three are the fast node's: {:?}", rig.seen.jobs);
    let because = rig.explain("n.6").because.join("; ");
    assert!(because.contains("reserved for faster nodes"), "{because}");
    rig.pass(4_500);
    assert_eq!(rig.seen.jobs.len(), 1, "it has not come again");
}
