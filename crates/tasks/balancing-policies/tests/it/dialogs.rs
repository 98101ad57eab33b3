//! Dialogs between nodes, rule by rule: a small cluster whose messages arrive at once.

mod meetings;
mod offers;

use balancing_policies::{
    Balance, BalanceSnapshot, DriverAction, Members, Moment, NodeId, NodeLoad, OperationOutcome,
    Peer, PolicyMessage, Timer,
};
use std::collections::VecDeque;
use std::sync::Arc;

/// Nodes with one core each, and their loads.
struct Cluster {
    nodes: Vec<(Balance, NodeLoad)>,
    timers: Vec<(usize, Timer, Moment)>,
    now: Moment,
    said: Vec<String>,
    /// Node to which all messages are lost.
    deaf: Option<usize>,
}

impl Cluster {
    fn new(policy: &str, n: u32) -> Self {
        let node = |id| {
            (Balance::new(NodeId(id), policy.parse().expect("a policy"), 5), NodeLoad::idle(1, 1.0))
        };
        let mut cluster = Self {
            nodes: (0..n).map(node).collect(),
            timers: Vec::new(),
            now: Moment(0),
            said: Vec::new(),
            deaf: None,
        };
        cluster.meet((0..n).map(|id| (id, 0, 1.0)));
        (0..cluster.nodes.len()).for_each(|at| cluster.load(at, 0, 0));
        cluster
    }

    fn load(&mut self, at: usize, n_running: u32, n_queued: u32) {
        let load = NodeLoad { n_running, n_queued, ..self.nodes[at].1 };
        self.nodes[at].1 = load;
        self.call(at, |node, now, out| node.on_measurement(now, load, out));
    }

    /// Reports an event to a node, and carries out its actions.
    fn call(
        &mut self,
        at: usize,
        event: impl FnOnce(&mut Balance, Moment, &mut Vec<DriverAction>),
    ) {
        let mut out = Vec::new();
        event(&mut self.nodes[at].0, self.now, &mut out);
        self.act(at, out);
    }

    /// Tells all nodes the members: one core each, with these ids, incarnations and speeds.
    fn meet(&mut self, members: impl IntoIterator<Item = (u32, u32, f64)>) {
        let members = Arc::new(Members::new(members.into_iter().map(peer)));
        for at in 0..self.nodes.len() {
            self.call(at, |node, now, out| node.on_peers(now, &members, out));
        }
    }

    fn snapshot(&self, at: usize) -> BalanceSnapshot {
        self.nodes[at].0.snapshot(self.now)
    }

    fn act(&mut self, at: usize, out: Vec<DriverAction>) {
        let mut waiting: VecDeque<(usize, DriverAction)> =
            out.into_iter().map(|it| (at, it)).collect();
        while let Some((at, action)) = waiting.pop_front() {
            let mut out = Vec::new();
            let mut then = at;
            match action {
                DriverAction::Timer { timer, at: due } => self.timers.push((at, timer, due)),
                DriverAction::Send { to, .. } if self.deaf == Some(to.0 as usize) => {}
                DriverAction::Send { to, message } => {
                    self.said.push(format!("{at}>{to} {}", word(message)));
                    then = to.0 as usize;
                    self.nodes[then].0.on_message(self.now, id(at), message, &mut out);
                }
                DriverAction::Move { to, n_tasks } => {
                    self.said.push(format!("{at}>{to} {n_tasks} tasks"));
                    self.nodes[at].1.n_queued -= n_tasks;
                    then = to.0 as usize;
                    let (balance, load) = &mut self.nodes[then];
                    balance.on_received(id(at));
                    load.n_running += n_tasks;
                    balance.on_measurement(self.now, *load, &mut out);
                }
            }
            waiting.extend(out.into_iter().map(|action| (then, action)));
        }
    }

    /// Advances the clock and fires due timers.
    fn wait(&mut self, ms: u64) {
        let until = self.now.plus_ms(ms);
        while let Some(first) = (0..self.timers.len()).min_by_key(|k| self.timers[*k].2)
            && self.timers[first].2 <= until
        {
            let (at, timer, due) = self.timers.swap_remove(first);
            self.now = self.now.max(due);
            self.call(at, |node, now, out| node.on_timer(now, timer, out));
        }
        self.now = until;
    }

