//! Gathers the status of all nodes: each is asked, and those that do not answer soon are reported as they are known
//! here.

use std::collections::{BTreeMap, BTreeSet};

use balancing_policies::Moment;
use task_api::{DaemonAnswer, NodeStatus};

use super::turn::{Asker, Turn};
use crate::interface::{ClientId, Member, NodeId, PeerMessage};

/// Time for which answers are awaited, in ms.
const GATHER_MS: u64 = 1_000;

/// Open questions.
#[derive(Debug, Default)]
pub(super) struct Gathering {
    open: BTreeMap<u64, Gather>,
    next: u64,
}

#[derive(Debug)]
pub(super) struct Gather {
    asker: Asker,
    since: Moment,
    missing: BTreeSet<NodeId>,
    found: BTreeMap<NodeId, NodeStatus>,
}

impl Gathering {
    /// Asks all nodes that can be reached.
    pub(super) fn ask(&mut self, asker: Asker, turn: &mut Turn<'_>) {
        let peers = &turn.node.peers;
        let ask = self.next;
        self.next += 1;
        let nodes = peers.iter().map(|member| member.id);
        let missing = nodes.filter(|node| peers.is_heard(*node)).collect::<BTreeSet<_>>();
        for node in &missing {
            turn.out.send(*node, PeerMessage::HowAreYou(ask));
        }
        let gather = Gather { asker, since: turn.now.moment, missing, found: BTreeMap::new() };
        self.open.insert(ask, gather);
    }

    pub(super) fn on_i_am(&mut self, from: NodeId, ask: u64, status: NodeStatus) {
        if let Some(gather) = self.open.get_mut(&ask)
            && gather.missing.remove(&from)
        {
            gather.found.insert(from, status);
        }
    }

    pub(super) fn gone(&mut self, client: ClientId) {
        self.open.retain(|_, gather| gather.asker != Asker::Client(client));
    }

    /// Removes the questions that all nodes have answered, or that have waited long enough.
    pub(super) fn take_over(&mut self, now: Moment) -> Vec<Gather> {
        let is_over =
            |gather: &Gather| gather.missing.is_empty() || GATHER_MS <= now.ms_since(gather.since);
        self.open.extract_if(.., |_, gather| is_over(gather)).map(|(_, gather)| gather).collect()
    }
}

impl Gather {
    /// Answers the client, with this node's own status.
    pub(super) fn answer(mut self, own: NodeStatus, turn: &mut Turn<'_>) {
        let mut nodes = vec![own];
        for member in turn.node.peers.iter() {
            let found = self.found.remove(&member.id);
            nodes.push(found.unwrap_or_else(|| of_member(member)));
        }
        nodes.sort_by(|a, b| a.node.cmp(&b.node));
        turn.answer(self.asker, DaemonAnswer::Nodes { nodes });
    }
}

/// Status of another node, as far as it is known here.
fn of_member(member: &Member) -> NodeStatus {
    NodeStatus {
        node: member.name.clone(),
        address: member.address.clone(),
        presence: member.presence,
        n_cores: member.n_cores,
        speed: member.speed,
        ..NodeStatus::default()
    }
}
