//! Sends results to their homes until they are acknowledged.

use super::{
    At, Attempt, Core, Ended, InstanceId, JournalRecord, NodeId, PeerMessage, RENEW_MS, SharedEnd,
    attempt_of, share_of,
};

/// Most bytes of output in one message.
const ENDS_BYTES_MAX: usize = 400 << 10;

impl Core {
    /// Forgets results that the home has acknowledged.
    pub(in crate::core) fn on_acknowledged(
        &mut self,
        from: NodeId,
        shares: &[InstanceId],
        at: &mut At<'_>,
    ) {
        let attempts = shares.iter().map(|share| attempt_of(from, *share));
        let known = |attempt: &Attempt| self.book.foreign().contains_key(attempt);
        let attempts = attempts.filter(known).collect::<Vec<_>>();
        if !attempts.is_empty() {
            for attempt in &attempts {
                self.holding.told.remove(attempt);
            }
            self.record(&JournalRecord::Acknowledged { attempts }, at);
        }
    }

    /// Records the result of another home's task, and sends it until it is acknowledged.
    pub(super) fn held_over(&mut self, ended: Ended, at: &mut At<'_>) {
        let attempt = ended.attempt;
        self.holding.forget(attempt);
        self.record(&JournalRecord::ForeignEnded(ended), at);
        self.tell_results(Some(attempt), at);
    }

    /// Sends results to their homes: one that is new, or all that were last sent long ago.
    pub(super) fn tell_results(&mut self, new: Option<Attempt>, at: &mut At<'_>) {
        let now = at.now.moment;
        let told = &self.holding.told;
        let is_due = |attempt: &Attempt| {
            told.get(attempt).is_none_or(|told| RENEW_MS <= now.ms_since(*told))
        };
        let results = self.book.foreign();
        let due = match new {
            Some(attempt) => vec![attempt],
            None => results.keys().copied().filter(is_due).collect::<Vec<_>>(),
        };
        let mut batch = Batch::default();
        for attempt in due {
            if self.peers.is_heard(attempt.task.home)
                && let Some(end) = results.get(&attempt).and_then(shared_end)
            {
                self.holding.told.insert(attempt, now);
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
        share: share_of(ended.attempt),
        outcome: ended.end.outcome()?,
        started_ms: ended.started_ms,
        ended_ms: ended.ended_ms,
        output: ended.output.clone(),
    })
}
