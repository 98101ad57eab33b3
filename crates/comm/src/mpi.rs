//! Ranks that are processes of an MPI library, which is found when the program runs.
//!
//! Messages travel in a communicator of our own, so that a program's own messages are not disturbed.
//! Sends are started and looked after later; short messages are received when they are found, longer
//! ones are received in the background, because their sender may be computing and not sending.
//!
//! # Not here
//! Threads as ranks: [`threads`](crate::threads()).

mod buffers;
mod inbox;
#[expect(unsafe_code, reason = "lines are given up, of which the library asks for a promise")]
mod lines;
mod outbox;
mod peers;
mod spawn;
mod transport;
mod turn;
mod wait;

use crate::CommError;
use crate::deadline::Deadline;
use buffers::Buffers;
use inbox::Inbox;
use mpi::{Address, Found, Line, Mpi, MpiError, names};
use outbox::Outbox;
use peers::Peers;
use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::{Duration, Instant};
use wait::Wait;

pub use spawn::Start;

/// Whom a message is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Lane {
    User,
    Own,
}

impl Lane {
    /// The lane of messages with this tag.
    fn of(tag: u16) -> Self {
        if tag < BACKSTAGE { Self::User } else { Self::Own }
    }
}

/// Tags above those of users.
const BACKSTAGE: u16 = 256;
const DEPARTURE: u16 = 257;
const WELCOME: u16 = 258;

/// Messages up to this length have arrived as a whole when they are found, in every library.
const SHORT_BYTES_MAX: usize = 4000;
/// How long the end of a program waits for what it sent.
const PATIENCE: Duration = Duration::from_secs(10);

/// The end of a rank that is an MPI process.
///
/// MPI ends with the process, when [`init`](Self::init) began it; after a panic it does not, so that the launcher
/// ends the other ranks instead of letting them wait.
#[derive(Debug)]
pub struct MpiTransport {
    mpi: Arc<Mpi>,
    peers: Peers,
    buffers: Buffers,
    /// One for each lane.
    inboxes: [Inbox; 2],
    outbox: Outbox,
    /// With this rank only, for each thread that adds ranks; made when they are needed.
    own_selves: Vec<Line>,
    began: Instant,
    /// How long nothing was sent or received, as far as it was waited for.
    silent: Duration,
    round: u32,
    /// How often this process joined a group, with this time.
    turn: u32,
    /// Ranks that are gone, of which nobody was told yet.
    lost: BTreeSet<u32>,
    /// Why no call can be made any more.
    ended: Option<CommError>,
    /// Whether somebody did not come to what all do together: he would not come to the end either.
    is_troubled: bool,
}

impl MpiTransport {
    /// Initializes MPI, unless the program did, and joins the group of the ranks launched with this one,
    /// or that of the rank which added this one.
    ///
    /// # Errors
    /// When this process was not launched as a rank, or the library is missing or unknown;
    /// [`CommError::OtherTurn`] when it was added for another group that the program joins earlier or later.
    pub fn init() -> Result<Self, CommError> {
        Self::begin(false)
    }

    /// As [`init`](Self::init), for a program that adds ranks: the library is asked for calls of several threads at
    /// a time, so that several ranks start side by side. Messages then cost a little more.
    ///
    /// # Errors
    /// As [`init`](Self::init).
    pub fn init_to_grow() -> Result<Self, CommError> {
        Self::begin(true)
    }

    fn begin(may_grow: bool) -> Result<Self, CommError> {
        let turn = turn::next();
        if let Some(end) = turn::of_added(turn) {
            return end;
        }
        let mpi = Arc::new(lines::begin(may_grow)?);
        let peers = match mpi.parent()? {
            Some(line) => {
                names::remove();
                Peers::added(line)
            }
            None => {
                // When this returns, every rank was in it.
                let world = mpi.own_world()?;
                names::remove();
                let (rank, n_launched) = mpi.place(world)?;
                Peers::launched(world, rank, n_launched)
            }
        };
        let (buffers, inboxes, outbox) = Default::default();
        let (own_selves, began, round, ended) = (Vec::new(), Instant::now(), 0, None);
        let (silent, is_troubled) = (Duration::ZERO, false);
        let mut end = Self {
            mpi,
            peers,
            buffers,
            inboxes,
            outbox,
            own_selves,
            began,
            silent,
            round,
            turn,
            lost: BTreeSet::new(),
            ended,
            is_troubled,
        };
        if end.peers.is_added() {
            let wanted = end.be_welcomed()?;
            return turn::added(end, wanted, turn);
        }
        Ok(end)
    }

