//! Messages that were found and not handed out yet: long ones on their way, and others than wanted.

use super::buffers::Buffers;
use super::calls::{Mpi, Transfer};
use crate::CommError;
use std::collections::VecDeque;

/// Arriving messages in the order in which they were found.
#[derive(Debug, Default)]
pub(super) struct Inbox {
    arrivals: VecDeque<Arrival>,
}

#[derive(Debug)]
struct Arrival {
    from: u32,
    tag: u16,
    transfer: Transfer,
}

impl Inbox {
    pub(super) fn is_empty(&self) -> bool {
        self.arrivals.is_empty()
    }

    /// Whether there is a message of `rank`, behind which later ones have to wait.
    pub(super) fn has_of(&self, rank: u32) -> bool {
        self.arrivals.iter().any(|arrival| arrival.from == rank)
    }

    pub(super) fn keep(&mut self, from: u32, tag: u16, transfer: Transfer) {
        self.arrivals.push_back(Arrival { from, tag, transfer });
    }

    /// Forgets the messages of a rank that left.
    pub(super) fn forget(&mut self, rank: u32) {
        self.arrivals.retain(|arrival| arrival.from != rank);
    }

    /// The first complete message that is wanted and not behind another of its sender.
    pub(super) fn take(
        &mut self,
        (from, wanted): (Option<u32>, impl Fn(u16) -> bool),
        mpi: &Mpi,
        buffers: &mut Buffers,
        into: &mut Vec<u8>,
    ) -> Result<Option<(u32, u16)>, CommError> {
        for at in 0..self.arrivals.len() {
            let Some(arrival) = self.arrivals.get_mut(at) else { break };
            let sender = arrival.from;
            if !wanted(arrival.tag) || from.is_some_and(|from| from != sender) {
                continue;
            }
            let is_complete = mpi.is_complete(&mut arrival.transfer)?;
            let is_before = |earlier: &Arrival| earlier.from == sender && wanted(earlier.tag);
            if !is_complete || self.arrivals.iter().take(at).any(is_before) {
                continue;
            }
            let Some(arrival) = self.arrivals.remove(at) else { break };
            let bytes = arrival.transfer.finished().unwrap_or_default();
            buffers.give(Some(std::mem::replace(into, bytes)));
            return Ok(Some((sender, arrival.tag)));
        }
        Ok(None)
    }
}
