//! Questions of clients that another node has to answer.

use balanced::{Answer, Request};
use balancing::Moment;

use super::clients::{Asker, ByNumber};
use super::words::{ClientId, NodeId, PeerMessage};
use super::{At, Core};

/// How long an answer may take.
const ANSWER_MS: u64 = 10_000;

/// Questions that were passed on.
#[derive(Debug, Default)]
pub(super) struct Relaying {
    open: ByNumber<Relay>,
    next: u64,
}

#[derive(Debug)]
struct Relay {
    client: ClientId,
    to: NodeId,
    /// The start of its daemon that was asked: another one knows nothing of the question.
    incarnation: u64,
    /// When something was said last; nothing where the answer may take as long as tasks do.
    since: Option<Moment>,
}

impl Relaying {
    fn of_client(&self, client: ClientId) -> Option<(u64, NodeId)> {
        let relay = self.open.iter().find(|(_, relay)| relay.client == client);
        relay.map(|(ask, relay)| (*ask, relay.to))
    }
}

impl Core {
    pub(super) fn relay(
        &mut self,
        client: ClientId,
        home: &str,
        request: Request,
        at: &mut At<'_>,
    ) {
        let heard = self.peers.by_name(home).filter(|member| self.peers.is_heard(member.id));
        let Some((to, incarnation)) = heard.map(|member| (member.id, member.incarnation)) else {
            let sentence = match self.peers.by_name(home) {
                Some(member) => format!("`{home}` is {}: ask again when it is up", member.presence),
                None => format!("no node `{home}` is known: `sintonia nodes` lists those that are"),
            };
            self.refuse(Asker::Client(client), sentence, at);
            return;
        };
        let ask =
            self.options.incarnation.wrapping_shl(20).wrapping_add(self.clients.relaying.next);
        self.clients.relaying.next += 1;
        let takes_long = matches!(request, Request::Wait { .. });
        let since = (!takes_long).then_some(at.now.moment);
        self.clients.relaying.open.insert(ask, Relay { client, to, incarnation, since });
        at.out.send(to, PeerMessage::Ask { ask, request });
    }

    /// Passes it on that the client is ready, if another node answers it.
    pub(super) fn relay_more(&mut self, client: ClientId, at: &mut At<'_>) -> bool {
        let Some((ask, to)) = self.clients.relaying.of_client(client) else { return false };
        at.out.send(to, PeerMessage::Ask { ask, request: Request::More });
        true
    }

    pub(super) fn on_answer(&mut self, from: NodeId, ask: u64, answer: Answer, at: &mut At<'_>) {
        let relay = self.clients.relaying.open.get(&ask).filter(|relay| relay.to == from);
        let Some(client) = relay.map(|relay| relay.client) else { return };
        if answer.is_last() {
            self.clients.relaying.open.remove(&ask);
        }
        at.out.answer(client, answer);
    }

    pub(super) fn relay_gone(&mut self, client: ClientId, at: &mut At<'_>) {
        while let Some((ask, to)) = self.clients.relaying.of_client(client) {
            self.clients.relaying.open.remove(&ask);
            at.out.send(to, PeerMessage::AskGone { ask });
        }
    }

    /// What was asked of a node that is not heard any more will not be answered.
    pub(super) fn end_relays_of_lost(&mut self, at: &mut At<'_>) {
        let peers = &self.peers;
        let same = |relay: &Relay| {
            peers.get(relay.to).is_some_and(|member| member.incarnation == relay.incarnation)
        };
        let lost = |relay: &Relay| !peers.is_heard(relay.to) || !same(relay);
        self.end_relays(lost_ones(&self.clients.relaying, lost), "is not heard any more", at);
    }

    pub(super) fn sweep_relaying(&mut self, at: &mut At<'_>) {
        let now = at.now.moment;
        let late =
            |relay: &Relay| relay.since.is_some_and(|since| ANSWER_MS <= now.ms_since(since));
        self.end_relays(lost_ones(&self.clients.relaying, late), "did not answer in time", at);
    }

    fn end_relays(&mut self, asks: Vec<u64>, why: &str, at: &mut At<'_>) {
        for ask in asks {
            if let Some(relay) = self.clients.relaying.open.remove(&ask) {
                let sentence = format!("`{}` {why}: ask again", self.name_of(relay.to));
                self.refuse(Asker::Client(relay.client), sentence, at);
            }
        }
    }
}

fn lost_ones(relaying: &Relaying, is_lost: impl Fn(&Relay) -> bool) -> Vec<u64> {
    let lost = relaying.open.iter().filter(|(_, relay)| is_lost(relay));
    lost.map(|(ask, _)| *ask).collect()
}
