//! How nodes with room learn where tasks wait, and lose track of it.

use super::Cluster;
use balancing_policies::{NodeId, PolicyMessage};

#[test]
fn who_has_run_out_of_offers_asks_and_is_told_the_best_one() {
    let mut cluster = Cluster::new("subscription", 9);
    cluster.load(0, 1, 40);
    cluster.wait(1_000);
    assert_eq!(cluster.nodes[8].1.n_running, 1);
    // Node 8 forgets the one offer that there is.
    cluster.nodes[8].0.on_lost(NodeId(0));
    cluster.said.clear();
    cluster.load(8, 0, 0);
    cluster.wait(1_000);
    let at = |words: &str| cluster.said.iter().position(|it| it.ends_with(words));
    let (hint, tasks) = (at(">8 39 at 0"), at("0>8 1 tasks"));
    assert!(hint.is_some() && hint < tasks, "{:?}", cluster.said);
    // Who was never given a task asks nobody.
    let mut idle = Cluster::new("subscription", 9);
    idle.wait(60_000);
    idle.said(&[]);
}

#[test]
fn waves_reach_whoever_has_room() {
    let mut cluster = Cluster::new("subscription", 9);
    (1..8).for_each(|at| cluster.load(at, 1, 0));
    cluster.load(0, 1, 1);
    cluster.wait(1_000);
    assert!(cluster.said.iter().any(|it| it == "0>8 1 tasks"), "{:?}", cluster.said);
    assert_eq!(cluster.nodes[0].1.n_queued, 0);
}

#[test]
fn a_pull_without_an_answer_is_tried_again_and_given_up() {
    let mut cluster = Cluster::new("subscription", 2);
    cluster.deaf = Some(0);
    let message = PolicyMessage::Subscribe { n_queued: 5 };
    cluster.call(1, |node, now, out| node.on_message(now, NodeId(0), message, out));
    assert_eq!(cluster.snapshot(1).n_offers, 1);
    cluster.wait(6_000);
    let snapshot = cluster.snapshot(1);
    assert_eq!((snapshot.n_offers, snapshot.operation), (0, None));
    assert_eq!(snapshot.counts.not_accepted, 5);
}
