//! Two mailboxes between a process and the collector of its node: one for orders, one for answers.
//!
//! A mailbox is a ring of bytes that one side writes and the other one reads, made of frames with a
//! checksum. `written` and `taken` count bytes since the start; a frame is published only when it is
//! whole, so a writer that dies half-way leaves nothing behind, and its successor continues where it
//! stopped. After an order the collector rings a bell, a futex word on which the process sleeps.
//!
//! # Invariants
//! - Neither side waits for the other: a full mailbox refuses a frame.
//! - Data written by the other process is never trusted: an order or an answer is received as it was sent, once and
//!   in order, or not at all; what was skipped is counted.

mod mailbox;

use crate::futex;
use crate::layout::{
    ANSWERS_BYTES, ANSWERS_OFFSET, CONTROL_OFFSET, ControlHeader, ORDERS_BYTES, ORDERS_OFFSET,
};
use crate::mapping::Mapping;
use mailbox::{HEAD_BYTES, Mailbox, ReadPosition, WritePosition};
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

/// Longest order that fits into the empty mailbox, in bytes.
pub const ORDER_BYTES_MAX: usize = ORDERS_BYTES - HEAD_BYTES;
/// Longest answer that fits into the empty mailbox, in bytes.
pub const ANSWER_BYTES_MAX: usize = ANSWERS_BYTES - HEAD_BYTES;

/// Positions of a collector in the mailboxes of a process, in the collector's own memory.
#[derive(Debug)]
pub(crate) struct Positions {
    orders: WritePosition,
    answers: ReadPosition,
}

impl Positions {
    /// Positions at which the previous collector stopped.
    pub(crate) fn of(mapping: &Mapping) -> Self {
        let header = header(mapping);
        Self {
            orders: WritePosition::of(&header.orders),
            answers: ReadPosition::of(&header.answers),
        }
    }
}

/// Collector's end of the mailbox of orders.
#[derive(Debug)]
pub struct OrderWriter<'a> {
    mailbox: Mailbox<'a>,
    at: &'a WritePosition,
    bell: &'a AtomicU32,
}

impl<'a> OrderWriter<'a> {
    pub(crate) fn new(mapping: &'a Mapping, at: &'a Positions) -> Self {
        let bell = &header(mapping).orders_bell;
        Self { mailbox: orders(mapping), at: &at.orders, bell }
    }

    /// Appends an order and wakes the process. Returns false if there is no room now: try again later,
    /// unless the order is longer than [`ORDER_BYTES_MAX`].
    pub fn push(&mut self, order: &[u8]) -> bool {
        let is_in = self.mailbox.push(self.at, order);
        if is_in {
            ring_bell(self.bell);
        }
        is_in
    }

    /// Returns whether the process has taken all orders.
    pub fn is_empty(&self) -> bool {
        self.mailbox.is_empty(self.at)
    }
}

/// Collector's end of the mailbox of answers.
#[derive(Debug)]
pub struct AnswerReader<'a> {
    mailbox: Mailbox<'a>,
    at: &'a ReadPosition,
    header: &'a ControlHeader,
}

impl<'a> AnswerReader<'a> {
    pub(crate) fn new(mapping: &'a Mapping, at: &'a Positions) -> Self {
        Self { mailbox: answers(mapping), at: &at.answers, header: header(mapping) }
    }

    /// Removes and returns the next answer.
    pub fn pop(&mut self) -> Option<Vec<u8>> {
        self.mailbox.pop(self.at)
    }

    /// Number of answers dropped for lack of room, and of damaged orders.
    pub fn n_lost(&self) -> u32 {
        let dropped = self.header.answers_dropped.load(Ordering::Relaxed);
        dropped.saturating_add(self.header.orders.broken.load(Ordering::Relaxed))
    }
}

/// Process's end of the mailbox of orders.
#[derive(Debug)]
pub struct OrderReader {
    mailbox: Mailbox<'static>,
    at: ReadPosition,
    bell: Bell,
}

impl OrderReader {
    pub(crate) fn new(mapping: &'static Mapping) -> Self {
        let bell = Bell { word: &header(mapping).orders_bell };
        let at = ReadPosition::of(&header(mapping).orders);
        Self { mailbox: orders(mapping), at, bell }
    }

    /// Removes and returns the next order.
    pub fn pop(&mut self) -> Option<Vec<u8>> {
        self.mailbox.pop(&self.at)
    }

    /// Bell that wakes the process.
    pub fn bell(&self) -> Bell {
        self.bell
    }
}

/// Process's end of the mailbox of answers.
#[derive(Debug)]
pub struct AnswerWriter {
    mailbox: Mailbox<'static>,
    at: WritePosition,
    header: &'static ControlHeader,
}

impl AnswerWriter {
    pub(crate) fn new(mapping: &'static Mapping) -> Self {
        let header = header(mapping);
        Self { mailbox: answers(mapping), at: WritePosition::of(&header.answers), header }
    }

    /// Appends an answer; without room, counts the answer as lost and returns false.
    pub fn push(&mut self, answer: &[u8]) -> bool {
        let is_in = self.mailbox.push(&self.at, answer);
        if !is_in {
            self.header.answers_dropped.fetch_add(1, Ordering::Relaxed);
        }
        is_in
    }
}

/// Futex word on which a thread of the process sleeps until it is rung.
#[derive(Clone, Copy, Debug)]
pub struct Bell {
    word: &'static AtomicU32,
}

impl Bell {
    /// Number of rings so far; read it before checking for work, so that no ring is missed.
    pub fn n_rings(self) -> u32 {
        self.word.load(Ordering::Acquire)
    }

    /// Sleeps until the bell rings again after `n_rings`, for at most `at_most`; may wake spuriously.
    pub fn wait(self, n_rings: u32, at_most: Duration) {
        futex::wait(self.word, n_rings, at_most);
    }

    /// Wakes the sleeping threads.
    pub fn ring(self) {
        ring_bell(self.word);
    }
}

fn ring_bell(word: &AtomicU32) {
    word.fetch_add(1, Ordering::Release);
    futex::wake_all(word);
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
