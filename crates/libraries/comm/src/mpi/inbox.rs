//! Messages that were found but not delivered yet: long ones in transit, and ones not wanted so far.

use super::Buffers;
use mpi::{Mpi, MpiError, Transfer};
use std::collections::VecDeque;

/// Largest number of messages kept.
const N_MAX: usize = 1 << 16;
/// Limit on their bytes; a single message may exceed it.
const BYTES_MAX: usize = 1 << 30;

/// Arriving messages of one consumer (the user's or the transport's own), in the order in which they were
/// found.
#[derive(Debug, Default)]
pub(super) struct Inbox {
    arrivals: VecDeque<Arrival>,
    n_bytes: usize,
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

    /// Returns whether nothing more can be kept until a message is taken.
    pub(super) fn is_full(&self) -> bool {
        N_MAX <= self.arrivals.len() || BYTES_MAX <= self.n_bytes
    }

    /// Returns whether a message of `rank` is kept; later ones of that rank must wait behind it.
    pub(super) fn has_of(&self, rank: u32) -> bool {
        self.arrivals.iter().any(|arrival| arrival.from == rank)
    }

    pub(super) fn keep(&mut self, from: u32, tag: u16, transfer: Transfer) {
        self.n_bytes += transfer.n_bytes();
        self.arrivals.push_back(Arrival { from, tag, transfer });
    }

    /// Drops the messages of a rank that left.
    pub(super) fn forget(&mut self, rank: u32) {
        self.arrivals.retain(|arrival| arrival.from != rank);
        self.n_bytes = self.arrivals.iter().map(|arrival| arrival.transfer.n_bytes()).sum();
    }

    /// Takes the first complete message that is wanted and not behind another wanted message of its sender.
    ///
    /// # Errors
    /// The sender of a message whose transfer failed, and why; all messages of that sender are dropped.
    pub(super) fn take(
        &mut self,
        wanted: impl Fn(u32, u16) -> bool,
        mpi: &Mpi,
        buffers: &mut Buffers,
        into: &mut Vec<u8>,
    ) -> Result<Option<(u32, u16)>, (u32, MpiError)> {
        for at in 0..self.arrivals.len() {
            let Some(arrival) = self.arrivals.get_mut(at) else { break };
            let (sender, tag) = (arrival.from, arrival.tag);
            if !wanted(sender, tag) {
                continue;
            }
            match arrival.transfer.is_complete(mpi) {
                Ok(true) => {}
                Ok(false) => continue,
                Err(error) => {
                    self.forget(sender);
                    return Err((sender, error));
                }
            }
            let is_before =
                |earlier: &Arrival| earlier.from == sender && wanted(sender, earlier.tag);
            if self.arrivals.iter().take(at).any(is_before) {
                continue;
            }
            let Some(arrival) = self.arrivals.remove(at) else { break };
            self.n_bytes -= arrival.transfer.n_bytes();
            let bytes = arrival.transfer.finished().unwrap_or_default();
            buffers.give(Some(std::mem::replace(into, bytes)));
            return Ok(Some((sender, tag)));
        }
        Ok(None)
    }
}
