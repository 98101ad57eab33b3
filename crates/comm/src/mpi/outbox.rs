//! Messages that were sent and not taken yet.

use super::buffers::Buffers;
use super::calls::{Mpi, Transfer};
use super::wait::Wait;
use crate::CommError;
use crate::deadline::Deadline;
use std::collections::VecDeque;
use std::time::Duration;

/// Bytes on their way; one message may always be.
const BYTES_MAX: usize = 256 << 20;
/// Messages on their way.
const N_MAX: usize = 4096;
/// How long a sender waits for room.
const PATIENCE: Duration = Duration::from_secs(10);

/// Messages on their way, in the order in which they were sent.
#[derive(Debug, Default)]
pub(super) struct Outbox {
    departures: VecDeque<Departure>,
    n_bytes: usize,
}

#[derive(Debug)]
struct Departure {
    to: u32,
    n_bytes: usize,
    transfer: Transfer,
}

impl Outbox {
    pub(super) fn keep(&mut self, to: u32, n_bytes: usize, transfer: Transfer) {
        self.n_bytes += n_bytes;
        self.departures.push_back(Departure { to, n_bytes, transfer });
    }

    /// Receives back the buffers of those that were taken, the oldest first.
    pub(super) fn look_after(&mut self, mpi: &Mpi, buffers: &mut Buffers) -> Result<(), CommError> {
        while let Some(departure) = self.departures.front_mut() {
            if !mpi.is_complete(&mut departure.transfer)? {
                break;
            }
            self.drop_done(buffers);
        }
        Ok(())
    }

    /// The receiver of the oldest message that is still on its way.
    pub(super) fn first(
        &mut self,
        mpi: &Mpi,
        buffers: &mut Buffers,
    ) -> Result<Option<u32>, CommError> {
        self.look_after(mpi, buffers)?;
        Ok(self.departures.front().map(|departure| departure.to))
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
            for departure in &mut self.departures {
                mpi.is_complete(&mut departure.transfer)?;
            }
            self.drop_done(buffers);
            if self.has_room(n_bytes) {
                return Ok(());
            }
            if !wait.pause() {
                return Err(CommError::NoRoom { rank, n_bytes: self.n_bytes });
            }
        }
    }

    fn has_room(&self, n_bytes: usize) -> bool {
        let is_short = self.n_bytes + n_bytes <= BYTES_MAX && self.departures.len() < N_MAX;
        is_short || self.departures.is_empty()
    }

    fn drop_done(&mut self, buffers: &mut Buffers) {
        for _ in 0..self.departures.len() {
            let Some(departure) = self.departures.pop_front() else { break };
            if departure.transfer.is_done() {
                self.n_bytes -= departure.n_bytes;
                buffers.give(departure.transfer.finished());
            } else {
                self.departures.push_back(departure);
            }
        }
    }
}
