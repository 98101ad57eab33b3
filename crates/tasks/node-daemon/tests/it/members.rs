//! Tests of nodes that join, leave, die and find each other.

use std::path::Path;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use crate::until;
use node_core::interface::{Measurement, Member, NodeId, PeerMessage, node_id};
use node_daemon::links::{ClusterKey, LinkOptions};
use node_daemon::members::{Cluster, ClusterEvent, ClusterOptions, ClusterSettings, OnEvent};
use task_api::{Presence, Resources};

/// Events that a node has received.
#[derive(Default)]
struct Heard {
    members: Vec<Member>,
    messages: Vec<(NodeId, PeerMessage)>,
    warnings: Vec<String>,
    taken: Option<String>,
}

struct Node {
    cluster: Cluster,
    heard: Arc<Mutex<Heard>>,
}

/// Options of a node; `change` adapts its network.
fn options(
    name: &str,
    incarnation: u64,
    change: impl FnOnce(&mut ClusterSettings),
) -> ClusterOptions {
    let mut settings = ClusterSettings {
        listen: "127.0.0.1:0".parse().unwrap(),
        host: "127.0.0.1".to_owned(),
        key: ClusterKey::of([3; 32]),
        peers: Vec::new(),
        meeting: None,
        links: LinkOptions {
            pause_min: Duration::from_millis(10),
            pause_max: Duration::from_millis(200),
            ..LinkOptions::default()
        },
    };
    change(&mut settings);
    let measurement = Measurement { n_cores: 2, speed: 1.5 };
    let capacity = Resources { cpus: 2, gpus: 1, ..Resources::nothing() };
    ClusterOptions { name: name.to_owned(), incarnation, measurement, capacity, settings }
}

fn open(options: ClusterOptions) -> Node {
    let heard: Arc<Mutex<Heard>> = Arc::default();
    let hears = Arc::clone(&heard);
    let on_event: OnEvent = Arc::new(move |event| {
        let mut heard = hears.lock().unwrap();
        match event {
            ClusterEvent::FromPeer { from, message } => heard.messages.push((from, message)),
            ClusterEvent::Members(members) => heard.members = members,
            ClusterEvent::Warning(sentence) => heard.warnings.push(sentence),
            ClusterEvent::NameTaken(sentence) => heard.taken = Some(sentence),
        }
    });
    Node { cluster: Cluster::open(options, on_event).unwrap(), heard }
}

fn join(name: &str, seed: &str) -> Node {
    open(options(name, 1, |it| it.peers = vec![seed.to_owned()]))
}

impl Node {
    fn heard<T>(&self, of: impl FnOnce(&Heard) -> T) -> T {
        of(&self.heard.lock().unwrap())
    }

    fn presence(&self, name: &str) -> Option<Presence> {
        self.heard(|heard| {
            heard.members.iter().find(|member| member.name == name).map(|member| member.presence)
        })
    }

    fn n_up(&self) -> usize {
        self.heard(|heard| {
            heard.members.iter().filter(|member| member.presence == Presence::Up).count()
        })
    }

    /// Sends a message until it arrives.
    #[track_caller]
    fn reaches(&self, to: &Node, name: &str, number: u64) {
        let message = PeerMessage::AskGone(number);
        until(
            || {
                self.cluster.send(node_id(name), &message).ok();
                to.heard(|heard| heard.messages.iter().any(|(_, heard)| *heard == message))
            },
            "a message",
        );
    }
}