    fn why(&self, at: usize) -> Option<OperationOutcome> {
        self.snapshot(at).last.map(|last| last.why)
    }

    #[track_caller]
    fn said(&mut self, expected: &[&str]) {
        assert_eq!(std::mem::take(&mut self.said), expected);
    }
}

fn peer((id, incarnation, speed): (u32, u32, f64)) -> Peer {
    Peer { id: NodeId(id), incarnation, n_cores: 1, speed }
}

fn id(at: usize) -> NodeId {
    NodeId(u32::try_from(at).expect("few nodes"))
}

fn word(message: PolicyMessage) -> String {
    match message {
        PolicyMessage::State { new, .. } => format!("{new}"),
        PolicyMessage::StateIs { state, .. } => format!("is {state}"),
        PolicyMessage::Pull { n_tasks_max, .. } => format!("pull {n_tasks_max}"),
        PolicyMessage::Grant { n_tasks, n_left, .. } => {
            format!("grant {n_tasks} of {}", n_left + u32::from(n_tasks))
        }
        PolicyMessage::Accept { n_tasks_max, .. } => format!("accept {n_tasks_max}"),
        PolicyMessage::Request { n_hops, .. } => format!("request {n_hops}"),
        PolicyMessage::Subscribe { n_queued } => format!("subscribe {n_queued}"),
        PolicyMessage::AskState { .. } => "ask".to_owned(),
        PolicyMessage::Reject { .. } => "reject".to_owned(),
        PolicyMessage::Release { .. } => "release".to_owned(),
        PolicyMessage::Probe => "probe".to_owned(),
        PolicyMessage::Nothing { .. } => "nothing".to_owned(),
        PolicyMessage::Elsewhere { node, n_queued, .. } => format!("{n_queued} at {}", node.0),
    }
}

#[test]
fn event_tells_when_a_node_becomes_or_ceases_to_be_a_receiver() {
    let mut cluster = Cluster::new("event", 2);
    cluster.said(&["0>1 receiver", "1>0 receiver"]);
    cluster.load(0, 1, 0);
    cluster.said(&["0>1 neutral"]);
    cluster.load(0, 2, 1);
    cluster.said(&["0>1 request 0", "1>0 accept 1", "0>1 1 tasks", "1>0 neutral"]);
    assert_eq!(cluster.why(0), Some(OperationOutcome::Moved { n_tasks: 1 }));
    cluster.load(0, 2, 1);
    cluster.said(&[]);
    assert_eq!(cluster.why(0), Some(OperationOutcome::NobodyKnown));
}

#[test]
fn on_demand_asks_first() {
    let mut cluster = Cluster::new("on-demand", 3);
    cluster.load(1, 1, 0);
    cluster.said(&[]);
    cluster.load(0, 2, 1);
    cluster.said(&[
        "0>1 ask",
        "0>2 ask",
        "1>0 is neutral",
        "2>0 is receiver",
        "0>2 request 0",
        "2>0 accept 1",
        "0>2 1 tasks",
    ]);
}

#[track_caller]
fn asks_again(cluster: &mut Cluster, n_measurements: u64, apart_ms: u64, n_expected: usize) {
    cluster.said.clear();
    for _ in 0..n_measurements {
        cluster.wait(apart_ms);
        let load = cluster.nodes[0].1;
        cluster.load(0, load.n_running, load.n_queued);
    }
    let n_asked = cluster.said.iter().filter(|it| *it == "0>1 ask").count();
    assert_eq!(n_asked, n_expected, "{n_measurements} measurements, {apart_ms} ms apart");
}

#[test]
fn without_news_a_node_asks_once_a_second_however_often_it_is_measured() {
    let mut cluster = Cluster::new("on-demand", 2);
    cluster.load(1, 1, 0);
    cluster.load(0, 2, 3);
    assert_eq!(cluster.why(0), Some(OperationOutcome::NobodyKnown));
    asks_again(&mut cluster, 1, 1_000, 1);
    asks_again(&mut cluster, 9, 100, 0);
    asks_again(&mut cluster, 40, 250, 10);
    asks_again(&mut cluster, 400, 25, 10);
    asks_again(&mut cluster, 10, 1_000, 10);
}