    /// What the library says of itself.
    #[must_use]
    pub fn library_version(&self) -> String {
        self.mpi.version()
    }

    /// Leaves without waiting for anybody, when [`leave`](crate::Transport::leave) failed since a rank did not come. All that
    /// are there call it. The end of MPI is then tried with the process: those who are done wait for rank 0, and rank 0
    /// ends the job when somebody is still missing, with the code of its own process.
    ///
    /// # Errors
    /// When it was left before, or the process takes no more functions for its end.
    pub fn leave_alone(&mut self) -> Result<(), CommError> {
        self.check_open()?;
        self.ended = Some(CommError::Finalized);
        Ok(self.mpi.close_alone(self.peers.own() == 0)?)
    }

    /// Starts to send; the tag may be one of ours.
    fn post(&mut self, to: u32, tag: u16, parts: &[&[u8]]) -> Result<(), CommError> {
        let address = self.address(to)?;
        let n_bytes = parts.iter().map(|part| part.len()).sum();
        self.make_room(to, n_bytes)?;
        let mut bytes = self.buffers.take();
        parts.iter().for_each(|part| bytes.extend_from_slice(part));
        let sent = self.mpi.send(bytes, address, tag);
        let mut transfer = self.peers.judge(address.line, sent)?;
        let is_complete = self.mpi.is_complete(&mut transfer);
        if self.peers.judge(address.line, is_complete)? {
            self.buffers.give(transfer.finished());
        } else {
            self.outbox.keep(to, n_bytes, transfer);
        }
        Ok(())
    }

    /// A message that is wanted, and that is here. Whatever else is found on the way is kept.
    fn look(
        &mut self,
        lane: Lane,
        wanted: impl Fn(u32, u16) -> bool,
        into: &mut Vec<u8>,
    ) -> Result<Option<(u32, u16)>, CommError> {
        if !self.inboxes[lane as usize].is_empty() {
            let taken = self.take(lane, &wanted, into)?;
            if taken.is_some() {
                return Ok(taken);
            }
        }
        while let Some(found) = self.find()? {
            let sender = self.peers.number(found.from);
            let found_lane = Lane::of(found.tag);
            let is_wanted = found_lane == lane && wanted(sender, found.tag);
            let inbox = &mut self.inboxes[found_lane as usize];
            if is_wanted && found.n_bytes <= SHORT_BYTES_MAX && !inbox.has_of(sender) {
                let received = self.mpi.receive_now(into, found);
                self.peers.judge(found.from.line, received)?;
                return Ok(Some((sender, found.tag)));
            }
            let transfer = self.mpi.receive(self.buffers.take(), found);
            let transfer = self.peers.judge(found.from.line, transfer)?;
            inbox.keep(sender, found.tag, transfer);
            if is_wanted {
                return self.take(lane, &wanted, into);
            }
        }
        Ok(None)
    }

    fn take(
        &mut self,
        lane: Lane,
        wanted: impl Fn(u32, u16) -> bool,
        into: &mut Vec<u8>,
    ) -> Result<Option<(u32, u16)>, CommError> {
        let inbox = &mut self.inboxes[lane as usize];
        let taken = inbox.take(wanted, &self.mpi, &mut self.buffers, into);
        Ok(self.unless_lost(taken)?.flatten())
    }

    /// Gets the buffers of messages back that were taken.
    fn look_after_sent(&mut self) -> Result<(), CommError> {
        let looked = self.outbox.look_after(&self.mpi, &mut self.buffers);
        self.unless_lost(looked).map(drop)
    }