#[test]
fn who_joins_at_one_seed_is_linked_to_all() {
    let a = open(options("a", 1, |_| ()));
    let others: Vec<Node> =
        ["b", "c", "d", "e"].iter().map(|name| join(name, a.cluster.address())).collect();
    let all: Vec<&Node> = std::iter::once(&a).chain(&others).collect();
    until(|| all.iter().all(|node| node.n_up() == 4), "everybody knows everybody");
    others[1].reaches(&others[3], "e", 7);
    let of_c = a.heard(|heard| heard.members.iter().find(|it| it.name == "c").cloned().unwrap());
    assert_eq!((of_c.n_cores, of_c.speed.to_bits()), (2, 1.5_f64.to_bits()));
    assert!(a.heard(|heard| heard.members.is_sorted_by_key(|member| member.id)));
    others[1].cluster.measured(Measurement { n_cores: 8, speed: 1.0 });
    let cores_of_c = |node: &Node| {
        node.heard(|heard| heard.members.iter().find(|it| it.name == "c").map(|it| it.n_cores))
    };
    until(|| [&a, &others[0], &others[3]].iter().all(|it| cores_of_c(it) == Some(8)), "news of c");
}

/// Links are made when they are needed, and let go: nodes know each other all the same, and learn who dies and leaves.
#[test]
fn many_nodes_know_each_other_with_few_links() {
    const N_NODES: usize = 20;
    let brief = |it: &mut ClusterSettings| it.links.rest_after = Duration::from_millis(300);
    let a = open(options("n00", 1, brief));
    let seed = a.cluster.address().to_owned();
    let join = |number: usize| {
        open(options(&format!("n{number:02}"), 1, |it| {
            brief(it);
            it.peers = vec![seed.clone()];
        }))
    };
    let mut nodes: Vec<Node> = std::iter::once(a).chain((1..N_NODES).map(join)).collect();
    until(|| nodes.iter().all(|node| node.n_up() == N_NODES - 1), "everybody knows everybody");
    until(|| nodes.iter().all(|node| node.cluster.n_links() <= 4), "links that rest");
    nodes[3].reaches(&nodes[17], "n17", 1);
    let left = nodes.remove(5);
    left.cluster.presence(Presence::Left);
    drop(left);
    until(|| nodes.iter().all(|it| it.presence("n05") == Some(Presence::Left)), "who left");
    // Few have a link to who dies: those, or the first who needs one, find out and tell the others.
    drop(nodes.remove(7));
    nodes[0].cluster.send(node_id("n08"), &PeerMessage::HasRoom).unwrap();
    until(|| nodes.iter().all(|it| it.presence("n08") == Some(Presence::Silent)), "who died");
    assert!(nodes.iter().all(|node| node.n_up() == N_NODES - 3));
}

#[test]
fn who_leaves_says_so_and_who_dies_is_silent() {
    let a = open(options("a", 1, |_| ()));
    let (b, c) = (join("b", a.cluster.address()), join("c", a.cluster.address()));
    until(|| [&a, &b, &c].iter().all(|node| node.n_up() == 2), "everybody");
    b.cluster.presence(Presence::Stopping);
    until(|| [&a, &c].iter().all(|it| it.presence("b") == Some(Presence::Stopping)), "stopping");
    b.cluster.presence(Presence::Left);
    drop(b);
    until(|| [&a, &c].iter().all(|it| it.presence("b") == Some(Presence::Left)), "left");
    drop(c);
    until(|| a.presence("c") == Some(Presence::Silent), "silent");
    let place =
        a.heard(|heard| heard.members.iter().find(|it| it.name == "c").unwrap().address.clone());
    let listen = place.parse().unwrap();
    let peers = vec![a.cluster.address().to_owned()];
    let c = open(options("c", 2, |it| (it.listen, it.peers) = (listen, peers)));
    until(
        || a.presence("c") == Some(Presence::Up) && c.presence("a") == Some(Presence::Up),
        "c again",
    );
}