#[test]
fn a_node_asks_at_once_when_more_tasks_wait() {
    let mut cluster = Cluster::new("on-demand", 2);
    cluster.load(1, 1, 0);
    cluster.load(0, 2, 3);
    asks_again(&mut cluster, 1, 1_000, 1);
    // Less than a second later, but not during the pause.
    cluster.said.clear();
    cluster.load(0, 2, 4);
    cluster.said(&[]);
    asks_again(&mut cluster, 3, 100, 1);
    // A task that no longer waits is no reason to ask.
    cluster.wait(100);
    cluster.load(0, 2, 2);
    cluster.said.clear();
    asks_again(&mut cluster, 2, 100, 0);
}

#[test]
fn a_node_goes_on_after_it_moved_tasks() {
    let mut cluster = Cluster::new("event", 6);
    cluster.load(0, 2, 9);
    let load = cluster.nodes[0].1;
    assert_eq!(load.n_queued, 6);
    cluster.said.clear();
    cluster.load(0, 2, 6);
    assert_eq!(cluster.said.iter().filter(|it| it.ends_with("1 tasks")).count(), 2);
}

#[test]
fn the_least_loaded_is_filled_first_and_others_are_released() {
    let mut cluster = Cluster::new("event", 4);
    cluster.said.clear();
    cluster.load(0, 2, 2);
    let said = std::mem::take(&mut cluster.said);
    assert_eq!(said.iter().filter(|it| it.contains("request")).count(), 3);
    assert_eq!(said.iter().filter(|it| it.ends_with("1 tasks")).count(), 2);
    assert_eq!(said.iter().filter(|it| it.ends_with("release")).count(), 1);
    let counts = cluster.nodes[0].0.counts();
    assert_eq!((counts.accepted, counts.unused, counts.not_accepted), (2, 1, 0));
}

#[test]
fn a_periodic_state_is_told_again_and_again() {
    let mut cluster = Cluster::new("periodic:2", 2);
    cluster.said(&[]);
    cluster.wait(2_000);
    cluster.said.sort();
    cluster.said(&["0>1 receiver", "1>0 receiver"]);
    cluster.load(1, 1, 0);
    cluster.wait(4_000);
    assert_eq!(cluster.said.iter().filter(|it| *it == "1>0 neutral").count(), 2);
}

#[test]
fn an_adaptive_state_is_told_soon_after_it_changed_and_rarely_otherwise() {
    let mut cluster = Cluster::new("adaptive:1:8", 2);
    cluster.wait(100_000);
    let n_calm = cluster.said.len();
    assert!((20..40).contains(&n_calm), "{n_calm}");
    cluster.said.clear();
    cluster.load(1, 1, 0);
    cluster.wait(900);
    assert_eq!(cluster.said.iter().filter(|it| *it == "1>0 neutral").count(), 1);
}

#[test]
fn a_busy_neighbor_passes_a_request_on() {
    let mut cluster = Cluster::new("forwarding:3@overlapping:2", 4);
    cluster.load(1, 1, 0);
    cluster.load(3, 1, 0);
    cluster.said.clear();
    cluster.load(0, 2, 1);
    assert!(cluster.said.contains(&"0>2 1 tasks".to_owned()), "{:?}", cluster.said);
}

#[test]
fn a_subscriber_is_told_once_and_comes_until_there_is_nothing() {
    let mut cluster = Cluster::new("subscription", 2);
    cluster.said(&[]);
    cluster.load(0, 1, 3);
    cluster.said(&["0>1 subscribe 3", "1>0 pull 1", "0>1 grant 1 of 3", "0>1 1 tasks"]);
    // Node 1 has room again, and needs no message.
    cluster.load(1, 0, 0);
    cluster.said(&["1>0 pull 1", "0>1 grant 1 of 2", "0>1 1 tasks"]);
    cluster.load(0, 1, 0);
    cluster.load(1, 0, 0);
    cluster.said(&["1>0 pull 1", "0>1 nothing"]);
    assert_eq!(cluster.why(1), Some(OperationOutcome::NothingThere));
    cluster.load(0, 1, 1);
    cluster.said(&["0>1 subscribe 1", "1>0 pull 1", "0>1 grant 1 of 1", "0>1 1 tasks"]);
}

