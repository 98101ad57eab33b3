//! Actions of a core in order; those that wait for the disk are kept apart.

use balancing_policies::Moment;
use task_api::{DaemonAnswer, Presence};

use crate::book::JournalRecord;
use crate::interface::{ClientId, CoreTimer, KeeperOrder, NodeId, Out, PeerMessage};

/// Action of a core; its entry in `gated` has the number of records that were appended before it.
pub(super) enum Act {
    Send(NodeId, PeerMessage),
    Answer(DaemonAnswer),
    Forget(KeeperOrder),
}

#[derive(Default)]
pub(super) struct Acts {
    pub(super) n_records: usize,
    pub(super) records: Vec<JournalRecord>,
    pub(super) gated: Vec<(usize, Act)>,
    pub(super) at_once: Vec<Act>,
    pub(super) orders: Vec<KeeperOrder>,
    pub(super) timers: Vec<(CoreTimer, Moment)>,
    pub(super) left: bool,
}

impl Out for Acts {
    fn send(&mut self, to: NodeId, message: PeerMessage) {
        // Every message can be encoded, and is the same when decoded.
        let message = PeerMessage::decode(&message.encode().unwrap()).unwrap();
        if message.needs_disk() {
            self.gated.push((self.n_records, Act::Send(to, message)));
        } else {
            self.at_once.push(Act::Send(to, message));
        }
    }

    fn answer(&mut self, _client: ClientId, answer: DaemonAnswer) {
        self.gated.push((self.n_records, Act::Answer(answer)));
    }

    fn keeper(&mut self, order: KeeperOrder) {
        match order {
            KeeperOrder::Forget(_) => self.gated.push((self.n_records, Act::Forget(order))),
            _ => self.orders.push(order),
        }
    }

    fn timer(&mut self, timer: CoreTimer, at: Moment) {
        self.timers.push((timer, at));
    }

    fn presence(&mut self, _presence: Presence) {}

    fn append(&mut self, record: &JournalRecord) {
        self.records.push(record.clone());
        self.n_records += 1;
    }

    fn leave(&mut self) {
        self.left = true;
    }
}
