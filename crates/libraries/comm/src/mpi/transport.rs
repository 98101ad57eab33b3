//! Implements [`Transport`] for an MPI rank.

use super::{Consumer, FIRST_INTERNAL_TAG, MpiTransport, sleep_max};
use crate::collective::{self, CollectiveBackend, Members};
use crate::deadline::Deadline;
use crate::{CommError, Envelope, Tag, Transport};
use mpi::{Pause, Transfer};
use std::sync::Arc;
use std::time::Duration;

impl Transport for MpiTransport {
    fn rank(&self) -> u32 {
        self.peers.own
    }

    fn n_ranks(&self) -> u32 {
        self.peers.n_numbers()
    }

    fn is_present(&self, rank: u32) -> bool {
        self.ended.is_none() && (rank == self.peers.own || self.peers.address(rank).is_ok())
    }

    fn send(&mut self, to: u32, tag: Tag, parts: &[&[u8]]) -> Result<(), CommError> {
        self.check_open()?;
        self.silent = Duration::ZERO;
        self.post(to, u16::from(tag.0), parts)
    }

    fn receive(
        &mut self,
        from: Option<u32>,
        at_most: Duration,
        into: &mut Vec<u8>,
    ) -> Result<Option<Envelope>, CommError> {
        self.check_open()?;
        let mut wait = Pause::at_most(at_most).after(self.silent);
        let wanted = |sender, _| from.is_none_or(|from| from == sender);
        loop {
            if let Some((from, tag)) = self.look(Consumer::User, wanted, into)? {
                self.silent = Duration::ZERO;
                let tag = Tag(u8::try_from(tag).unwrap_or(u8::MAX));
                return Ok(Some(Envelope { from, tag, n_bytes: into.len() }));
            }
            from.map_or(Ok(()), |from| self.peers.address(from).map(drop))?;
            if from.is_none()
                && let Some(rank) = self.peers.unreported.pop_first()
            {
                return Err(CommError::Gone { rank });
            }
            self.look_after_sent()?;
            if !wait.pause(sleep_max(&self.outbox, &self.inboxes)) {
                self.silent = wait.waited();
                return Ok(None);
            }
        }
    }

    fn broadcast(
        &mut self,
        root: u32,
        bytes: &mut Vec<u8>,
        at_most: Duration,
    ) -> Result<(), CommError> {
        let done = collective::broadcast(self, root, bytes, Deadline::after(at_most));
        self.has_missed_collective |= done.is_err();
        done
    }

    fn broadcast_own(&mut self, bytes: Vec<u8>, at_most: Duration) -> Result<(), CommError> {
        let done = collective::broadcast_own(self, bytes, Deadline::after(at_most));
        self.has_missed_collective |= done.is_err();
        done
    }

    fn barrier(&mut self, at_most: Duration) -> Result<(), CommError> {
        let done = collective::barrier(self, Deadline::after(at_most));
        self.has_missed_collective |= done.is_err();
        done
    }

    fn leave(&mut self, at_most: Duration) -> Result<(), CommError> {
        self.check_open()?;
        let left = self.leave_until(Deadline::after(at_most));
        self.has_missed_collective |= left.is_err();
        left?;
        self.finish()
    }

    fn release(&mut self, rank: u32, at_most: Duration) -> Result<(), CommError> {
        self.check_open()?;
        self.release_peer(rank, Deadline::after(at_most))
    }

    fn has_lost_launched(&self) -> bool {
        !self.peers.lost.is_empty()
    }

    fn now_s(&self) -> f64 {
        self.began.elapsed().as_secs_f64()
    }
}

impl MpiTransport {
    fn leave_until(&mut self, deadline: Deadline) -> Result<(), CommError> {
        self.flush(deadline)?;
        if self.peers.is_added() {
            return self.leave_group(deadline);
        }
        for rank in self.peers.present.clone() {
            self.release_peer(rank, deadline)?;
        }
        match self.peers.lost.first() {
            Some(&rank) => Err(CommError::Gone { rank }),
            None => collective::barrier(self, deadline),
        }
    }
}

impl CollectiveBackend for MpiTransport {
    fn members(&self) -> Members<'_> {
        let (own, n_in_tree) = (self.peers.own, self.peers.n_launched);
        Members { own, n_in_tree, outside: &self.peers.present }
    }

    fn next_round(&mut self) -> u32 {
        self.round = self.round.wrapping_add(1);
        self.round
    }

    fn send_internal(&mut self, to: u32, parts: &[&[u8]]) -> Result<(), CommError> {
        self.check_open()?;
        self.post(to, FIRST_INTERNAL_TAG, parts)
    }

    fn send_shared(&mut self, to: u32, bytes: &Arc<Vec<u8>>) -> Result<(), CommError> {
        self.check_open()?;
        let address = self.peers.address(to)?;
        self.make_room(to, bytes.len())?;
        let bytes = Arc::clone(bytes);
        let sent = Transfer::send_shared(&self.mpi, bytes, address, FIRST_INTERNAL_TAG);
        self.keep(to, address, sent)
    }

    fn receive_internal(
        &mut self,
        from: u32,
        deadline: Deadline,
        into: &mut Vec<u8>,
    ) -> Result<bool, CommError> {
        self.receive_own((from, FIRST_INTERNAL_TAG), deadline, into)
    }
}
