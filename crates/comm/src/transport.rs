//! What a group of ranks offers to each of them.

use crate::CommError;
use std::time::Duration;

/// What a message is about; the meaning is the user's.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Tag(pub u8);

/// What is known of a message beside its bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Envelope {
    /// The rank that sent it.
    pub from: u32,
    /// What it is about.
    pub tag: Tag,
    /// Its length.
    pub n_bytes: usize,
}

/// One rank's end of a group of ranks.
///
/// Numbers are stable: a rank that leaves keeps its number to itself, and one that is added gets a
/// number that nobody had before.
pub trait Transport {
    /// The number of this rank.
    fn rank(&self) -> u32;

    /// How many numbers have been given so far, those of ranks that left included.
    ///
    /// A rank that was added later knows of the numbers up to its own.
    fn n_ranks(&self) -> u32;

    /// Whether messages can be sent to `rank`: it is connected, did not leave, and is not known to be
    /// gone.
    fn is_present(&self, rank: u32) -> bool;

    /// Sends `parts`, joined to one message, without waiting for the receiver.
    ///
    /// The bytes may be changed as soon as this returns. What the receiver does not take yet is
    /// buffered up to a bound; beyond it this waits a while for room.
    ///
    /// # Errors
    /// [`CommError::NotPresent`], [`CommError::Gone`], [`CommError::NoRoom`], or what the library says.
    fn send(&mut self, to: u32, tag: Tag, parts: &[&[u8]]) -> Result<(), CommError>;

    /// The next message of any rank, or of `from`; `None` when there is none within `at_most`.
    ///
    /// `into` is overwritten; its capacity is used again.
    ///
    /// # Errors
    /// [`CommError::Gone`] when `from` is gone and all its messages were received; without `from`, once
    /// for every rank that is gone. Then calling again is fine: the others are still there.
    fn receive(
        &mut self,
        from: Option<u32>,
        at_most: Duration,
        into: &mut Vec<u8>,
    ) -> Result<Option<Envelope>, CommError>;

    /// A message of any rank that is here already.
    ///
    /// # Errors
    /// As [`receive`](Self::receive).
    fn try_receive(&mut self, into: &mut Vec<u8>) -> Result<Option<Envelope>, CommError> {
        self.receive(None, Duration::ZERO, into)
    }

    /// Gives the bytes of `root` to every rank. All ranks that are present call it, in the same order
    /// with their other collective calls; `root` is 0 when ranks were added.
    ///
    /// # Errors
    /// [`CommError::Late`] when a rank does not take part within `at_most`.
    fn broadcast(
        &mut self,
        root: u32,
        bytes: &mut Vec<u8>,
        at_most: Duration,
    ) -> Result<(), CommError>;

    /// Waits until all ranks that are present have called it.
    ///
    /// # Errors
    /// [`CommError::Late`] when a rank does not take part within `at_most`.
    fn barrier(&mut self, at_most: Duration) -> Result<(), CommError>;

    /// Takes this rank out of the group for good. Rank 0 calls [`release`](Self::release) for it at the
    /// same time when it was added later.
    ///
    /// A transport that is dropped without this leaves too, but a thread's end then counts as gone.
    ///
    /// # Errors
    /// [`CommError::Late`] when rank 0 does not let it go within `at_most`.
    fn leave(&mut self, at_most: Duration) -> Result<(), CommError>;

    /// Lets `rank`, which is leaving, go; for rank 0.
    ///
    /// # Errors
    /// [`CommError::Late`] when the rank does not leave within `at_most`.
    fn release(&mut self, rank: u32, at_most: Duration) -> Result<(), CommError>;

    /// Seconds of a steady clock of this rank.
    fn now_s(&self) -> f64;
}
