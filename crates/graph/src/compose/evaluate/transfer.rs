//! Messages of which one end or both have been reached.
//!
//! # Invariants
//! - The n-th send of a channel (sender, receiver, tag) belongs to its n-th receive (MPI 4.1, 3.5).

use crate::compose::network::Parts;
use std::collections::VecDeque;

/// An end of a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Side {
    Sender,
    Receiver,
}

/// What the sender did.
#[derive(Clone, Copy, Debug)]
pub(super) struct Sent {
    pub(super) from: u32,
    pub(super) to: u32,
    pub(super) at_s: f64,
    pub(super) parts: Parts,
}

/// A message with both ends.
#[derive(Clone, Copy, Debug)]
pub(super) struct Matched {
    pub(super) sent: Sent,
    /// When the receive began.
    pub(super) posted_s: f64,
}

#[derive(Clone, Copy, Debug, Default)]
struct Transfer {
    sent: Option<Sent>,
    /// The receiver and when it began.
    posted: Option<(u32, f64)>,
    /// The rank that waits for the other end.
    waiting: Option<u32>,
    /// Ends that still look at it.
    n_open: u8,
}

/// All messages under way.
pub(super) struct Transfers {
    all: Vec<Transfer>,
    free: Vec<u32>,
    /// Of each channel, messages with only one end; all of them with the same.
    channels: Vec<VecDeque<u32>>,
}

impl Transfers {
    pub(super) fn new(n_channels: usize) -> Self {
        Self { all: Vec::new(), free: Vec::new(), channels: vec![VecDeque::new(); n_channels] }
    }

    /// Whether no message is under way.
    pub(super) fn is_empty(&self) -> bool {
        self.all.len() == self.free.len()
    }

    /// A send; its number, and the rank that was waiting for it.
    pub(super) fn send(&mut self, channel: u32, sent: Sent) -> (u32, Option<u32>) {
        let number = self.end(channel, |transfer| transfer.sent.is_none());
        let transfer = &mut self.all[number as usize];
        transfer.sent = Some(sent);
        // An eager sender never looks back.
        transfer.n_open = if sent.parts.is_eager { 1 } else { 2 };
        (number, transfer.waiting.take())
    }

    /// A receive; its number, and the rank that was waiting for it.
    pub(super) fn receive(&mut self, channel: u32, rank: u32, at_s: f64) -> (u32, Option<u32>) {
        let number = self.end(channel, |transfer| transfer.posted.is_none());
        let transfer = &mut self.all[number as usize];
        transfer.posted = Some((rank, at_s));
        (number, transfer.waiting.take())
    }

    /// The message, when both ends are there; otherwise `rank` is woken when they are.
    pub(super) fn matched(&mut self, number: u32, rank: u32) -> Option<Matched> {
        let transfer = self.all.get_mut(number as usize)?;
        let (Some(sent), Some((_, posted_s))) = (transfer.sent, transfer.posted) else {
            transfer.waiting = Some(rank);
            return None;
        };
        Some(Matched { sent, posted_s })
    }

    /// One end is done with a message.
    pub(super) fn close(&mut self, number: u32) {
        let transfer = &mut self.all[number as usize];
        transfer.n_open = transfer.n_open.saturating_sub(1);
        if transfer.n_open == 0 {
            self.free.push(number);
        }
    }

    /// The end that is missing, for people.
    pub(super) fn waits_for(&self, number: u32, side: Side) -> String {
        let transfer = self.all.get(number as usize);
        match (side, transfer.and_then(|transfer| transfer.sent)) {
            (Side::Sender, Some(sent)) => format!("rank {} to receive", sent.to),
            _ => "a message that nobody sends".to_owned(),
        }
    }

    /// The first message of the channel that lacks this end, or a new one.
    fn end(&mut self, channel: u32, lacks: impl Fn(&Transfer) -> bool) -> u32 {
        let queue = &mut self.channels[channel as usize];
        if let Some(front) = queue.front().filter(|front| lacks(&self.all[**front as usize])) {
            let number = *front;
            queue.pop_front();
            return number;
        }
        let number = self.free.pop().unwrap_or_else(|| {
            self.all.push(Transfer::default());
            u32::try_from(self.all.len() - 1).unwrap_or(u32::MAX)
        });
        self.all[number as usize] = Transfer::default();
        queue.push_back(number);
        number
    }
}
