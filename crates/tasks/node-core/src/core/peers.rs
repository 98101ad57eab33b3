//! Other nodes, and the consequences when one comes, falls silent or leaves.

use std::collections::BTreeMap;

use task_api::Presence;

use super::{At, Core, Nodes};
use crate::interface::{Member, NodeId};

/// Other nodes that are known.
#[derive(Debug, Default)]
pub(super) struct Peers {
    members: BTreeMap<NodeId, Member>,
}

impl Peers {
    pub(super) fn get(&self, node: NodeId) -> Option<&Member> {
        self.members.get(&node)
    }

    pub(super) fn is_up(&self, node: NodeId) -> bool {
        self.get(node).is_some_and(|member| member.presence == Presence::Up)
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
}

impl Core {
    pub(super) fn on_members(&mut self, members: Vec<Member>, at: &mut At<'_>) {
        let members = members.into_iter().map(|member| (member.id, member));
        let me = self.me;
        let now = members.filter(|(id, _)| *id != me).collect::<BTreeMap<_, _>>();
        let before = std::mem::replace(&mut self.peers.members, now);
        self.tell_members(at);
        let was_up = |id| before.get(&id).filter(|member| member.presence == Presence::Up);
        let is_new = |member: &&Member| {
            was_up(member.id).is_none_or(|before| before.incarnation != member.incarnation)
        };
        let up = self.peers.iter().filter(|member| member.presence == Presence::Up);
        let reached = up.filter(is_new).map(|member| member.id).collect::<Nodes>();
        let lost = before.keys().filter(|id| was_up(**id).is_some() && !self.peers.is_up(**id));
        for node in lost.copied().collect::<Nodes>() {
            self.balance.on_lost(node);
        }
        for node in reached {
            self.balance_reached(node, at);
            if self.ready {
                self.renew_whole(node, at);
            }
        }
        self.end_relays_of_lost(at);
        let peers = &self.peers;
        self.clients.waits.keep_heard(|node| peers.is_heard(node));
    }
}