#[test]
fn nothing_is_said_of_who_left_in_good_order_and_who_comes_back_is_found() {
    let b = open(options("b", 1, |_| ()));
    let a = join("a", b.cluster.address());
    let c = join("c", a.cluster.address());
    until(|| [&a, &b, &c].iter().all(|node| node.n_up() == 2), "everybody");
    // Both sides may have dialed, and one of the two connections was ended.
    [&a, &c].iter().for_each(|node| node.heard.lock().unwrap().warnings.clear());
    let listen = b.cluster.address().parse().unwrap();
    b.cluster.presence(Presence::Left);
    drop(b);
    until(|| [&a, &c].iter().all(|it| it.presence("b") == Some(Presence::Left)), "left");
    // The warning of `d` shows when a dial to a closed port has failed, and is kept back as theirs are: the others have
    // dialed `b` in vain by then too.
    let nobody = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let gone = nobody.local_addr().unwrap().to_string();
    drop(nobody);
    let d = open(options("d", 1, |it| it.peers = vec![gone, a.cluster.address().to_owned()]));
    until(|| !d.heard(|heard| heard.warnings.is_empty()), "a warning of who never was there");
    until(|| a.presence("d") == Some(Presence::Up), "d");
    for node in [&a, &c] {
        // Here, too, both sides may have dialed.
        let is_of_others = |warning: &&String| !warning.starts_with("`d` ended");
        let warnings =
            |heard: &Heard| heard.warnings.iter().filter(is_of_others).cloned().collect();
        assert_eq!(node.heard::<Vec<String>>(warnings), [""; 0]);
    }
    // Restarted, without knowing any other node: `a` still dials it, as the peer that it was given.
    let b = open(options("b", 2, |it| it.listen = listen));
    until(|| a.presence("b") == Some(Presence::Up) && b.n_up() == 3, "b again");
}

#[test]
fn two_that_know_each_other_already_need_no_seed() {
    let a = open(options("a", 1, |_| ()));
    let b = join("b", a.cluster.address());
    until(|| a.n_up() == 1 && b.n_up() == 1, "both");
    let listen = a.cluster.address().parse().unwrap();
    drop(a);
    until(|| b.presence("a") == Some(Presence::Silent), "silence");
    // The restarted node has forgotten all others; `b` still knows it.
    let a = open(options("a", 2, |it| it.listen = listen));
    until(|| a.n_up() == 1 && b.n_up() == 1, "both again");
    a.reaches(&b, "b", 1);
}

#[test]
fn nodes_meet_in_a_folder() {
    let folder = tempfile::tempdir().unwrap();
    let here = folder.path().join("meet");
    let meet = |name: &str| open(options(name, 1, |it| it.meeting = Some(here.clone())));
    let nodes = ["a", "b", "c"].map(meet);
    until(|| nodes.iter().all(|node| node.n_up() == 2), "everybody");
    drop(nodes);
    let left = |folder: &Path| std::fs::read_dir(folder.join("meet")).unwrap().count();
    until(|| left(folder.path()) == 0, "an empty folder");
}

#[test]
fn the_later_of_two_of_one_name_gives_way() {
    let a = open(options("a", 1, |_| ()));
    let first = join("x", a.cluster.address());
    until(|| a.n_up() == 1, "the first");
    let peers = vec![a.cluster.address().to_owned()];
    let second = open(options("x", 2, |it| it.peers = peers));
    until(|| second.heard(|heard| heard.taken.is_some()), "a sentence");
    let said = second.heard(|heard| heard.taken.clone().unwrap());
    let expected = format!("the name `x` is taken by the node at `{}`", first.cluster.address());
    assert!(said.contains(&expected), "{said}");
    assert!(first.heard(|heard| heard.taken.is_none()));
    assert_eq!(a.n_up(), 1);
}

#[test]
fn a_peer_that_is_not_there_is_named_once() {
    let nobody = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let address = nobody.local_addr().unwrap().to_string();
    drop(nobody);
    let a = join("a", &address);
    let b = join("b", a.cluster.address());
    until(|| a.n_up() == 1 && b.n_up() == 1, "both");
    until(|| !a.heard(|heard| heard.warnings.is_empty()), "a warning");
    a.reaches(&b, "b", 1);
    let warnings = a.heard(|heard| heard.warnings.clone());
    let expected = format!("cannot reach `{address}`; check that a daemon listens there");
    assert!(warnings.len() == 1 && warnings[0].starts_with(&expected), "{warnings:?}");
}
