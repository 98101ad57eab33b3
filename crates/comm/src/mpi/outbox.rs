//! Messages that were sent and not taken yet.

use super::buffers::Buffers;
use super::calls::{Mpi, Transfer};
use super::wait::Wait;
use crate::CommError;
use crate::deadline::Deadline;
use std::time::Duration;

/// Bytes on their way; one message may always be.
const BYTES_MAX: usize = 256 << 20;
/// Messages on their way.
const N_MAX: usize = 4096;
/// How long a sender waits for room.
const PATIENCE: Duration = Duration::from_secs(10);
/// Messages that are looked at in vain before other things are done.
const N_LOOKS: usize = 4;

/// Messages on their way, in no order.
#[derive(Debug, Default)]
pub(super) struct Outbox {
    departures: Vec<Departure>,
    n_bytes: usize,
    /// The message that is looked at next.
    turn: usize,
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

    /// Gets the buffers of messages back that were taken.
    pub(super) fn look_after(&mut self, mpi: &Mpi, buffers: &mut Buffers) -> Result<(), CommError> {
        let mut n_in_vain = 0;
        while n_in_vain < N_LOOKS.min(self.departures.len()) {
            self.turn = if self.turn < self.departures.len() { self.turn } else { 0 };
            let Some(departure) = self.departures.get_mut(self.turn) else { break };
            if mpi.is_complete(&mut departure.transfer)? {
                let departure = self.departures.swap_remove(self.turn);
                self.n_bytes -= departure.n_bytes;
                buffers.give(departure.transfer.finished());
            } else {
                self.turn += 1;
                n_in_vain += 1;
            }
        }
        Ok(())
    }

    /// The receiver of a message that is still on its way.
    pub(super) fn first(
        &mut self,
        mpi: &Mpi,
        buffers: &mut Buffers,
    ) -> Result<Option<u32>, CommError> {
        self.look_after(mpi, buffers)?;
        Ok(self.departures.first().map(|departure| departure.to))
    }

    /// Waits until a further message may be sent: number of its receiver, and its length.
    pub(super) fn make_room(
        &mut self,
        mpi: &Mpi,
        buffers: &mut Buffers,
        (rank, n_bytes): (u32, usize),
    ) -> Result<(), CommError> {
        if self.has_room(n_bytes) {
            return Ok(());
        }
        let mut wait = Wait::until(Deadline::after(PATIENCE));
        loop {
            self.look_after(mpi, buffers)?;
            if self.has_room(n_bytes) {
                return Ok(());
            }
            if !wait.pause(true) {
                return Err(CommError::NoRoom { rank, n_bytes: self.n_bytes });
            }
        }
    }

    fn has_room(&self, n_bytes: usize) -> bool {
        let is_short = self.n_bytes + n_bytes <= BYTES_MAX && self.departures.len() < N_MAX;
        is_short || self.departures.is_empty()
    }
}
