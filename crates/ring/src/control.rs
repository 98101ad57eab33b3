//! Two mailboxes between a process and the collector of its node: orders down, answers up.
//!
//! A mailbox is a ring of bytes that one side writes and the other one reads, made of frames: a length of
//! four bytes, then as many bytes. `written` and `taken` count bytes since the start and never go back;
//! a frame counts as written when it is whole, so a writer that dies half-way leaves nothing behind, and
//! its successor goes on where it stopped. After an order the collector rings a bell, a word on which
//! the process sleeps.
//!
//! # Invariants
//! - Neither side waits for the other: a full mailbox refuses a frame.
//! - What the other process wrote is never trusted: positions are taken modulo the mailbox, lengths that
//!   cannot be empty it and are counted.
//!
//! # Not here
//! What the frames say (`wire::control`), and when they are sent.

use crate::layout::{
    ANSWERS_BYTES, ANSWERS_OFFSET, CONTROL_OFFSET, ControlHeader, MailboxHeader, ORDERS_BYTES,
    ORDERS_OFFSET,
};
use crate::mapping::Mapping;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

/// Longest order that its mailbox can ever take, in bytes.
pub const ORDER_BYTES_MAX: usize = ORDERS_BYTES - LENGTH_BYTES;
/// Longest answer that its mailbox can ever take, in bytes.
pub const ANSWER_BYTES_MAX: usize = ANSWERS_BYTES - LENGTH_BYTES;

const LENGTH_BYTES: usize = size_of::<u32>();

/// Where the collector puts orders.
#[derive(Debug)]
pub struct OrderWriter<'a> {
    mailbox: Mailbox<'a>,
    bell: &'a AtomicU32,
}

impl<'a> OrderWriter<'a> {
    pub(crate) fn new(mapping: &'a Mapping) -> Self {
        Self { mailbox: orders(mapping), bell: &header(mapping).orders_bell }
    }

    /// Puts an order in and wakes the process. False when there is no room now: try again later, unless
    /// it is longer than [`ORDER_BYTES_MAX`].
    pub fn push(&mut self, order: &[u8]) -> bool {
        let is_in = self.mailbox.push(order);
        if is_in {
            ring_bell(self.bell);
        }
        is_in
    }

    /// Whether the process has taken everything.
    pub fn is_empty(&self) -> bool {
        self.mailbox.is_empty()
    }
}

/// Where the collector finds answers.
#[derive(Debug)]
pub struct AnswerReader<'a> {
    mailbox: Mailbox<'a>,
    header: &'a ControlHeader,
}

impl<'a> AnswerReader<'a> {
    pub(crate) fn new(mapping: &'a Mapping) -> Self {
        Self { mailbox: answers(mapping), header: header(mapping) }
    }

    /// Takes the next answer out.
    pub fn pop(&mut self) -> Option<Vec<u8>> {
        self.mailbox.pop()
    }

    /// Answers that found no room, and orders that could not be read.
    pub fn n_lost(&self) -> u32 {
        let dropped = self.header.answers_dropped.load(Ordering::Relaxed);
        dropped.saturating_add(self.header.orders.broken.load(Ordering::Relaxed))
    }
}

/// Where the process finds orders.
#[derive(Debug)]
pub struct OrderReader {
    mailbox: Mailbox<'static>,
    bell: Bell,
}

impl OrderReader {
    pub(crate) fn new(mapping: &'static Mapping) -> Self {
        let bell = Bell { word: &header(mapping).orders_bell };
        Self { mailbox: orders(mapping), bell }
    }

    /// Takes the next order out.
    pub fn pop(&mut self) -> Option<Vec<u8>> {
        self.mailbox.pop()
    }

    /// What wakes the process.
    pub fn bell(&self) -> Bell {
        self.bell
    }
}

/// Where the process puts answers.
#[derive(Debug)]
pub struct AnswerWriter {
    mailbox: Mailbox<'static>,
    header: &'static ControlHeader,
}

impl AnswerWriter {
    pub(crate) fn new(mapping: &'static Mapping) -> Self {
        Self { mailbox: answers(mapping), header: header(mapping) }
    }

    /// Puts an answer in, or counts it as lost and says false when there is no room.
    pub fn push(&mut self, answer: &[u8]) -> bool {
        let is_in = self.mailbox.push(answer);
        if !is_in {
            self.header.answers_dropped.fetch_add(1, Ordering::Relaxed);
        }
        is_in
    }
}

