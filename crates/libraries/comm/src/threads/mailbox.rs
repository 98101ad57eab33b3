//! Mailbox of one rank: messages waiting to be received.

use crate::deadline::Deadline;
use crate::{CommError, Tag};
use std::collections::VecDeque;
use std::sync::atomic::{AtomicU8, AtomicUsize, Ordering};
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

/// Limit on bytes waiting for a rank; a single message may exceed it.
const BYTES_MAX: usize = 256 << 20;
/// Longest time that a sender waits for room.
const ROOM_TIMEOUT: Duration = Duration::from_secs(10);
/// Number of polls before a receiver sleeps: most messages arrive within microseconds.
const N_LOOKS: usize = 64;
/// Largest number of buffers kept for the next senders.
const N_SPARE_MAX: usize = 64;

/// Consumer of a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Consumer {
    /// The user, with the message's tag.
    User(Tag),
    /// Collective operations.
    Collectives,
}

/// Messages in transit to one rank, and whether that rank is still present.
#[derive(Debug, Default)]
pub(super) struct Mailbox {
    content: Mutex<Content>,
    /// Number of wake-ups so far.
    n_arrived: AtomicUsize,
    arrival: Condvar,
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
    consumer: Consumer,
    bytes: Vec<u8>,
}

const OPEN: u8 = 0;
const GONE: u8 = 1;
const LEFT: u8 = 2;

impl Mailbox {
    /// Adds a message from the first of two ranks to the second, the owner of this mailbox.
    pub(super) fn put(
        &self,
        (from, to): (u32, u32),
        consumer: Consumer,
        parts: &[&[u8]],
    ) -> Result<(), CommError> {
        let n_bytes: usize = parts.iter().map(|part| part.len()).sum();
        let mut content = self.wait_for_room((from, to), n_bytes)?;
        let mut bytes = content.spare.pop().unwrap_or_default();
        bytes.clear();
        parts.iter().for_each(|part| bytes.extend_from_slice(part));
        content.n_bytes += n_bytes;
        content.messages.push_back(Message { from, consumer, bytes });
        self.wake_locked(&content);
        Ok(())
    }

    /// Takes the first wanted message; its bytes are swapped with those of `into`.
    pub(super) fn take(
        &self,
        wanted: impl Fn(u32, Consumer) -> bool,
        into: &mut Vec<u8>,
    ) -> Option<(u32, Consumer)> {
        let mut content = self.lock();
        let mut messages = content.messages.iter();
        let at = messages.position(|message| wanted(message.from, message.consumer))?;
        let message = content.messages.remove(at)?;
        content.n_bytes -= message.bytes.len();
        let old = std::mem::replace(into, message.bytes);
        if content.spare.len() < N_SPARE_MAX {
            content.spare.push(old);
        }
        if std::mem::take(&mut content.is_full) {
            self.room.notify_all();
        }
        Some((message.from, message.consumer))
    }

    /// Returns the number of wake-ups so far.
    pub(super) fn n_arrived(&self) -> usize {
        self.n_arrived.load(Ordering::Acquire)
    }

    /// Waits until there were more than `n_arrived` wake-ups; `false` when none happens in time.
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
            let waited = self.arrival.wait_timeout(content, left);
            content = waited.unwrap_or_else(PoisonError::into_inner).0;
            content.is_awaited = false;
        }
        true
    }

    /// Wakes all threads that wait on this mailbox, because the group changed.
    pub(super) fn wake(&self) {
        self.wake_locked(&self.lock());
        self.room.notify_all();
    }

    /// Marks that the owner left by agreement.
    pub(super) fn leave(&self) {
        self.state.store(LEFT, Ordering::Release);
    }

    /// Marks that the owner ended; it is gone unless it left before.
    pub(super) fn abandon(&self) {
        self.state.fetch_max(GONE, Ordering::AcqRel);
    }

    /// Returns whether the owner is present.
    pub(super) fn is_open(&self) -> bool {
        self.state.load(Ordering::Acquire) == OPEN
    }

    /// Returns whether the owner ended without leaving.
    pub(super) fn is_gone(&self) -> bool {
        self.state.load(Ordering::Acquire) == GONE
    }

    /// Returns the error for the first of two ranks when the second, the owner, is not present.
    pub(super) fn ended(&self, (own, rank): (u32, u32)) -> Option<CommError> {
        match self.state.load(Ordering::Acquire) {
            OPEN => None,
            GONE => Some(CommError::Gone { rank }),
            _ => Some(CommError::NotPresent { rank, own }),
        }
    }

    fn wake_locked(&self, content: &Content) {
        self.n_arrived.fetch_add(1, Ordering::Release);
        if content.is_awaited {
            self.arrival.notify_all();
        }
    }

    fn wait_for_room(
        &self,
        (own, rank): (u32, u32),
        n_bytes: usize,
    ) -> Result<MutexGuard<'_, Content>, CommError> {
        let deadline = Deadline::after(ROOM_TIMEOUT);
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
