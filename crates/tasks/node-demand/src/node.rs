//! Node of the cluster, as the rule sees it.

/// Node that is up.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Node {
    /// Name of the node.
    pub name: String,
    /// Cores of the node.
    pub n_cores: u64,
    /// Tasks that run there.
    pub n_running: u64,
    /// Tasks that wait there.
    pub n_queued: u64,
    /// Cores that those of them ask for that may run.
    pub n_wanted: u64,
    /// Tasks of the node that others hold.
    pub n_leased: u64,
    /// Tasks that have ended there.
    pub n_ended: u64,
    /// Slot of the job that it belongs to; `None` for nodes that others started.
    pub slot: Option<u32>,
}

impl Node {
    /// Returns whether it has nothing to do, and nothing to wait for.
    pub fn is_idle(&self) -> bool {
        self.n_running + self.n_queued + self.n_leased == 0
    }
}
