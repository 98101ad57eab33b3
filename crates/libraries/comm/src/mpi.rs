//! Ranks that are processes of an MPI library, which is found at run time.
//!
//! Messages travel in a communicator of their own, so that the program's own messages are not disturbed.
//! Sends are nonblocking and completed later. Short messages are received as soon as they are found; longer
//! ones in the background, because their sender may be computing and not making progress.
//!
//! # Not here
//! Ranks that are threads: [`threads`](crate::threads()).

#[expect(unsafe_code, reason = "connections are given up, of which the library asks for a promise")]
mod connections;
mod group_number;
mod inbox;
mod outbox;
mod peers;
mod spawn;
mod transport;

use crate::deadline::Deadline;
use crate::{CommError, Transport};
use inbox::Inbox;
use mpi::{Address, CommHandle, FoundMessage, Mpi, MpiError, Pause, Transfer, names};
use outbox::Outbox;
use peers::Peers;
use std::sync::Arc;
use std::time::{Duration, Instant};

pub use spawn::RankStart;

/// Consumer of a message: the user or the transport itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Consumer {
    User,
    Transport,
}

impl Consumer {
    /// Returns the consumer of messages with this tag.
    fn of(tag: u16) -> Self {
        if tag < FIRST_INTERNAL_TAG { Self::User } else { Self::Transport }
    }
}

/// First tag of the transport's own messages, above those of users.
const FIRST_INTERNAL_TAG: u16 = 256;
const DEPARTURE: u16 = 257;
const WELCOME: u16 = 258;

/// Messages up to this length are complete as soon as they are found, in every library.
const SHORT_BYTES_MAX: usize = 4000;
/// Longest sleep between polls: a rank that is not needed for long hardly uses a core.
const SLEEP_MAX: Duration = Duration::from_millis(5);
/// Longest sleep while messages are in transit, whose progress needs this rank.
const NAP_MAX: Duration = Duration::from_micros(50);
/// Longest time that the end of a program waits for its sent messages.
const FLUSH_TIMEOUT: Duration = Duration::from_secs(10);

/// End of a rank that is an MPI process.
///
/// MPI is finalized with the process, when [`init`](Self::init) initialized it. After a panic it is not, so that the
/// launcher ends the other ranks instead of letting them wait.
#[derive(Debug)]
pub struct MpiTransport {
    mpi: Arc<Mpi>,
    peers: Peers,
    buffers: Buffers,
    /// Inboxes by consumer.
    inboxes: [Inbox; 2],
    outbox: Outbox,
    /// Connections with this rank itself, one for each thread that adds ranks; created when needed.
    own_selves: Vec<CommHandle>,
    began: Instant,
    /// Time waited since the last message was sent or received.
    silent: Duration,
    round: u32,
    /// Number of groups that this process has joined, including this one.
    group_number: u32,
    /// Reason why no further call is possible.
    ended: Option<CommError>,
    /// True if a rank missed a collective call; it would miss the end of MPI as well.
    has_missed_collective: bool,
}

impl MpiTransport {
    /// Initializes MPI, unless the program did, and joins the group of the ranks launched with this one,
    /// or of the rank that added this one.
    ///
    /// # Errors
    /// When this process was not launched as a rank, or the library is missing or unknown;
    /// [`CommError::OtherGroup`] when it was added for an earlier or later group of the program.
    pub fn init() -> Result<Self, CommError> {
        Self::begin(false)
    }

    /// Does the same as [`init`](Self::init) for a program that adds ranks: requests support for concurrent calls from
    /// the library, so that several ranks start in parallel. Messages then cost a little more.
    ///
    /// # Errors
    /// As [`init`](Self::init).
    pub fn init_to_grow() -> Result<Self, CommError> {
        Self::begin(true)
    }

    fn begin(may_grow: bool) -> Result<Self, CommError> {
        let group_number = group_number::next();
        if let Some(end) = group_number::of_added(group_number) {
            return end;
        }
        let mpi = Arc::new(connections::begin(may_grow)?);
        let peers = match mpi.parent()? {
            Some(comm) => {
                names::remove();
                Peers::added(comm)
            }
            None => {
                // When this returns, every rank has called it.
                let world = mpi.own_world()?;
                names::remove();
                let (rank, n_launched) = mpi.rank_and_size(world)?;
                Peers::launched(world, rank, n_launched)
            }
        };
        let mut end = Self {
            mpi,
            peers,
            buffers: Buffers::default(),
            inboxes: Default::default(),
            outbox: Outbox::default(),
            own_selves: Vec::new(),
            began: Instant::now(),
            silent: Duration::ZERO,
            round: 0,
            group_number,
            ended: None,
            has_missed_collective: false,
        };
        if end.peers.is_added() {
            let wanted = end.be_welcomed()?;
            return group_number::added(end, wanted, group_number);
        }
        Ok(end)
    }