    /// `None` where a rank is lost, of which the next receive tells.
    fn unless_lost<V>(
        &mut self,
        result: Result<V, (u32, MpiError)>,
    ) -> Result<Option<V>, CommError> {
        match result {
            Ok(value) => Ok(Some(value)),
            Err((rank, error)) if self.peers.lose(rank, &error) => {
                self.lost.insert(rank);
                Ok(None)
            }
            Err((_, error)) => Err(error.into()),
        }
    }

    /// Waits until a further message may be sent.
    fn make_room(&mut self, to: u32, n_bytes: usize) -> Result<(), CommError> {
        if self.outbox.has_room(n_bytes) {
            return Ok(());
        }
        let mut wait = Wait::until(Deadline::after(PATIENCE));
        loop {
            self.look_after_sent()?;
            if self.outbox.has_room(n_bytes) {
                return Ok(());
            }
            if !wait.pause(true) {
                return Err(CommError::NoRoom { rank: to, n_bytes: self.outbox.n_bytes() });
            }
        }
    }

    /// A message that was not received yet; none as long as too many wait to be taken.
    fn find(&mut self) -> Result<Option<Found>, CommError> {
        if self.inboxes.iter().any(Inbox::is_full) {
            return Ok(None);
        }
        for _ in 0..self.peers.n_channels() {
            let Some(line) = self.peers.next_channel() else { break };
            let found = self.mpi.probe(line);
            let found = self.peers.judge(line, found)?;
            if found.is_some() {
                return Ok(found);
            }
        }
        Ok(None)
    }

    /// Waits for a message with this tag of ours.
    fn receive_own(
        &mut self,
        (from, tag): (u32, u16),
        deadline: Deadline,
        into: &mut Vec<u8>,
    ) -> Result<bool, CommError> {
        self.check_open()?;
        let mut wait = Wait::until(deadline);
        let wanted = |sender, found| sender == from && found == tag;
        loop {
            if self.look(Lane::Own, wanted, into)?.is_some() {
                return Ok(true);
            }
            self.address(from)?;
            self.look_after_sent()?;
            if !wait.pause(self.is_moving()) {
                return Ok(false);
            }
        }
    }

    /// Whether messages are on their way.
    fn is_moving(&self) -> bool {
        !self.outbox.is_empty() || !self.inboxes.iter().all(Inbox::is_empty)
    }

    fn address(&self, rank: u32) -> Result<Address, CommError> {
        self.peers.address(rank)
    }

    /// Remembers what failed that all do together.
    fn note<T>(&mut self, done: Result<T, CommError>) -> Result<T, CommError> {
        self.is_troubled |= done.is_err();
        done
    }

    fn check_open(&self) -> Result<(), CommError> {
        self.ended.clone().map_or(Ok(()), Err)
    }

    /// Waits until everything that was sent has left, so that its receivers can get it without us.
    fn flush(&mut self, deadline: Deadline) -> Result<(), CommError> {
        let mut wait = Wait::until(deadline);
        loop {
            self.look_after_sent()?;
            let Some(to) = self.outbox.first() else { return Ok(()) };
            if !wait.pause(self.is_moving()) {
                return Err(deadline.late("the reception of what was sent", to));
            }
        }
    }

    /// Needs MPI no more; nobody must be connected any more but the ranks launched together.
    fn finish(&mut self) -> Result<(), CommError> {
        self.ended = Some(CommError::Finalized);
        let own_selves = std::mem::take(&mut self.own_selves);
        for line in self.peers.world().into_iter().chain(own_selves) {
            lines::free(&self.mpi, line)?;
        }
        self.mpi.close();
        Ok(())
    }
}

impl Drop for MpiTransport {
    fn drop(&mut self) {
        if std::thread::panicking() || self.ended.is_some() || self.is_troubled {
            return;
        }
        // Without one of those who were launched, the end of MPI fails, and the launcher has been seen to return 0 then.
        if self.peers.is_broken() {
            return;
        }
        // Whoever wants to know of a failure calls `leave`.
        let deadline = Deadline::after(PATIENCE);
        let flushed = self.flush(deadline);
        let parted = self.part(deadline);
        if flushed.and(parted).is_ok() && self.finish().is_err() {
            self.ended = Some(CommError::Finalized);
        }
    }
}
