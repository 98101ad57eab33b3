//! Introduction of a node: the first message between two nodes.

use serde::{Deserialize, Serialize};

use super::Refusal;
use node_core::interface::{NodeId, node_id};

/// Daemon, as it introduces itself.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Hello {
    /// Name of the node.
    pub name: String,
    /// Address at which it can be dialed: `host:port`.
    pub address: String,
    /// Grows with each start of its daemon.
    pub incarnation: u64,
}

impl Hello {
    /// Number that is made from the name.
    pub fn id(&self) -> NodeId {
        node_id(&self.name)
    }
}

/// Answer to a [`Hello`].
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(super) enum Verdict {
    Welcome(Hello),
    Refused(Refusal),
}

/// Encodes a message with its version in front, the one part that all versions read alike.
pub(super) fn versioned<M: Serialize>(version: u16, message: &M) -> Option<Vec<u8>> {
    postcard::to_stdvec(&(version, message)).ok()
}

/// Splits off the version.
pub(super) fn split_version(bytes: &[u8]) -> Option<(u16, &[u8])> {
    postcard::take_from_bytes(bytes).ok()
}
