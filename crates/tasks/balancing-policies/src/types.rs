//! Basic types of balancing: nodes, moments, loads.

use serde::{Deserialize, Serialize};

/// Id of a node, assigned by the driver; any number, unique among the members.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct NodeId(pub u32);

impl std::fmt::Display for NodeId {
    fn fmt(&self, to: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        self.0.fmt(to)
    }
}

/// Nanoseconds of a monotonic clock. Each node has its own; moments are never sent.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize,
)]
pub struct Moment(pub u64);

impl Moment {
    /// The moment `ms` milliseconds later.
    pub const fn plus_ms(self, ms: u64) -> Self {
        Self(self.0.saturating_add(ms.saturating_mul(1_000_000)))
    }

    /// Milliseconds since an earlier moment; 0 when it is not earlier.
    pub const fn ms_since(self, earlier: Self) -> u64 {
        self.0.saturating_sub(earlier.0) / 1_000_000
    }
}

/// Load of a node, as its driver measured it.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct NodeLoad {
    /// Tasks that run.
    pub n_running: u32,
    /// Tasks that wait here and may still be moved, without those on their way to another node.
    pub n_queued: u32,
    /// Cores that tasks may use.
    pub n_cores: u32,
    /// Speed of one core, in the unit of [`Peer::speed`](crate::Peer::speed).
    pub speed: f64,
}

impl NodeLoad {
    /// Load of a node without tasks.
    pub const fn idle(n_cores: u32, speed: f64) -> Self {
        Self { n_running: 0, n_queued: 0, n_cores, speed }
    }
}
