//! Dialogs when nodes come, leave, or missed each other's messages.

use super::*;

#[test]
fn who_did_not_hear_of_tasks_is_told_again() {
    let mut cluster = Cluster::new("subscription", 2);
    cluster.deaf = Some(1);
    cluster.load(0, 1, 1);
    cluster.said(&[]);
    cluster.deaf = None;
    cluster.wait(29_000);
    cluster.said(&[]);
    cluster.wait(60_000);
    cluster.said(&["0>1 subscribe 1", "1>0 pull 1", "0>1 grant 1 of 1", "0>1 1 tasks"]);
}

#[test]
fn who_can_be_reached_again_is_told_at_once() {
    let mut cluster = Cluster::new("subscription", 2);
    cluster.deaf = Some(1);
    cluster.load(0, 1, 1);
    cluster.deaf = None;
    let mut out = Vec::new();
    cluster.nodes[0].0.on_lost(NodeId(1));
    cluster.nodes[0].0.on_reached(cluster.now, NodeId(1), &mut out);
    cluster.act(0, out);
    cluster.said(&["0>1 subscribe 1", "1>0 pull 1", "0>1 grant 1 of 1", "0>1 1 tasks"]);

    let mut cluster = Cluster::new("event", 2);
    cluster.said.clear();
    cluster.call(0, |node, now, out| node.on_reached(now, NodeId(1), out));
    cluster.said(&["0>1 receiver", "0>1 ask", "1>0 is receiver"]);
}

#[test]
fn what_was_told_to_a_node_that_did_not_know_the_teller_is_asked_for() {
    let mut cluster = Cluster::new("event", 2);
    let new = |id| peer((id, 0, 1.0));
    let (alone, both) = (Members::new([new(0)]), Members::new([new(0), new(1)]));
    let mut out = Vec::new();
    cluster.nodes[0].0.on_peers(cluster.now, &Arc::new(alone), &mut out);
    cluster.load(1, 1, 0);
    cluster.load(1, 0, 0);
    cluster.nodes[0].0.on_peers(cluster.now, &Arc::new(both), &mut out);
    assert_eq!((out.len(), cluster.snapshot(0).known), (0, vec![]));
    cluster.nodes[0].0.on_reached(cluster.now, NodeId(1), &mut out);
    cluster.act(0, out);
    assert_eq!(cluster.snapshot(0).known, [NodeId(1)]);
}

#[test]
fn a_node_that_is_begun_anew_is_a_stranger() {
    let mut cluster = Cluster::new("event", 2);
    cluster.load(0, 2, 0);
    assert_eq!(cluster.snapshot(0).known, [NodeId(1)]);
    let members = Arc::new(Members::new([(0, 0, 1.0), (1, 1, 1.0)].map(peer)));
    let mut out = Vec::new();
    cluster.said.clear();
    cluster.nodes[0].0.on_peers(cluster.now, &members, &mut out);
    assert_eq!(cluster.snapshot(0).known, []);
    cluster.act(0, out);
    cluster.said(&["0>1 sender", "0>1 ask", "1>0 is receiver"]);
}

#[test]
fn who_is_no_neighbor_any_more_is_forgotten_and_a_new_one_is_told() {
    let mut cluster = Cluster::new("event@overlapping:2", 6);
    // In a ring of these three all are neighbors, and in one of all six none of them are.
    cluster.meet([0, 2, 4].map(|id| (id, 0, 1.0)));
    let known = |cluster: &Cluster, at: usize| {
        let mut known = cluster.snapshot(at).known;
        known.sort_unstable();
        known
    };
    assert_eq!(known(&cluster, 0), [NodeId(2), NodeId(4)]);
    cluster.meet([0, 1, 2, 3, 4, 5].map(|id| (id, 0, 1.0)));
    assert_eq!(known(&cluster, 0), [NodeId(1), NodeId(5)]);
    cluster.said.clear();
    cluster.meet([0, 2, 4].map(|id| (id, 0, 1.0)));
    cluster.said.retain(|it| it.ends_with(" receiver") && !it.contains(" is "));
    cluster.said.sort();
    let pairs = ["0>2", "0>4", "2>0", "2>4", "4>0", "4>2"];
    assert_eq!(cluster.said, pairs.map(|pair| format!("{pair} receiver")));
}
