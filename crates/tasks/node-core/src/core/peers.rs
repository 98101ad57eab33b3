//! Other nodes of the cluster, and their names.

use std::collections::{BTreeMap, BTreeSet};

use task_api::Presence;

use crate::interface::{Member, NodeId};

/// Other nodes that are known.
#[derive(Debug, Default)]
pub(super) struct Peers {
    members: BTreeMap<NodeId, Member>,
}

/// Nodes that can be reached now and could not before, or whose daemon has restarted, and those that are lost.
pub(super) struct PeerChanges {
    pub(super) reached: BTreeSet<NodeId>,
    pub(super) lost: BTreeSet<NodeId>,
}

impl Peers {
    pub(super) fn get(&self, node: NodeId) -> Option<&Member> {
        self.members.get(&node)
    }

    pub(super) fn is_up(&self, node: NodeId) -> bool {
        self.up(node).is_some()
    }

    fn up(&self, node: NodeId) -> Option<&Member> {
        self.get(node).filter(|member| member.presence == Presence::Up)
    }

    /// All nodes that are up.
    pub(super) fn all_up(&self) -> Vec<NodeId> {
        self.members.keys().copied().filter(|node| self.is_up(*node)).collect()
    }

    /// Returns whether a node can be asked: it is up, or about to leave.
    pub(super) fn is_heard(&self, node: NodeId) -> bool {
        let heard = |member: &Member| matches!(member.presence, Presence::Up | Presence::Stopping);
        self.get(node).is_some_and(heard)
    }

    pub(super) fn by_name(&self, name: &str) -> Option<&Member> {
        self.members.values().find(|member| member.name == name)
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = &Member> {
        self.members.values()
    }

    pub(super) fn name_of(&self, node: NodeId) -> String {
        let unknown = || format!("node-{:08x}", node.0);
        self.get(node).map_or_else(unknown, |member| member.name.clone())
    }

    /// Replaces all other nodes.
    pub(super) fn replace(&mut self, members: impl Iterator<Item = Member>) -> PeerChanges {
        let members = members.map(|member| (member.id, member)).collect();
        let before = Self { members: std::mem::replace(&mut self.members, members) };
        let is_new = |id: &NodeId| {
            let incarnation = |peers: &Self| peers.up(*id).map(|member| member.incarnation);
            self.is_up(*id) && incarnation(&before) != incarnation(self)
        };
        let is_lost = |id: &NodeId| before.is_up(*id) && !self.is_up(*id);
        PeerChanges {
            reached: self.members.keys().copied().filter(is_new).collect(),
            lost: before.members.keys().copied().filter(is_lost).collect(),
        }
    }
}