    /// Returns the version text of the library.
    #[must_use]
    pub fn library_version(&self) -> String {
        self.mpi.version()
    }

    /// Leaves without waiting, after [`leave`](crate::Transport::leave) failed because a rank was missing. All present
    /// ranks call it. MPI is then finalized at process exit: the other ranks wait for rank 0, and rank 0
    /// aborts the job when a rank is still missing, with its own exit code.
    ///
    /// # Errors
    /// When this rank left before, or no exit function can be registered.
    pub fn leave_alone(&mut self) -> Result<(), CommError> {
        self.check_open()?;
        self.ended = Some(CommError::Finalized);
        let is_first = self.peers.own == 0;
        let ended = match self.has_lost_launched() {
            true => self.mpi.finalize_without_lost(is_first),
            false => self.mpi.finalize_alone(is_first),
        };
        Ok(ended?)
    }

    /// Starts a send of these parts; the tag may be an internal one.
    fn post(&mut self, to: u32, tag: u16, parts: &[&[u8]]) -> Result<(), CommError> {
        let address = self.peers.address(to)?;
        let n_bytes = parts.iter().map(|part| part.len()).sum();
        self.make_room(to, n_bytes)?;
        let mut bytes = self.buffers.take();
        parts.iter().for_each(|part| bytes.extend_from_slice(part));
        let sent = Transfer::send(&self.mpi, bytes, address, tag);
        self.keep(to, address, sent)
    }

    /// Keeps a send until it is complete.
    fn keep(
        &mut self,
        to: u32,
        address: Address,
        sent: Result<Transfer, MpiError>,
    ) -> Result<(), CommError> {
        let mut transfer = self.peers.check(&self.mpi, address.comm, sent)?;
        let n_bytes = transfer.n_bytes();
        let is_complete = transfer.is_complete(&self.mpi);
        if self.peers.check(&self.mpi, address.comm, is_complete)? {
            self.buffers.give(transfer.finished());
        } else {
            self.outbox.keep(to, n_bytes, transfer);
        }
        Ok(())
    }

    /// Returns a wanted message that has arrived. Other messages found meanwhile are kept.
    fn look(
        &mut self,
        consumer: Consumer,
        wanted: impl Fn(u32, u16) -> bool,
        into: &mut Vec<u8>,
    ) -> Result<Option<(u32, u16)>, CommError> {
        if !self.inboxes[consumer as usize].is_empty() {
            let taken = self.take(consumer, &wanted, into)?;
            if taken.is_some() {
                return Ok(taken);
            }
        }
        while let Some(found) = self.find()? {
            let sender = self.peers.number(found.from);
            let found_consumer = Consumer::of(found.tag);
            let is_wanted = found_consumer == consumer && wanted(sender, found.tag);
            let inbox = &mut self.inboxes[found_consumer as usize];
            if is_wanted && found.n_bytes <= SHORT_BYTES_MAX && !inbox.has_of(sender) {
                let received = found.receive_now(&self.mpi, into);
                self.peers.check(&self.mpi, found.from.comm, received)?;
                return Ok(Some((sender, found.tag)));
            }
            let transfer = Transfer::receive(&self.mpi, self.buffers.take(), found);
            let transfer = self.peers.check(&self.mpi, found.from.comm, transfer)?;
            inbox.keep(sender, found.tag, transfer);
            if is_wanted {
                return self.take(consumer, &wanted, into);
            }
        }
        Ok(None)
    }

    fn take(
        &mut self,
        consumer: Consumer,
        wanted: impl Fn(u32, u16) -> bool,
        into: &mut Vec<u8>,
    ) -> Result<Option<(u32, u16)>, CommError> {
        let inbox = &mut self.inboxes[consumer as usize];
        let taken = inbox.take(wanted, &self.mpi, &mut self.buffers, into);
        Ok(self.unless_lost(taken)?.flatten())
    }

    /// Reclaims the buffers of completed sends.
    fn look_after_sent(&mut self) -> Result<(), CommError> {
        let looked = self.outbox.look_after(&self.mpi, &mut self.buffers);
        self.unless_lost(looked).map(drop)
    }

    /// Returns `None` where a rank is lost; the next receive reports that.
    fn unless_lost<V>(
        &mut self,
        result: Result<V, (u32, MpiError)>,
    ) -> Result<Option<V>, CommError> {
        match result {
            Ok(value) => Ok(Some(value)),
            Err((rank, error)) if self.peers.lose(&self.mpi, rank, &error) => {
                self.peers.unreported.insert(rank);
                Ok(None)
            }
            Err((_, error)) => Err(error.into()),
        }
    }