/// A word on which a thread of the process sleeps until somebody rings.
#[derive(Clone, Copy, Debug)]
pub struct Bell {
    word: &'static AtomicU32,
}

impl Bell {
    /// How often it rang: to be read before looking for what there is to do.
    pub fn n_rings(self) -> u32 {
        self.word.load(Ordering::Acquire)
    }

    /// Sleeps until it rings again after `n_rings`, or `at_most` so long; may wake for nothing.
    pub fn wait(self, n_rings: u32, at_most: Duration) {
        let timeout = libc::timespec {
            tv_sec: libc::time_t::try_from(at_most.as_secs()).unwrap_or(libc::time_t::MAX),
            tv_nsec: at_most.subsec_nanos().into(),
        };
        let word = self.word.as_ptr();
        // SAFETY: the word lives in a segment that its writer never unmaps.
        unsafe {
            libc::syscall(libc::SYS_futex, word, libc::FUTEX_WAIT, n_rings, &raw const timeout)
        };
    }

    /// Rings it.
    pub fn ring(self) {
        ring_bell(self.word);
    }
}

fn ring_bell(word: &AtomicU32) {
    word.fetch_add(1, Ordering::Release);
    // SAFETY: a mapped word; waking nobody is fine.
    unsafe { libc::syscall(libc::SYS_futex, word.as_ptr(), libc::FUTEX_WAKE, i32::MAX) };
}

fn header(mapping: &Mapping) -> &ControlHeader {
    mapping.shared(CONTROL_OFFSET)
}

fn orders(mapping: &Mapping) -> Mailbox<'_> {
    let header = &header(mapping).orders;
    Mailbox { mapping, header, offset: ORDERS_OFFSET, n_bytes: ORDERS_BYTES }
}

fn answers(mapping: &Mapping) -> Mailbox<'_> {
    let header = &header(mapping).answers;
    Mailbox { mapping, header, offset: ANSWERS_OFFSET, n_bytes: ANSWERS_BYTES }
}

/// One direction.
#[derive(Debug)]
struct Mailbox<'a> {
    mapping: &'a Mapping,
    header: &'a MailboxHeader,
    offset: usize,
    n_bytes: usize,
}

impl Mailbox<'_> {
    fn is_empty(&self) -> bool {
        self.header.written.load(Ordering::Relaxed) == self.header.taken.load(Ordering::Acquire)
    }

    fn push(&mut self, frame: &[u8]) -> bool {
        let written = self.header.written.load(Ordering::Relaxed);
        let used = written.wrapping_sub(self.header.taken.load(Ordering::Acquire));
        // More than there is room for comes from a broken counter: full, as far as we know.
        let free = (self.n_bytes as u64).saturating_sub(used);
        let needed = (LENGTH_BYTES + frame.len()) as u64;
        let Ok(length) = u32::try_from(frame.len()) else { return false };
        if free < needed {
            return false;
        }
        self.put(written, &length.to_le_bytes());
        self.put(written.wrapping_add(LENGTH_BYTES as u64), frame);
        self.header.written.store(written.wrapping_add(needed), Ordering::Release);
        true
    }

    fn pop(&mut self) -> Option<Vec<u8>> {
        let taken = self.header.taken.load(Ordering::Relaxed);
        let written = self.header.written.load(Ordering::Acquire);
        let available = written.wrapping_sub(taken);
        if available == 0 {
            return None;
        }
        let Some(length) = self.plausible_length(taken, available) else {
            self.header.broken.fetch_add(1, Ordering::Relaxed);
            self.header.taken.store(written, Ordering::Release);
            return None;
        };
        let frame = self.get(taken.wrapping_add(LENGTH_BYTES as u64), length);
        let end = taken.wrapping_add((LENGTH_BYTES + length) as u64);
        self.header.taken.store(end, Ordering::Release);
        Some(frame)
    }

    fn plausible_length(&self, taken: u64, available: u64) -> Option<usize> {
        let available = usize::try_from(available).ok().filter(|bytes| *bytes <= self.n_bytes)?;
        let room = available.checked_sub(LENGTH_BYTES)?;
        let length = self.get(taken, LENGTH_BYTES).try_into().map(u32::from_le_bytes).ok()?;
        usize::try_from(length).ok().filter(|length| *length <= room)
    }

    /// The two pieces in which `len` bytes from byte number `at` on lie: offset in the segment, length.
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
