//! Why there is no link.

use std::{io, net::SocketAddr, time::Duration};

use serde::{Deserialize, Serialize};

/// Why a connection failed or ended.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum LinkError {
    /// The node cannot take connections.
    #[error("cannot listen on `{address}`; choose another port with `--port`")]
    Listen {
        /// Where.
        address: SocketAddr,
        /// What the system says.
        source: io::Error,
    },
    /// Nobody there, or no way there.
    #[error("cannot reach `{peer}`; check that a daemon listens there and no firewall is between")]
    Unreachable {
        /// Where.
        peer: String,
        /// What the system says.
        source: io::Error,
    },
    /// Something else than a node.
    #[error("`{peer}` does not speak like a node of a cluster; check host and port")]
    Stranger {
        /// Who.
        peer: String,
    },
    /// A node that does not prove the key.
    #[error("`{peer}` has not the key of this cluster; give all nodes the same key file")]
    Key {
        /// Who.
        peer: String,
    },
    /// It ended the connection without a word, as nodes do to whom has not their key.
    #[error(
        "`{peer}` hung up when it saw this node's key, or has no room at the moment; give all nodes the same key file"
    )]
    HungUp {
        /// Who.
        peer: String,
    },
    /// A node that says no.
    #[error("`{peer}` refuses this node: {refusal}")]
    Refused {
        /// Who.
        peer: String,
        /// Why.
        refusal: Refusal,
    },
    /// A node that is refused here.
    #[error("this node refuses `{peer}`: {refusal}")]
    NotTaken {
        /// Who.
        peer: String,
        /// Why.
        refusal: Refusal,
    },
    /// Nothing was heard for too long.
    #[error("`{peer}` said nothing for {} ms; it is taken for dead until it is reached again", after.as_millis())]
    Silent {
        /// Who.
        peer: String,
        /// For how long.
        after: Duration,
    },
    /// Messages that are too long, or were changed on the way.
    #[error("`{peer}` sent what no node sends; run one version of Sintonia on all nodes")]
    Damaged {
        /// Who.
        peer: String,
    },
    /// The other side ended.
    #[error("`{peer}` ended the connection; it is dialed again")]
    Ended {
        /// Who.
        peer: String,
        /// What the system says.
        source: io::Error,
    },
    /// More strangers than are told of one by one.
    #[error(
        "{n_more} further connections of others did not become links; `--bind` says where this node listens"
    )]
    Strangers {
        /// How many.
        n_more: u64,
    },
}

/// Why one node refuses another that has the key.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error, Serialize, Deserialize)]
#[non_exhaustive]
pub enum Refusal {
    /// It speaks another version.
    #[error(
        "versions {ours} and {theirs} do not understand each other; run one version of Sintonia on all nodes"
    )]
    Version {
        /// Of the node that refuses.
        ours: u16,
        /// Of the one that is refused.
        theirs: u16,
    },
    /// Its name, or the number made from it, belongs to another node.
    #[error("the name `{name}` is taken by the node at `{by}`; choose another with `--name`")]
    NameTaken {
        /// The name.
        name: String,
        /// Where the node is that has it.
        by: String,
        /// Its incarnation.
        since: u64,
    },
    /// It is this node itself.
    #[error("it is this node itself")]
    Itself,
    /// There is a link between the two already.
    #[error("there is a link already")]
    Linked,
}

/// Why a message was not queued.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum SendError {
    /// There is no link to that node now.
    #[error("there is no link to that node")]
    NotLinked,
    /// The queue of its link is full.
    #[error("the queue of that node's link is full")]
    Full,
    /// It is longer than any message may be.
    #[error("the message is too long")]
    TooLong,
}
