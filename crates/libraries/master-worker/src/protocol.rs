//! Messages between master and workers: a header of fixed size, then bytes of the user.
//!
//! All have one tag, so that messages of one sender arrive in the order in which they were sent.

use comm::Tag;
use std::ops::Range;

/// The tag of all messages.
pub(crate) const TAG: Tag = Tag(77);

/// Bytes of a header; what follows is aligned for every number.
pub(crate) const HEADER_BYTES: usize = 64;

/// Kind of a message, with its sender.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u32)]
pub(crate) enum MessageKind {
    /// Master: an iteration begins; the shared data follow when they are new.
    Begin = 1,
    /// Master: an iteration begins; the shared data come by broadcast.
    BeginBroadcast,
    /// Master: a chunk; its input follows.
    Chunk,
    /// Master: drop this chunk if it has not begun.
    Retract,
    /// Master: the run is over.
    End,
    /// Worker: receipt for a chunk or a ping.
    Taken,
    /// Worker: the results of a chunk follow.
    Results,
    /// Worker: the chunk failed; the panic message follows.
    Failed,
    /// Worker: it cannot continue; the reason follows.
    Broken,
    /// Master: reply with `Taken`.
    Ping,
    /// Master or worker: several messages follow, of chunks or of results; `compute_s` is the time that the worker kept the
    /// first one back.
    Bundle,
}

impl MessageKind {
    const ALL: [Self; 11] = [
        Self::Begin,
        Self::BeginBroadcast,
        Self::Chunk,
        Self::Retract,
        Self::End,
        Self::Taken,
        Self::Results,
        Self::Failed,
        Self::Broken,
        Self::Ping,
        Self::Bundle,
    ];
}

/// Header of a message.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct MessageHeader {
    pub(crate) kind: MessageKind,
    pub(crate) batch: u32,
    /// Number of the chunk, never reused.
    pub(crate) chunk: u64,
    pub(crate) tasks: Range<u64>,
    pub(crate) iteration: u64,
    /// Computing time of the chunk, in seconds.
    pub(crate) compute_s: f64,
    /// Time that the worker was idle before the chunk, in seconds.
    pub(crate) waited_s: f64,
    /// True if new shared data follow (`Begin`), a receipt is requested (`Chunk`), or a worker is
    /// missing (`End`).
    pub(crate) flag: bool,
}

impl MessageHeader {
    /// Header of a message without a chunk.
    pub(crate) fn of(kind: MessageKind, iteration: u64) -> Self {
        let (compute_s, waited_s) = (0.0, 0.0);
        Self { kind, batch: 0, chunk: 0, tasks: 0..0, iteration, compute_s, waited_s, flag: false }
    }

    pub(crate) fn n_tasks(&self) -> u64 {
        self.tasks.end - self.tasks.start
    }

    pub(crate) fn to_bytes(&self) -> [u8; HEADER_BYTES] {
        let words = [
            u64::from(self.kind as u32) | (u64::from(self.batch) << 32),
            self.chunk,
            self.tasks.start,
            self.tasks.end,
            self.iteration,
            self.compute_s.to_bits(),
            self.waited_s.to_bits(),
            u64::from(self.flag),
        ];
        let mut bytes = [0; HEADER_BYTES];
        for (place, word) in bytes.chunks_exact_mut(size_of::<u64>()).zip(words) {
            place.copy_from_slice(&word.to_le_bytes());
        }
        bytes
    }

    /// Reads the header of a message; `None` when it is not valid.
    pub(crate) fn read(message: &[u8]) -> Option<Self> {
        let mut words = message.get(..HEADER_BYTES)?.as_chunks().0.iter();
        let mut word = || words.next().copied().map(u64::from_le_bytes);
        let (first, chunk, start, end) = (word()?, word()?, word()?, word()?);
        let (iteration, compute_s, waited_s, flag) = (word()?, word()?, word()?, word()?);
        let kind =
            MessageKind::ALL.into_iter().find(|kind| u64::from(*kind as u32) == first & LOW)?;
        (start <= end).then_some(Self {
            kind,
            batch: u32::try_from(first >> 32).ok()?,
            chunk,
            tasks: start..end,
            iteration,
            compute_s: f64::from_bits(compute_s),
            waited_s: f64::from_bits(waited_s),
            flag: flag != 0,
        })
    }
}

const LOW: u64 = 0xffff_ffff;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn headers_are_read_as_they_were_written() {
        for kind in MessageKind::ALL {
            let mut header = MessageHeader::of(kind, 9);
            assert_eq!(MessageHeader::read(&header.to_bytes()), Some(header.clone()));
            header = MessageHeader { batch: u32::MAX, chunk: 5, tasks: 7..u64::MAX, ..header };
            header = MessageHeader { compute_s: 0.25, waited_s: -1.0, flag: true, ..header };
            assert_eq!(MessageHeader::read(&header.to_bytes()), Some(header));
        }
    }

    #[track_caller]
    fn check_refused(at: usize, byte: u8) {
        let mut bytes = MessageHeader::of(MessageKind::End, 0).to_bytes();
        bytes[at] = byte;
        assert_eq!(MessageHeader::read(&bytes), None);
    }

    #[test]
    fn other_bytes_are_no_header() {
        check_refused(0, 0);
        check_refused(0, 12);
        check_refused(1, 1);
        check_refused(16, 1);
        assert_eq!(
            MessageHeader::read(&MessageHeader::of(MessageKind::End, 0).to_bytes()[..63]),
            None
        );
    }
}
