//! One direction of the mailboxes: a ring of bytes made of frames, between two processes; the monitored
//! program may overwrite any byte of it.
//!
//! ```text
//! frame:   length u32 | check u64 | `length` bytes
//! ```
//! The checksum covers the frame's position since the start, its length and its bytes. So bytes that were changed,
//! that lie at another place, or that remain from the last round are not a valid frame.
//!
//! # Invariants
//! - Each side keeps its own position; the words in the header only announce it to the other side. The reader never
//!   goes back behind a frame that it took: none is taken twice.
//! - Invalid data is skipped and counted, and both sides are in step again with the next frame or the one after.

use crate::layout::MailboxHeader;
use crate::mapping::Mapping;
use std::sync::atomic::{AtomicU64, Ordering};

/// Bytes of a frame before its content.
pub(super) const HEAD_BYTES: usize = size_of::<u32>() + size_of::<u64>();

/// One direction.
#[derive(Debug)]
pub(super) struct Mailbox<'a> {
    pub(super) mapping: &'a Mapping,
    pub(super) header: &'a MailboxHeader,
    pub(super) offset: usize,
    pub(super) n_bytes: usize,
}

/// Position of the writer, in the writer's own memory.
#[derive(Debug)]
pub(crate) struct WritePosition(AtomicU64);

impl WritePosition {
    /// Position at which to continue after the previous writer of the mailbox of `header`.
    pub(super) fn of(header: &MailboxHeader) -> Self {
        let written = header.written.load(Ordering::Relaxed);
        Self(AtomicU64::new(written.max(header.taken.load(Ordering::Relaxed))))
    }
}

/// Position of the reader, in the reader's own memory.
#[derive(Debug)]
pub(crate) struct ReadPosition {
    /// End of the last frame that was taken.
    good: AtomicU64,
    /// Position to look for the next frame; after `good` where something was skipped.
    next: AtomicU64,
}

impl ReadPosition {
    /// Position at which to continue after the previous reader of the mailbox of `header`.
    pub(super) fn of(header: &MailboxHeader) -> Self {
        let taken = header.taken.load(Ordering::Relaxed);
        Self { good: AtomicU64::new(taken), next: AtomicU64::new(taken) }
    }
}

impl Mailbox<'_> {
    pub(super) fn is_empty(&self, at: &WritePosition) -> bool {
        at.0.load(Ordering::Relaxed) <= self.header.taken.load(Ordering::Acquire)
    }

    pub(super) fn push(&self, at: &WritePosition, frame: &[u8]) -> bool {
        let written = at.0.load(Ordering::Relaxed);
        // A reader ahead of the writer followed an overwritten position; it comes back.
        let used = written.saturating_sub(self.header.taken.load(Ordering::Acquire));
        let free = (self.n_bytes as u64).saturating_sub(used);
        let needed = (HEAD_BYTES + frame.len()) as u64;
        let Ok(length) = u32::try_from(frame.len()) else { return false };
        if free < needed {
            return false;
        }
        let mut head = [0; HEAD_BYTES];
        let (length_at, check_at) = head.split_at_mut(size_of::<u32>());
        length_at.copy_from_slice(&length.to_le_bytes());
        check_at.copy_from_slice(&check(written, length, frame).to_le_bytes());
        self.put(written, &head);
        self.put(written.wrapping_add(HEAD_BYTES as u64), frame);
        let end = written.wrapping_add(needed);
        at.0.store(end, Ordering::Relaxed);
        self.header.written.store(end, Ordering::Release);
        true
    }

    pub(super) fn pop(&self, at: &ReadPosition) -> Option<Vec<u8>> {
        let written = self.header.written.load(Ordering::Acquire);
        let (good, next) = (at.good.load(Ordering::Relaxed), at.next.load(Ordering::Relaxed));
        // `written` below `good` was overwritten; the next frame corrects it.
        if written < good || written == next {
            return None;
        }
        // After a skip, the position `next` may stem from overwritten data; nothing was taken since `good`.
        let found =
            [next, good].into_iter().find_map(|at| self.frame(at, written.checked_sub(at)?));
        let (frame, end) = found.unzip();
        if frame.is_some() {
            at.good.store(end.unwrap_or(good), Ordering::Relaxed);
        } else {
            self.header.broken.fetch_add(1, Ordering::Relaxed);
        }
        let end = end.unwrap_or(written);
        at.next.store(end, Ordering::Relaxed);
        self.header.taken.store(end, Ordering::Release);
        frame
    }

    /// Returns the frame at a position after which `available` bytes were written, and its end.
    fn frame(&self, at: u64, available: u64) -> Option<(Vec<u8>, u64)> {
        let available = usize::try_from(available).ok().filter(|bytes| *bytes <= self.n_bytes)?;
        let room = available.checked_sub(HEAD_BYTES)?;
        let head = self.get(at, HEAD_BYTES);
        let (length, expected) = head.split_at_checked(size_of::<u32>())?;
        let length = u32::from_le_bytes(length.try_into().ok()?);
        let expected = u64::from_le_bytes(expected.try_into().ok()?);
        let n_bytes = usize::try_from(length).ok().filter(|bytes| *bytes <= room)?;
        // Copied first, so that the checked bytes are those returned.
        let frame = self.get(at.wrapping_add(HEAD_BYTES as u64), n_bytes);
        let is_whole = check(at, length, &frame) == expected;
        is_whole.then(|| (frame, at.wrapping_add((HEAD_BYTES + n_bytes) as u64)))
    }

    /// Returns the one or two pieces in which `len` bytes from byte number `at` on lie: offset in the segment, length.
    fn pieces(&self, at: u64, len: usize) -> [(usize, usize); 2] {
        #[expect(clippy::cast_possible_truncation, reason = "below the mailbox's length")]
        let start = (at % self.n_bytes as u64) as usize;
        let first = len.min(self.n_bytes - start);
        [(self.offset + start, first), (self.offset, len - first)]
    }

    fn put(&self, at: u64, bytes: &[u8]) {
        let [(first_at, first), (second_at, _)] = self.pieces(at, bytes.len());
        let (first, second) = bytes.split_at(first);
        self.mapping.put_bytes(first_at, first);
        self.mapping.put_bytes(second_at, second);
    }

    fn get(&self, at: u64, len: usize) -> Vec<u8> {
        let [first, second] = self.pieces(at, len);
        let mut bytes = self.mapping.copy_bytes(first.0, first.1);
        bytes.extend(self.mapping.copy_bytes(second.0, second.1));
        bytes
    }
}

/// FNV-1a of a position, a length and bytes: a few lines only, since this code is loaded into other people's
/// processes; detects every single changed byte. Does not protect from an attacker, but only the program can write
/// here.
fn check(position: u64, length: u32, bytes: &[u8]) -> u64 {
    const START: u64 = 0xcbf2_9ce4_8422_2325;
    const PRIME: u64 = 0x100_0000_01b3;
    let (position, length) = (position.to_le_bytes(), length.to_le_bytes());
    let all = position.iter().chain(&length).chain(bytes);
    all.fold(START, |sum, byte| (sum ^ u64::from(*byte)).wrapping_mul(PRIME))
}
