//! Event in progress: its time, and the receiver of what follows from it.

use task_api::Answer;

use crate::interface::{ClientId, NodeId, Now, Out, PeerMessage};

/// Sender of a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Asker {
    /// A client of this node.
    Client(ClientId),
    /// Client of another node, with that node's number for the question.
    Peer(NodeId, u64),
}

/// Time of an event, and the receiver of the core's output.
pub(super) struct At<'a> {
    pub(super) now: Now,
    pub(super) out: &'a mut dyn Out,
}

impl At<'_> {
    pub(super) fn answer(&mut self, asker: Asker, answer: Answer) {
        match asker {
            Asker::Client(client) => self.out.answer(client, answer),
            Asker::Peer(node, ask) => self.out.send(node, PeerMessage::Answer { ask, answer }),
        }
    }

    pub(super) fn refuse(&mut self, asker: Asker, sentence: String) {
        self.answer(asker, Answer::Refused { sentence });
    }
}
