//! Ranks that are threads of one process.
//!
//! Every rank has a [`Mailbox`] into which the others put messages. Buffers circulate:
//! a receiver leaves its old one in the mailbox, where the next sender finds it.

mod mailbox;

use crate::collective::{self, CollectiveBackend, Members};
use crate::deadline::Deadline;
use crate::{CommError, Envelope, Tag, Transport};
use mailbox::{Consumer, Mailbox};
use std::sync::{Arc, PoisonError, RwLock};
use std::time::{Duration, Instant};

/// Creates the ends of a group of `n_ranks` ranks, each to be moved to its thread.
#[must_use]
pub fn threads(n_ranks: u32) -> Vec<ThreadTransport> {
    let began = Instant::now();
    let group: Arc<Group> = Arc::default();
    let mut mailboxes = write(&group);
    mailboxes.extend((0..n_ranks).map(|_| Arc::<Mailbox>::default()));
    drop(mailboxes);
    (0..n_ranks).map(|rank| ThreadTransport::new(rank, Arc::clone(&group), began)).collect()
}

/// Mailboxes of all ranks.
type Group = RwLock<Vec<Arc<Mailbox>>>;

/// End of a rank that is a thread.
///
/// When it is dropped without [`leave`](Transport::leave), as by a panic, the others are told that the
/// rank is gone.
#[derive(Debug)]
pub struct ThreadTransport {
    rank: u32,
    began: Instant,
    group: Arc<Group>,
    /// Mailboxes known so far, by rank.
    known: Vec<Arc<Mailbox>>,
    /// By rank: true if this rank was told, or need not be told, that the other one ended.
    told: Vec<bool>,
    /// The other ranks that are present, for collective operations.
    others: Vec<u32>,
    round: u32,
}

impl ThreadTransport {
    fn new(rank: u32, group: Arc<Group>, began: Instant) -> Self {
        let (known, told, others) = (Vec::new(), Vec::new(), Vec::new());
        let mut end = Self { rank, began, group, known, told, others, round: 0 };
        end.look();
        end
    }

    /// Adds a rank to the group; returns its end, to be moved to its thread.
    ///
    /// # Errors
    /// [`CommError::NotPresent`] when this is not rank 0.
    pub fn add_rank(&mut self) -> Result<Self, CommError> {
        if self.rank != 0 {
            return Err(CommError::NotPresent { rank: 0, own: self.rank });
        }
        let rank = {
            let mut mailboxes = write(&self.group);
            mailboxes.push(Arc::default());
            last_number(&mailboxes)
        };
        self.look();
        let mut end = Self::new(rank, Arc::clone(&self.group), self.began);
        end.round = self.round;
        Ok(end)
    }

    /// Updates the known mailboxes and the ranks that are present.
    fn look(&mut self) {
        let mailboxes = self.group.read().unwrap_or_else(PoisonError::into_inner);
        let new = mailboxes.iter().skip(self.known.len()).cloned();
        self.known.extend(new);
        drop(mailboxes);
        self.told.resize(self.known.len(), false);
        self.others.clear();
        let numbered = (0..).zip(&self.known);
        let present = numbered.filter(|(rank, mailbox)| *rank != self.rank && mailbox.is_open());
        self.others.extend(present.map(|(rank, _)| rank));
    }

    fn mailbox(&mut self, rank: u32) -> Result<&Mailbox, CommError> {
        let at = rank as usize;
        if self.known.len() <= at {
            self.look();
        }
        let own = self.rank;
        let found = self.known.get(at).filter(|_| rank != own);
        found.map(AsRef::as_ref).ok_or(CommError::NotPresent { rank, own })
    }

    fn put(&mut self, to: u32, consumer: Consumer, parts: &[&[u8]]) -> Result<(), CommError> {
        let own = self.rank;
        self.mailbox(to)?.put((own, to), consumer, parts)
    }

    fn own(&self) -> &Mailbox {
        &self.known[self.rank as usize]
    }

    /// Returns the reason why no message of `from` will come, or the loss of a rank not reported to this
    /// one yet.
    fn news(&mut self, from: Option<u32>) -> Option<CommError> {
        if let Some(rank) = from {
            let own = self.rank;
            return self.mailbox(rank).map_or_else(Some, |mailbox| mailbox.ended((own, rank)));
        }
        let mut numbered = (0..).zip(self.known.iter().zip(&self.told));
        let (rank, _) = numbered.find(|(_, (mailbox, told))| mailbox.is_gone() && !**told)?;
        self.told[rank as usize] = true;
        Some(CommError::Gone { rank })
    }
}

