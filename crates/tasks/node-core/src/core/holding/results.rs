//! Sends results to their homes until they are acknowledged.

use std::collections::BTreeMap;

use balancing_policies::Moment;

use crate::book::JournalRecord;
use crate::core::turn::Turn;
use crate::interface::{Attempt, EndedAttempt, InstanceId, NodeId, PeerMessage, SharedEnd};

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
        turn: &mut Turn<'_>,
    ) {
        let attempts = shares.iter().map(|share| share.of_home(from));
        let known = |attempt: &Attempt| turn.node.book.foreign().contains_key(attempt);
        let attempts = attempts.filter(known).collect::<Vec<_>>();
        if !attempts.is_empty() {
            for attempt in &attempts {
                self.sent.remove(attempt);
            }
            turn.record(&JournalRecord::Acknowledged(attempts));
        }
    }

    /// Records a result, and sends it.
    pub(super) fn add(&mut self, ended: EndedAttempt, turn: &mut Turn<'_>) {
        let attempt = ended.attempt;
        turn.record(&JournalRecord::of_foreign_end(ended));
        self.send([attempt].into_iter(), turn);
    }

    /// Sends all results that were last sent long ago.
    pub(super) fn repeat(&mut self, turn: &mut Turn<'_>) {
        let now = turn.now.moment;
        let is_due = |attempt: &&Attempt| {
            self.sent.get(attempt).is_none_or(|sent| REPEAT_MS <= now.ms_since(*sent))
        };
        let due = turn.node.book.foreign().keys().filter(is_due).copied().collect::<Vec<_>>();
        self.send(due.into_iter(), turn);
    }

    fn send(&mut self, attempts: impl Iterator<Item = Attempt>, turn: &mut Turn<'_>) {
        let mut batch = Batch::default();
        for attempt in attempts {
            if turn.node.peers.is_heard(attempt.task.home)
                && let Some(end) = turn.node.book.foreign().get(&attempt).and_then(shared_end)
            {
                self.sent.insert(attempt, turn.now.moment);
                batch.add(attempt.task.home, end, turn);
            }
        }
        batch.flush(turn);
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
    fn add(&mut self, home: NodeId, end: SharedEnd, turn: &mut Turn<'_>) {
        // The output, one sentence at most, and numbers.
        let n_bytes = end.output.n_bytes() + 512;
        if self.home != Some(home) || ENDS_BYTES_MAX < self.n_bytes + n_bytes {
            self.flush(turn);
        }
        self.home = Some(home);
        self.n_bytes += n_bytes;
        self.ends.push(end);
    }

    fn flush(&mut self, turn: &mut Turn<'_>) {
        self.n_bytes = 0;
        let ends = std::mem::take(&mut self.ends);
        if let Some(home) = self.home.filter(|_| !ends.is_empty()) {
            turn.out.send(home, PeerMessage::Ended(ends));
        }
    }
}

fn shared_end(ended: &EndedAttempt) -> Option<SharedEnd> {
    Some(SharedEnd {
        share: ended.attempt.into(),
        outcome: ended.end.outcome()?,
        started_ms: ended.started_ms,
        ended_ms: ended.ended_ms,
        output: ended.output.clone(),
        usage: ended.usage,
    })
}
