//! Errors of links.

use std::{io, net::SocketAddr, time::Duration};

use serde::{Deserialize, Serialize};

/// Reasons why a connection failed or ended.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum LinkError {
    /// The node cannot listen.
    #[error("cannot listen on `{address}`; choose another port with `--port`")]
    Listen {
        /// Address to listen at.
        address: SocketAddr,
        /// Error of the system.
        source: io::Error,
    },
    /// No daemon answers at the address, or there is no route to it.
    #[error("cannot reach `{peer}`; check that a daemon listens there and no firewall is between")]
    Unreachable {
        /// Dialed address.
        peer: String,
        /// Error of the system.
        source: io::Error,
    },
    /// The other side is no node.
    #[error("`{0}` does not speak like a node of a cluster; check host and port")]
    Stranger(String),
    /// The node does not prove the key.
    #[error("`{0}` does not have the key of this cluster; give all nodes the same key file")]
    Key(String),
    /// The other side ended the connection without an answer, as nodes do when the key is not theirs.
    #[error(
        "`{0}` hung up when it saw this node's key, or has no room at the moment; give all nodes the same key file"
    )]
    HungUp(String),
    /// The other node refuses this one.
    #[error("`{peer}` refuses this node: {refusal}")]
    Refused {
        /// Address or name of the node.
        peer: String,
        /// Reason.
        refusal: Refusal,
    },
    /// This node refuses the other one.
    #[error("this node refuses `{peer}`: {refusal}")]
    NotTaken {
        /// Address or name of the node.
        peer: String,
        /// Reason.
        refusal: Refusal,
    },
    /// The other side sent nothing for too long.
    #[error("`{peer}` sent nothing for {} ms; it counts as silent until it is reachable again", after.as_millis())]
    Silent {
        /// Address or name of the other side.
        peer: String,
        /// Length of the silence.
        after: Duration,
    },
    /// A message is too long, or was changed on the way.
    #[error("`{0}` sent an invalid message; run one version of Sintonia on all nodes")]
    Damaged(String),
    /// The other side ended the connection.
    #[error("`{peer}` ended the connection; it is dialed again")]
    Ended {
        /// Address or name of the other side.
        peer: String,
        /// Error of the system.
        source: io::Error,
    },
    /// There are more strangers than are reported one by one.
    #[error(
        "{0} more connections from strangers were refused; `--bind` says where this node listens"
    )]
    Strangers(u64),
}

/// Reasons why a node refuses another one that has the key.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error, Serialize, Deserialize)]
#[non_exhaustive]
pub enum Refusal {
    /// The node speaks another version.
    #[error(
        "versions {ours} and {theirs} do not understand each other; run one version of Sintonia on all nodes"
    )]
    Version {
        /// Version of the node that refuses.
        ours: u16,
        /// Version of the node that is refused.
        theirs: u16,
    },
    /// The node's name, or the number made from it, belongs to another node.
    #[error("the name `{name}` is taken by the node at `{by}`; choose another with `--name`")]
    NameTaken {
        /// The name.
        name: String,
        /// Address of the node that has the name.
        by: String,
        /// Incarnation of that node.
        since: u64,
    },
    /// The other side is this node itself.
    #[error("it is this node itself")]
    Itself,
    /// The two nodes have a link already.
    #[error("there is a link already")]
    Linked,
}

/// Reasons why a message was not queued.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum SendError {
    /// There is no link to the node now.
    #[error("there is no link to that node")]
    NotLinked,
    /// The queue of the link is full.
    #[error("the queue of that node's link is full")]
    Full,
    /// The message is longer than any may be.
    #[error("the message is too long")]
    TooLong,
}
