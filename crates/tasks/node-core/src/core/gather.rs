//! Gathers the status of all nodes: each is asked, and those that do not answer soon are reported as they are known
//! here.

use std::collections::BTreeMap;

use balancing_policies::Moment;
use task_api::{Answer, NodeStatus};

use super::clients::{Asker, ByNumber};
use super::{At, Core, Nodes};
use crate::interface::{ClientId, NodeId, PeerMessage};

/// Time for which answers are awaited, in ms.
const GATHER_MS: u64 = 1_000;

/// Open questions.
#[derive(Debug, Default)]
pub(super) struct Gathering {
    open: ByNumber<Gather>,
    next: u64,
}

#[derive(Debug)]
struct Gather {
    asker: Asker,
    since: Moment,
    missing: Nodes,
    found: BTreeMap<NodeId, NodeStatus>,
}

impl Gathering {
    pub(super) fn gone(&mut self, client: ClientId) {
        self.open.retain(|_, gather| gather.asker != Asker::Client(client));
    }
}

impl Core {
    pub(super) fn gather(&mut self, asker: Asker, at: &mut At<'_>) {
        let ask = self.clients.gathering.next;
        self.clients.gathering.next += 1;
        let nodes = self.peers.iter().map(|member| member.id);
        let missing = nodes.filter(|node| self.peers.is_heard(*node)).collect::<Nodes>();
        for node in &missing {
            at.out.send(*node, PeerMessage::HowAreYou { ask });
        }
        let is_whole = missing.is_empty();
        let gather = Gather { asker, since: at.now.moment, missing, found: BTreeMap::new() };
        self.clients.gathering.open.insert(ask, gather);
        if is_whole {
            self.gathered(ask, at);
        }
    }

    pub(super) fn on_i_am(&mut self, from: NodeId, ask: u64, status: NodeStatus, at: &mut At<'_>) {
        let Some(gather) = self.clients.gathering.open.get_mut(&ask) else { return };
        if gather.missing.remove(&from) {
            gather.found.insert(from, status);
            if gather.missing.is_empty() {
                self.gathered(ask, at);
            }
        }
    }

    pub(super) fn sweep_gathering(&mut self, at: &mut At<'_>) {
        let now = at.now.moment;
        let late = self.clients.gathering.open.iter();
        let late = late.filter(|(_, gather)| GATHER_MS <= now.ms_since(gather.since));
        for ask in late.map(|(ask, _)| *ask).collect::<Vec<_>>() {
            self.gathered(ask, at);
        }
    }

    fn gathered(&mut self, ask: u64, at: &mut At<'_>) {
        let Some(mut gather) = self.clients.gathering.open.remove(&ask) else { return };
        let mut nodes = vec![self.status(at.now)];
        for member in self.peers.iter() {
            let found = gather.found.remove(&member.id);
            nodes.push(found.unwrap_or_else(|| super::status::of_member(member)));
        }
        nodes.sort_by(|a, b| a.node.cmp(&b.node));
        self.answer(gather.asker, Answer::Nodes { nodes }, at);
    }
}