#[test]
fn a_probed_node_comes_when_its_turn_has_come() {
    let mut cluster = Cluster::new("power-of-two:2", 3);
    cluster.load(1, 1, 0);
    cluster.load(2, 1, 0);
    cluster.load(0, 1, 1);
    assert_eq!(cluster.said.iter().filter(|it| it.ends_with("probe")).count(), 2);
    let probed = cluster.said[0].as_bytes()[2] - b'0';
    cluster.said.clear();
    cluster.load(probed.into(), 0, 0);
    assert_eq!(cluster.said.last().unwrap(), &format!("0>{probed} 1 tasks"));
}

#[test]
fn a_thief_takes_half_and_rests_where_nothing_is() {
    let mut cluster = Cluster::new("stealing", 2);
    cluster.load(0, 1, 4);
    cluster.said.clear();
    cluster.wait(2_000);
    cluster.said(&["1>0 pull 1", "0>1 grant 1 of 4", "0>1 1 tasks"]);
    cluster.load(0, 1, 0);
    cluster.load(1, 0, 0);
    cluster.said.clear();
    cluster.wait(60_000);
    let n_attempts = cluster.said.iter().filter(|it| *it == "1>0 pull 1").count();
    assert!((25..40).contains(&n_attempts), "{n_attempts}");
}

#[test]
fn tasks_that_came_back_are_offered_again() {
    let mut cluster = Cluster::new("subscription", 2);
    cluster.load(1, 1, 0);
    cluster.load(0, 1, 1);
    cluster.said(&["0>1 subscribe 1"]);
    cluster.call(0, |node, now, out| node.on_moved(now, NodeId(1), (1, 0), out));
    cluster.said(&["0>1 subscribe 1"]);
    assert_eq!(cluster.nodes[0].0.counts().came_back, 1);
}

/// A node with tasks, a slow one and a fast one; the fast one fetches its second task.
fn with_fast_and_slow() -> Cluster {
    let mut cluster = Cluster::new("subscription", 3);
    cluster.meet([(0, 0, 1.0), (1, 0, 1.0), (2, 0, 4.0)]);
    cluster.load(0, 1, 6);
    cluster.wait(5_000);
    cluster.said.clear();
    cluster.load(2, 0, 0);
    cluster.said(&["2>0 pull 1", "0>2 grant 1 of 4", "0>2 1 tasks"]);
    cluster
}

#[test]
fn the_last_tasks_are_left_to_a_fast_node_that_comes_again_and_again() {
    let mut cluster = with_fast_and_slow();
    assert_eq!(cluster.nodes[0].0.n_kept(cluster.now), 3);
    cluster.load(1, 0, 0);
    cluster.said(&["1>0 pull 1", "0>1 nothing"]);
    // The slow node is told again when a task arrives, and when the fast one stays away.
    cluster.load(0, 1, 4);
    cluster.said(&["0>1 subscribe 4", "1>0 pull 1", "0>1 grant 1 of 4", "0>1 1 tasks"]);
    cluster.wait(6_000);
    assert_eq!(cluster.nodes[0].0.n_kept(cluster.now), 3);
    cluster.load(1, 0, 0);
    cluster.said.clear();
    cluster.wait(10_000);
    assert_eq!(cluster.nodes[0].0.n_kept(cluster.now), 0);
    // Node 1 has no offer any more: it asks, and finds what is kept for the fast node, until it is told.
    let asked = ["1>0 pull 1", "0>1 nothing"].repeat(3);
    let told = ["0>1 subscribe 3", "1>0 pull 1", "0>1 grant 1 of 3", "0>1 1 tasks"];
    cluster.said(&[&asked[..], &told].concat());
}

#[test]
fn no_task_is_kept_for_a_fast_node_that_is_lost() {
    let mut cluster = with_fast_and_slow();
    cluster.nodes[0].0.on_lost(NodeId(2));
    assert_eq!(cluster.nodes[0].0.n_kept(cluster.now), 0);
}