    /// Waits until another message may be sent.
    fn make_room(&mut self, to: u32, n_bytes: usize) -> Result<(), CommError> {
        if self.outbox.has_room(n_bytes) {
            return Ok(());
        }
        let mut wait = Pause::at_most(FLUSH_TIMEOUT);
        loop {
            self.look_after_sent()?;
            if self.outbox.has_room(n_bytes) {
                return Ok(());
            }
            if !wait.pause(NAP_MAX) {
                return Err(CommError::NoRoom { rank: to, n_bytes: self.outbox.n_bytes() });
            }
        }
    }

    /// Probes for a message; `None` also while too many messages are kept.
    fn find(&mut self) -> Result<Option<FoundMessage>, CommError> {
        if self.inboxes.iter().any(Inbox::is_full) {
            return Ok(None);
        }
        for _ in 0..self.peers.n_channels() {
            let Some(comm) = self.peers.next_channel() else { break };
            let found = FoundMessage::probe(&self.mpi, comm);
            let found = self.peers.check(&self.mpi, comm, found)?;
            if found.is_some() {
                return Ok(found);
            }
        }
        Ok(None)
    }

    /// Waits for a message with this internal tag.
    fn receive_own(
        &mut self,
        (from, tag): (u32, u16),
        deadline: Deadline,
        into: &mut Vec<u8>,
    ) -> Result<bool, CommError> {
        self.check_open()?;
        let mut wait = deadline.pause();
        let wanted = |sender, found| sender == from && found == tag;
        loop {
            if self.look(Consumer::Transport, wanted, into)?.is_some() {
                return Ok(true);
            }
            self.peers.address(from)?;
            self.look_after_sent()?;
            if !wait.pause(sleep_max(&self.outbox, &self.inboxes)) {
                return Ok(false);
            }
        }
    }

    fn check_open(&self) -> Result<(), CommError> {
        self.ended.clone().map_or(Ok(()), Err)
    }

    /// Waits until all sends are complete, so that receivers do not depend on this rank any more.
    fn flush(&mut self, deadline: Deadline) -> Result<(), CommError> {
        let mut wait = deadline.pause();
        loop {
            self.look_after_sent()?;
            let Some(to) = self.outbox.first() else { return Ok(()) };
            if !wait.pause(sleep_max(&self.outbox, &self.inboxes)) {
                return Err(deadline.late("the reception of what was sent", to));
            }
        }
    }

    /// Ends the use of MPI; only ranks launched together may still be connected.
    fn finish(&mut self) -> Result<(), CommError> {
        self.ended = Some(CommError::Finalized);
        let own_selves = std::mem::take(&mut self.own_selves);
        for comm in self.peers.world.into_iter().chain(own_selves) {
            connections::free(&self.mpi, comm)?;
        }
        self.mpi.close();
        Ok(())
    }
}

impl Drop for MpiTransport {
    fn drop(&mut self) {
        if std::thread::panicking() || self.ended.is_some() || self.has_missed_collective {
            return;
        }
        // When a rank launched together is lost, finalizing MPI fails, and a launcher has been seen to return 0 then.
        if self.peers.is_broken || self.has_lost_launched() {
            return;
        }
        // Errors are ignored here; callers that need them use `leave`.
        let deadline = Deadline::after(FLUSH_TIMEOUT);
        let flushed = self.flush(deadline);
        let parted = self.disconnect_all(deadline);
        if flushed.and(parted).is_ok() && self.finish().is_err() {
            self.ended = Some(CommError::Finalized);
        }
    }
}

/// Longest sleep between polls; a short one while messages are in transit.
fn sleep_max(outbox: &Outbox, inboxes: &[Inbox; 2]) -> Duration {
    let is_moving = !outbox.is_empty() || !inboxes.iter().all(Inbox::is_empty);
    if is_moving { NAP_MAX } else { SLEEP_MAX }
}

/// Largest number of buffers kept.
const N_MAX: usize = 256;
/// Capacity above which a buffer is not kept, in bytes.
const BYTES_MAX: usize = 1 << 20;

/// Unused buffers.
#[derive(Debug, Default)]
struct Buffers(Vec<Vec<u8>>);

impl Buffers {
    /// Returns an empty buffer.
    fn take(&mut self) -> Vec<u8> {
        self.0.pop().unwrap_or_default()
    }

    /// Keeps a buffer for reuse.
    fn give(&mut self, bytes: Option<Vec<u8>>) {
        let Some(mut bytes) = bytes else { return };
        if self.0.len() < N_MAX && bytes.capacity() <= BYTES_MAX {
            bytes.clear();
            self.0.push(bytes);
        }
    }
}
