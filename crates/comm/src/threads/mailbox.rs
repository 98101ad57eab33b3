//! The messages that wait for one rank.

use crate::deadline::Deadline;
use crate::{CommError, Tag};
use std::collections::VecDeque;
use std::sync::atomic::{AtomicU8, AtomicUsize, Ordering};
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

/// Bytes that may wait for a rank; one message may always.
const BYTES_MAX: usize = 256 << 20;
/// How long a sender waits for room.
const PATIENCE: Duration = Duration::from_secs(10);
/// How often a receiver looks before it sleeps: a message is mostly here within microseconds.
const N_LOOKS: usize = 64;
/// Buffers that are kept for the next senders.
const N_SPARE_MAX: usize = 64;

/// Whom a message is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Lane {
    /// The user.
    User(Tag),
    /// Collective operations.
    Own,
}

/// Messages on their way to one rank, and whether it is still there.
#[derive(Debug, Default)]
pub(super) struct Mailbox {
    content: Mutex<Content>,
    /// Rings of the bell so far.
    n_arrived: AtomicUsize,
    bell: Condvar,
    room: Condvar,
    state: AtomicU8,
}

#[derive(Debug, Default)]
struct Content {
    messages: VecDeque<Message>,
    spare: Vec<Vec<u8>>,
    n_bytes: usize,
    is_awaited: bool,
    is_full: bool,
}

#[derive(Debug)]
struct Message {
    from: u32,
    lane: Lane,
    bytes: Vec<u8>,
}

const OPEN: u8 = 0;
const GONE: u8 = 1;
const LEFT: u8 = 2;

impl Mailbox {
    /// Adds a message of the first of two ranks for the second, whose mailbox this is.
    pub(super) fn put(
        &self,
        (from, to): (u32, u32),
        lane: Lane,
        parts: &[&[u8]],
    ) -> Result<(), CommError> {
        let n_bytes: usize = parts.iter().map(|part| part.len()).sum();
        let mut content = self.wait_for_room((from, to), n_bytes)?;
        let mut bytes = content.spare.pop().unwrap_or_default();
        bytes.clear();
        parts.iter().for_each(|part| bytes.extend_from_slice(part));
        content.n_bytes += n_bytes;
        content.messages.push_back(Message { from, lane, bytes });
        self.ring_in(&content);
        Ok(())
    }

    /// The first message that is wanted, its bytes exchanged for those of `into`.
    pub(super) fn take(
        &self,
        wanted: impl Fn(u32, Lane) -> bool,
        into: &mut Vec<u8>,
    ) -> Option<(u32, Lane)> {
        let mut content = self.lock();
        let mut messages = content.messages.iter();
        let at = messages.position(|message| wanted(message.from, message.lane))?;
        let message = content.messages.remove(at)?;
        content.n_bytes -= message.bytes.len();
        let old = std::mem::replace(into, message.bytes);
        if content.spare.len() < N_SPARE_MAX {
            content.spare.push(old);
        }
        if std::mem::take(&mut content.is_full) {
            self.room.notify_all();
        }
        Some((message.from, message.lane))
    }

    /// How often the bell has rung.
    pub(super) fn n_arrived(&self) -> usize {
        self.n_arrived.load(Ordering::Acquire)
    }

    /// Waits until the bell has rung more than `n_arrived` times; `false` when it does not in time.
    pub(super) fn wait(&self, n_arrived: usize, deadline: Deadline) -> bool {
        for _ in 0..N_LOOKS {
            if self.n_arrived() != n_arrived {
                return true;
            }
            if deadline.left().is_none() {
                return false;
            }
            std::thread::yield_now();
        }
        let mut content = self.lock();
        while self.n_arrived() == n_arrived {
            let Some(left) = deadline.left() else {
                return false;
            };
            content.is_awaited = true;
            let waited = self.bell.wait_timeout(content, left);
            content = waited.unwrap_or_else(PoisonError::into_inner).0;
            content.is_awaited = false;
        }
        true
    }

    /// Wakes whoever waits here, because the group changed.
    pub(super) fn ring(&self) {
        self.ring_in(&self.lock());
        self.room.notify_all();
    }

    /// Its rank leaves as agreed.
    pub(super) fn leave(&self) {
        self.state.store(LEFT, Ordering::Release);
    }

    /// Its rank ends; gone, when it did not leave before.
    pub(super) fn abandon(&self) {
        self.state.fetch_max(GONE, Ordering::AcqRel);
    }

    /// Whether its rank is there.
    pub(super) fn is_open(&self) -> bool {
        self.state.load(Ordering::Acquire) == OPEN
    }

    /// Whether its rank ended without leaving.
    pub(super) fn is_gone(&self) -> bool {
        self.state.load(Ordering::Acquire) == GONE
    }

    /// The error of the first of two ranks when the second, whose mailbox this is, is not there.
    pub(super) fn ended(&self, (own, rank): (u32, u32)) -> Option<CommError> {
        match self.state.load(Ordering::Acquire) {
            OPEN => None,
            GONE => Some(CommError::Gone { rank }),
            _ => Some(CommError::NotPresent { rank, own }),
        }
    }

    fn ring_in(&self, content: &Content) {
        self.n_arrived.fetch_add(1, Ordering::Release);
        if content.is_awaited {
            self.bell.notify_all();
        }
    }

    fn wait_for_room(
        &self,
        (own, rank): (u32, u32),
        n_bytes: usize,
    ) -> Result<MutexGuard<'_, Content>, CommError> {
        let deadline = Deadline::after(PATIENCE);
        let mut content = self.lock();
        loop {
            if let Some(ended) = self.ended((own, rank)) {
                return Err(ended);
            }
            if content.messages.is_empty() || content.n_bytes + n_bytes <= BYTES_MAX {
                return Ok(content);
            }
            let Some(left) = deadline.left() else {
                return Err(CommError::NoRoom { rank, n_bytes: content.n_bytes });
            };
            content.is_full = true;
            let waited = self.room.wait_timeout(content, left);
            content = waited.unwrap_or_else(PoisonError::into_inner).0;
        }
    }

    fn lock(&self) -> MutexGuard<'_, Content> {
        self.content.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
