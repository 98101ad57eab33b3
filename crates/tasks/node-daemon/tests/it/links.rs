//! Tests of links between nodes, over real connections.

mod healthy;
mod hostile;
pub(crate) mod proxy;

use std::sync::{Arc, mpsc};
use std::time::Duration;

use crate::{DEADLINE, until};
use node_core::interface::{NodeId, node_id};
use node_daemon::links::{ClusterKey, Hello, LinkEvent, LinkOptions, Links};

/// A node that has only links.
struct Node {
    links: Links,
    events: mpsc::Receiver<LinkEvent>,
    address: String,
    name: String,
    id: NodeId,
}

fn options() -> LinkOptions {
    LinkOptions {
        handshake_timeout: Duration::from_millis(800),
        heartbeat: Duration::from_millis(100),
        silent_after: Duration::from_millis(800),
        reads_within: Duration::from_millis(800),
        pause_min: Duration::from_millis(10),
        pause_max: Duration::from_millis(100),
        ..LinkOptions::default()
    }
}

fn node(name: &str) -> Node {
    node_with(name, ClusterKey::of([7; 32]), options())
}

fn node_with(name: &str, key: ClusterKey, options: LinkOptions) -> Node {
    node_at("127.0.0.1:0", name, key, options)
}

fn node_at(place: &str, name: &str, key: ClusterKey, options: LinkOptions) -> Node {
    // A port that was just free is opened, so that its number is known before.
    let listener = std::net::TcpListener::bind(place).unwrap();
    let place = listener.local_addr().unwrap();
    drop(listener);
    let (tell, events) = mpsc::channel();
    let me = Hello { name: name.to_owned(), address: place.to_string(), incarnation: 1 };
    let on_event = Arc::new(move |event| drop(tell.send(event)));
    let links = Links::open(place, me, key, options, on_event).unwrap();
    Node { links, events, address: place.to_string(), name: name.to_owned(), id: node_id(name) }
}

impl Node {
    #[track_caller]
    fn event(&self) -> LinkEvent {
        self.events.recv_timeout(DEADLINE).expect("an event")
    }

    #[track_caller]
    fn up(&self) -> String {
        match self.event() {
            LinkEvent::Up(hello) => hello.name,
            other => panic!("{other:?}"),
        }
    }

    /// Error message of the next failure or end.
    #[track_caller]
    fn problem(&self) -> String {
        match self.event() {
            LinkEvent::Failed { error, .. } | LinkEvent::Down { error, .. } => error.to_string(),
            other => panic!("{other:?}"),
        }
    }

    #[track_caller]
    fn message(&self) -> Vec<u8> {
        match self.event() {
            LinkEvent::Message { bytes, .. } => bytes,
            other => panic!("{other:?}"),
        }
    }

    /// Tells this node where another one is.
    fn knows(&self, other: &Node) {
        let Node { address, name, id, .. } = other;
        let hello = Hello { name: name.clone(), address: address.clone(), incarnation: 1 };
        self.links.know([(*id, hello)].into());
    }

    /// Sends until the message is queued.
    #[track_caller]
    fn send(&self, to: &Node, bytes: &[u8]) {
        until(|| self.links.send(to.id, bytes.to_vec()).is_ok(), "a link with room");
    }

    /// Sends this until it arrives: messages that a link holds when it ends are lost.
    #[track_caller]
    fn reaches(&self, to: &Node, said: &[u8]) {
        let is_it = |event| matches!(event, LinkEvent::Message { bytes, .. } if bytes == said);
        let say = || {
            self.links.send(to.id, said.to_vec()).ok();
            to.events.recv_timeout(Duration::from_millis(50)).is_ok_and(is_it)
        };
        until(say, "a message");
    }
}