impl Transport for ThreadTransport {
    fn rank(&self) -> u32 {
        self.rank
    }

    fn n_ranks(&self) -> u32 {
        last_number(&self.group.read().unwrap_or_else(PoisonError::into_inner)) + 1
    }

    fn is_present(&self, rank: u32) -> bool {
        let mailboxes = self.group.read().unwrap_or_else(PoisonError::into_inner);
        mailboxes.get(rank as usize).is_some_and(|mailbox| mailbox.is_open())
    }

    fn send(&mut self, to: u32, tag: Tag, parts: &[&[u8]]) -> Result<(), CommError> {
        self.put(to, Consumer::User(tag), parts)
    }

    fn receive(
        &mut self,
        from: Option<u32>,
        at_most: Duration,
        into: &mut Vec<u8>,
    ) -> Result<Option<Envelope>, CommError> {
        let deadline = Deadline::after(at_most);
        loop {
            let n_arrived = self.own().n_arrived();
            let wanted = |sender, consumer| {
                from.is_none_or(|from| from == sender) && consumer != Consumer::Collectives
            };
            if let Some((from, Consumer::User(tag))) = self.own().take(wanted, into) {
                return Ok(Some(Envelope { from, tag, n_bytes: into.len() }));
            }
            self.look();
            if let Some(gone) = self.news(from) {
                return Err(gone);
            }
            if !self.own().wait(n_arrived, deadline) {
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
        self.look();
        collective::broadcast(self, root, bytes, Deadline::after(at_most))
    }

    fn barrier(&mut self, at_most: Duration) -> Result<(), CommError> {
        self.look();
        collective::barrier(self, Deadline::after(at_most))
    }

    fn leave(&mut self, _at_most: Duration) -> Result<(), CommError> {
        self.own().leave();
        self.known.iter().for_each(|mailbox| mailbox.wake());
        Ok(())
    }

    fn release(&mut self, rank: u32, at_most: Duration) -> Result<(), CommError> {
        let deadline = Deadline::after(at_most);
        loop {
            let n_arrived = self.own().n_arrived();
            if !self.mailbox(rank)?.is_open() {
                self.told[rank as usize] = true;
                return Ok(());
            }
            if !self.own().wait(n_arrived, deadline) {
                return Err(deadline.late("the departure", rank));
            }
        }
    }

    fn now_s(&self) -> f64 {
        self.began.elapsed().as_secs_f64()
    }
}

impl CollectiveBackend for ThreadTransport {
    fn members(&self) -> Members<'_> {
        Members { own: self.rank, n_in_tree: 0, outside: &self.others }
    }

    fn next_round(&mut self) -> u32 {
        self.round = self.round.wrapping_add(1);
        self.round
    }

    fn send_internal(&mut self, to: u32, parts: &[&[u8]]) -> Result<(), CommError> {
        self.put(to, Consumer::Collectives, parts)
    }

    fn receive_internal(
        &mut self,
        from: u32,
        deadline: Deadline,
        into: &mut Vec<u8>,
    ) -> Result<bool, CommError> {
        loop {
            let n_arrived = self.own().n_arrived();
            if self
                .own()
                .take(|sender, consumer| sender == from && consumer == Consumer::Collectives, into)
                .is_some()
            {
                return Ok(true);
            }
            if !self.mailbox(from)?.is_open() {
                return Err(CommError::Gone { rank: from });
            }
            if !self.own().wait(n_arrived, deadline) {
                return Ok(false);
            }
        }
    }
}

impl Drop for ThreadTransport {
    fn drop(&mut self) {
        self.look();
        self.own().abandon();
        self.known.iter().for_each(|mailbox| mailbox.wake());
    }
}

fn write(group: &Group) -> std::sync::RwLockWriteGuard<'_, Vec<Arc<Mailbox>>> {
    group.write().unwrap_or_else(PoisonError::into_inner)
}

fn last_number(mailboxes: &[Arc<Mailbox>]) -> u32 {
    u32::try_from(mailboxes.len()).unwrap_or(u32::MAX).saturating_sub(1)
}
