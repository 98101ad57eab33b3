//! Messages with one or both ends reached.
//!
//! # Invariants
//! - The n-th send of a channel (sender, receiver, tag) matches its n-th receive (MPI 4.1, 3.5).

use crate::compose::network::MessageCost;
use std::collections::VecDeque;

/// End of a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Side {
    Sender,
    Receiver,
}

/// Sending end of a message.
#[derive(Clone, Copy, Debug)]
pub(super) struct SendingEnd {
    pub(super) from: u32,
    pub(super) to: u32,
    pub(super) at_s: f64,
    pub(super) cost: MessageCost,
}

/// A message with both ends reached.
#[derive(Clone, Copy, Debug)]
pub(super) struct Matched {
    pub(super) sent: SendingEnd,
    /// Time at which the receive began, in s.
    pub(super) posted_s: f64,
}

#[derive(Clone, Copy, Debug, Default)]
struct Transfer {
    sent: Option<SendingEnd>,
    /// Time at which the receive began, in s.
    posted: Option<f64>,
    /// Rank that waits for the other end.
    waiting: Option<u32>,
    /// Number of ends that still need this entry.
    n_open: u8,
}

/// All messages in progress.
pub(super) struct Transfers {
    all: Vec<Transfer>,
    free: Vec<u32>,
    /// Messages with only one end, by channel; within a channel all lack the same end.
    channels: Vec<VecDeque<u32>>,
}

impl Transfers {
    pub(super) fn new(n_channels: usize) -> Self {
        Self { all: Vec::new(), free: Vec::new(), channels: vec![VecDeque::new(); n_channels] }
    }

    /// Returns whether no message is in progress.
    pub(super) fn is_empty(&self) -> bool {
        self.all.len() == self.free.len()
    }

    /// Adds a send; returns the message's number, and the rank that was waiting for it.
    pub(super) fn send(&mut self, channel: u32, sent: SendingEnd) -> (u32, Option<u32>) {
        let number = self.end(channel, |transfer| transfer.sent.is_none());
        let transfer = &mut self.all[number as usize];
        transfer.sent = Some(sent);
        // An eager sender does not need the entry any more.
        transfer.n_open = if sent.cost.is_eager { 1 } else { 2 };
        (number, transfer.waiting.take())
    }

    /// Adds a receive; returns the message's number, and the rank that was waiting for it.
    pub(super) fn receive(&mut self, channel: u32, at_s: f64) -> (u32, Option<u32>) {
        let number = self.end(channel, |transfer| transfer.posted.is_none());
        let transfer = &mut self.all[number as usize];
        transfer.posted = Some(at_s);
        (number, transfer.waiting.take())
    }

    /// Returns the message if both ends are reached; otherwise registers `rank` to be woken then.
    pub(super) fn matched(&mut self, number: u32, rank: u32) -> Option<Matched> {
        let transfer = self.all.get_mut(number as usize)?;
        let (Some(sent), Some(posted_s)) = (transfer.sent, transfer.posted) else {
            transfer.waiting = Some(rank);
            return None;
        };
        Some(Matched { sent, posted_s })
    }

    /// Marks that one end no longer needs a message.
    pub(super) fn close(&mut self, number: u32) {
        let transfer = &mut self.all[number as usize];
        transfer.n_open = transfer.n_open.saturating_sub(1);
        if transfer.n_open == 0 {
            self.free.push(number);
        }
    }

    /// Describes the missing end for the user.
    pub(super) fn waits_for(&self, number: u32, side: Side) -> String {
        let transfer = self.all.get(number as usize);
        match (side, transfer.and_then(|transfer| transfer.sent)) {
            (Side::Sender, Some(sent)) => format!("rank {} to receive", sent.to),
            _ => "a message that nobody sends".to_owned(),
        }
    }

    /// Returns the first message of the channel that lacks this end, or a new one.
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
