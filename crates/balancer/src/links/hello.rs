//! Who a node is: the first thing that two nodes say to each other.

use serde::{Deserialize, Serialize};

use super::Refusal;
use crate::core::words::{NodeId, node_id};

/// A daemon, as it introduces itself.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Hello {
    /// The node's name.
    pub name: String,
    /// Where it can be dialed: `host:port`.
    pub address: String,
    /// Grows with each start of its daemon.
    pub incarnation: u64,
}

impl Hello {
    /// The number that is made from its name.
    pub fn id(&self) -> NodeId {
        node_id(&self.name)
    }
}

/// The answer to a [`Hello`].
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(super) enum Verdict {
    Welcome(Hello),
    Refused(Refusal),
}

/// Puts the version in front: it is the one thing that all versions read alike.
pub(super) fn versioned<M: Serialize>(version: u16, message: &M) -> Option<Vec<u8>> {
    postcard::to_stdvec(&(version, message)).ok()
}

/// The version, and what is behind it.
pub(super) fn split_version(bytes: &[u8]) -> Option<(u16, &[u8])> {
    postcard::take_from_bytes(bytes).ok()
}
