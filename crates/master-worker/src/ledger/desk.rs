//! One worker as the master knows it.

use super::pace::Pace;
use super::pool::Part;
use std::collections::VecDeque;

/// What a worker is to the master now.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Presence {
    /// It gets no work in this iteration.
    #[default]
    Parked,
    /// It takes part.
    InUse,
    /// It computes what is no longer wanted; it takes part again when it is heard.
    Busy,
    /// It is missed; it takes part again should it be heard.
    Away,
    /// It is gone for good.
    Gone,
}

/// A chunk that a worker has.
#[derive(Clone, Debug)]
pub(crate) struct Held {
    pub(crate) id: u64,
    pub(crate) part: Part,
    pub(crate) batch: u32,
    pub(crate) sent_s: f64,
    /// Bytes of its message.
    pub(crate) n_bytes: u64,
    /// Whether the worker had nothing else when it was sent.
    pub(crate) is_first: bool,
}

/// One worker.
#[derive(Debug, Default)]
pub(crate) struct Desk {
    pub(crate) presence: Presence,
    /// In the order in which it computes them.
    pub(crate) held: VecDeque<Held>,
    pub(crate) pace: Pace,
    /// When it began with what it computes now, as far as that is known.
    pub(crate) began_s: f64,
    /// Whether an alarm looks after it.
    pub(crate) is_watched: bool,
    /// Whether it is late, and may be missed the next time somebody looks.
    pub(crate) is_late: bool,
}

impl Desk {
    pub(crate) fn is_in_use(&self) -> bool {
        self.presence == Presence::InUse
    }

    pub(crate) fn is_idle(&self) -> bool {
        self.is_in_use() && self.held.is_empty()
    }

    /// Whether it is there and has nothing to do, not even what is no longer wanted.
    pub(crate) fn is_free(&self) -> bool {
        let is_known = matches!(self.presence, Presence::Parked | Presence::InUse);
        is_known && self.held.is_empty()
    }

    pub(crate) fn n_held(&self) -> u64 {
        self.held.iter().map(|held| held.part.n_tasks()).sum()
    }

    /// When it will end what it computes now, and how long that takes in all; `None` where it computes
    /// nothing or nothing was ever measured. `all` is the pace of all workers together.
    pub(crate) fn expected_end_s(&self, all: &Pace) -> Option<(f64, f64)> {
        let n_tasks = self.held.front()?.part.n_tasks();
        let chunk_s = self.pace.chunk_s(n_tasks).or_else(|| all.chunk_s(n_tasks))?;
        Some((self.began_s + chunk_s, chunk_s))
    }

    /// The chunk with this number, taken off the desk.
    pub(crate) fn take(&mut self, id: u64) -> Option<Held> {
        let at = self.held.iter().position(|held| held.id == id)?;
        self.held.remove(at)
    }
}
