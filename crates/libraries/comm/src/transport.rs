//! Interface of a rank to its group.

use crate::CommError;
use std::time::Duration;

/// Kind of message; its meaning is up to the user.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Tag(pub u8);

/// Description of a received message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Envelope {
    /// Rank that sent it.
    pub from: u32,
    /// Tag that it was sent with.
    pub tag: Tag,
    /// Length, in bytes.
    pub n_bytes: usize,
}

/// End of one rank in a group of ranks.
///
/// Numbers are stable: the number of a rank that left is not reused, and an added rank gets a new
/// number.
pub trait Transport {
    /// Number of this rank.
    fn rank(&self) -> u32;

    /// Count of numbers assigned so far, including those of ranks that left.
    ///
    /// An added rank knows only the numbers up to its own.
    fn n_ranks(&self) -> u32;

    /// Returns whether messages can be sent to `rank`: it is connected, has not left, and is not known to
    /// be gone.
    fn is_present(&self, rank: u32) -> bool;

    /// Sends `parts`, joined into one message, without waiting for the receiver.
    ///
    /// The bytes may be changed as soon as this returns. Messages that the receiver has not taken yet are
    /// buffered up to a limit; beyond it this waits a while for room.
    ///
    /// # Errors
    /// [`CommError::NotPresent`], [`CommError::Gone`], [`CommError::NoRoom`], or errors of the library.
    fn send(&mut self, to: u32, tag: Tag, parts: &[&[u8]]) -> Result<(), CommError>;

    /// Receives the next message of any rank, or of `from`; `None` when none arrives within `at_most`.
    ///
    /// `into` is overwritten; its capacity is reused.
    ///
    /// # Errors
    /// [`CommError::Gone`] when `from` is gone and all its messages were received; without `from`, once
    /// for every rank that is gone. The caller may continue to receive from the others.
    fn receive(
        &mut self,
        from: Option<u32>,
        at_most: Duration,
        into: &mut Vec<u8>,
    ) -> Result<Option<Envelope>, CommError>;

    /// Receives a message of any rank that has already arrived.
    ///
    /// # Errors
    /// As [`receive`](Self::receive).
    fn try_receive(&mut self, into: &mut Vec<u8>) -> Result<Option<Envelope>, CommError> {
        self.receive(None, Duration::ZERO, into)
    }

    /// Broadcasts the bytes of `root` to every rank. All present ranks call it, in the same order
    /// as their other collective calls; `root` must be 0 when ranks were added.
    ///
    /// # Errors
    /// [`CommError::Late`] when a rank does not take part within `at_most`.
    fn broadcast(
        &mut self,
        root: u32,
        bytes: &mut Vec<u8>,
        at_most: Duration,
    ) -> Result<(), CommError>;

    /// Does the same on the root, rank 0, which has no use for its bytes afterwards: they are sent from where they lie, without
    /// copies.
    ///
    /// # Errors
    /// As [`broadcast`](Self::broadcast).
    fn broadcast_own(&mut self, mut bytes: Vec<u8>, at_most: Duration) -> Result<(), CommError> {
        self.broadcast(0, &mut bytes, at_most)
    }

    /// Waits until all present ranks have called it.
    ///
    /// # Errors
    /// [`CommError::Late`] when a rank does not take part within `at_most`.
    fn barrier(&mut self, at_most: Duration) -> Result<(), CommError>;

    /// Takes this rank out of the group for good. For a rank that was added, rank 0 calls
    /// [`release`](Self::release) at the same time.
    ///
    /// A transport that is dropped without this leaves too, but a thread then counts as gone.
    ///
    /// # Errors
    /// [`CommError::Late`] when rank 0 does not release it within `at_most`.
    fn leave(&mut self, at_most: Duration) -> Result<(), CommError>;

    /// Releases `rank`, which is leaving; for rank 0.
    ///
    /// # Errors
    /// [`CommError::Late`] when the rank does not leave within `at_most`.
    fn release(&mut self, rank: u32, at_most: Duration) -> Result<(), CommError>;

    /// Returns whether one of the ranks that were launched together is lost: then they cannot end together, and take no
    /// part in collective calls any more.
    fn has_lost_launched(&self) -> bool {
        false
    }

    /// Returns the seconds of a monotonic clock of this rank.
    fn now_s(&self) -> f64;
}
