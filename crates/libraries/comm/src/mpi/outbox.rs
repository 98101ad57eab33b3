//! Sends that are not complete yet.

use super::Buffers;
use mpi::{Mpi, MpiError, Transfer};

/// Limit on bytes in transit; a single message may exceed it.
const BYTES_MAX: usize = 256 << 20;
/// Largest number of messages in transit.
const N_MAX: usize = 4096;
/// Number of incomplete messages tested in one pass.
const N_LOOKS: usize = 4;

/// Messages in transit, in no particular order.
#[derive(Debug, Default)]
pub(super) struct Outbox {
    departures: Vec<Departure>,
    n_bytes: usize,
    /// Index of the message tested next.
    cursor: usize,
}

#[derive(Debug)]
struct Departure {
    to: u32,
    n_bytes: usize,
    transfer: Transfer,
}

impl Outbox {
    pub(super) fn is_empty(&self) -> bool {
        self.departures.is_empty()
    }

    pub(super) fn keep(&mut self, to: u32, n_bytes: usize, transfer: Transfer) {
        self.n_bytes += n_bytes;
        self.departures.push(Departure { to, n_bytes, transfer });
    }

    /// Reclaims the buffers of completed sends.
    ///
    /// # Errors
    /// The receiver of a message whose transfer failed, which is dropped, and why.
    pub(super) fn look_after(
        &mut self,
        mpi: &Mpi,
        buffers: &mut Buffers,
    ) -> Result<(), (u32, MpiError)> {
        let mut n_in_vain = 0;
        while n_in_vain < N_LOOKS.min(self.departures.len()) {
            self.cursor = if self.cursor < self.departures.len() { self.cursor } else { 0 };
            let Some(departure) = self.departures.get_mut(self.cursor) else { break };
            let is_complete = departure.transfer.is_complete(mpi);
            if is_complete == Ok(false) {
                self.cursor += 1;
                n_in_vain += 1;
                continue;
            }
            let departure = self.departures.swap_remove(self.cursor);
            self.n_bytes -= departure.n_bytes;
            is_complete.map_err(|error| (departure.to, error))?;
            buffers.give(departure.transfer.finished());
        }
        Ok(())
    }

    /// Returns the receiver of some message in transit.
    pub(super) fn first(&self) -> Option<u32> {
        self.departures.first().map(|departure| departure.to)
    }

    /// Returns the number of bytes in transit.
    pub(super) fn n_bytes(&self) -> usize {
        self.n_bytes
    }

    /// Returns whether another message of this length may be sent.
    pub(super) fn has_room(&self, n_bytes: usize) -> bool {
        let is_short = self.n_bytes + n_bytes <= BYTES_MAX && self.departures.len() < N_MAX;
        is_short || self.departures.is_empty()
    }
}
