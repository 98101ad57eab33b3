//! Sends results to their homes until they are acknowledged.

use std::collections::BTreeMap;

use balancing_policies::Moment;

use crate::book::JournalRecord;
use crate::core::at::At;
use crate::core::node::Node;
use crate::interface::{Attempt, Ended, InstanceId, NodeId, PeerMessage, SharedEnd};

/// Time between two repetitions of a result, in ms.
const REPEAT_MS: u64 = 1_000;
/// Most bytes of output in one message.
const ENDS_BYTES_MAX: usize = 400 << 10;

/// Moment at which each result was last sent; the results are in the book.
#[derive(Debug, Default)]
pub(super) struct Results {
    sent: BTreeMap<Attempt, Moment>,
}

impl Results {
    /// Forgets results that the home has acknowledged.
    pub(super) fn acknowledged(
        &mut self,
        from: NodeId,
        shares: &[InstanceId],
        node: &mut Node,
        at: &mut At<'_>,
    ) {
        let attempts = shares.iter().map(|share| share.of_home(from));
        let known = |attempt: &Attempt| node.book.foreign().contains_key(attempt);
        let attempts = attempts.filter(known).collect::<Vec<_>>();
        if !attempts.is_empty() {
            for attempt in &attempts {
                self.sent.remove(attempt);
            }
            node.record(&JournalRecord::Acknowledged { attempts }, at);
        }
    }

    /// Records a result, and sends it.
    pub(super) fn add(&mut self, ended: Ended, node: &mut Node, at: &mut At<'_>) {
        let attempt = ended.attempt;
        node.record(&JournalRecord::ForeignEnded(ended), at);
        self.send([attempt].into_iter(), node, at);
    }

    /// Sends all results that were last sent long ago.
    pub(super) fn repeat(&mut self, node: &Node, at: &mut At<'_>) {
        let now = at.now.moment;
        let is_due = |attempt: &&Attempt| {
            self.sent.get(attempt).is_none_or(|sent| REPEAT_MS <= now.ms_since(*sent))
        };
        let due = node.book.foreign().keys().filter(is_due).copied().collect::<Vec<_>>();
        self.send(due.into_iter(), node, at);
    }

    fn send(&mut self, attempts: impl Iterator<Item = Attempt>, node: &Node, at: &mut At<'_>) {
        let mut batch = Batch::default();
        for attempt in attempts {
            if node.peers.is_heard(attempt.task.home)
                && let Some(end) = node.book.foreign().get(&attempt).and_then(shared_end)
            {
                self.sent.insert(attempt, at.now.moment);
                batch.add(attempt.task.home, end, at);
            }
        }
        batch.flush(at);
    }
}

/// Results, collected for one home after the other.
#[derive(Default)]
struct Batch {
    home: Option<NodeId>,
    ends: Vec<SharedEnd>,
    n_bytes: usize,
}

impl Batch {
    fn add(&mut self, home: NodeId, end: SharedEnd, at: &mut At<'_>) {
        // The output, one sentence at most, and numbers.
        let n_bytes = end.output.n_bytes() + 512;
        if self.home != Some(home) || ENDS_BYTES_MAX < self.n_bytes + n_bytes {
            self.flush(at);
        }
        self.home = Some(home);
        self.n_bytes += n_bytes;
        self.ends.push(end);
    }

    fn flush(&mut self, at: &mut At<'_>) {
        self.n_bytes = 0;
        let ends = std::mem::take(&mut self.ends);
        if let Some(home) = self.home.filter(|_| !ends.is_empty()) {
            at.out.send(home, PeerMessage::Ended { ends });
        }
    }
}

fn shared_end(ended: &Ended) -> Option<SharedEnd> {
    Some(SharedEnd {
        share: ended.attempt.into(),
        outcome: ended.end.outcome()?,
        started_ms: ended.started_ms,
        ended_ms: ended.ended_ms,
        output: ended.output.clone(),
    })
}
