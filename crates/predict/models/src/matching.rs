//! Matches sends with receives.
//!
//! Between two ranks on one communicator, MPI keeps the order of messages with one tag (MPI 4.1, 3.5), so
//! the pairs follow from the orders alone, without a clock. A receive of any tag takes the first unmatched
//! message.
//!
//! # Invariants
//! - A send matches at most one receive, and a receive at most one send.

use crate::action::MessageEnd;
use std::collections::{HashMap, VecDeque};

/// Collects sends and receives, each numbered in the order in which it is added.
#[derive(Debug, Default)]
pub struct Matcher {
    /// Ends of messages by sender, receiver and communicator.
    channels: HashMap<(u32, u32, u32), Ends>,
    n_sends: u32,
    n_receives: u32,
}

#[derive(Debug, Default)]
struct Ends {
    /// Number and tag, in order.
    sends: Vec<(u32, Option<u32>)>,
    receives: Vec<(u32, Option<u32>)>,
}

/// Matched pairs.
#[derive(Debug, PartialEq, Eq)]
pub struct Matches {
    /// Number of the send that matches each receive, by the receive's number.
    pub send_of_receive: Vec<Option<u32>>,
    /// Sends without a receive.
    pub n_unmatched_sends: u64,
    /// Receives without a send.
    pub n_unmatched_receives: u64,
}

impl Matcher {
    /// Adds the next send of a rank. Without a peer (to `MPI_PROC_NULL`, or out of the world) it stays unmatched.
    pub fn send(&mut self, rank: u32, message: MessageEnd) {
        let to = message.peer.unwrap_or(u32::MAX);
        let channel = (rank, to, message.communicator);
        self.channels.entry(channel).or_default().sends.push((self.n_sends, message.tag));
        self.n_sends = self.n_sends.saturating_add(1);
    }

    /// Adds the next receive of a rank. Without a peer, its source is not known, and it stays unmatched.
    pub fn receive(&mut self, rank: u32, message: MessageEnd) {
        if let Some(from) = message.peer {
            let channel = (from, rank, message.communicator);
            self.channels.entry(channel).or_default().receives.push((self.n_receives, message.tag));
        }
        self.n_receives = self.n_receives.saturating_add(1);
    }

    /// Matches the sends with the receives.
    pub fn finish(self) -> Matches {
        let mut send_of_receive = vec![None; self.n_receives as usize];
        let mut n_matched = 0;
        for ends in self.channels.into_values() {
            n_matched += ends.pair(&mut send_of_receive);
        }
        Matches {
            send_of_receive,
            n_unmatched_sends: u64::from(self.n_sends) - n_matched,
            n_unmatched_receives: u64::from(self.n_receives) - n_matched,
        }
    }
}

impl Ends {
    fn pair(&self, send_of_receive: &mut [Option<u32>]) -> u64 {
        let mut by_tag: HashMap<Option<u32>, VecDeque<usize>> = HashMap::new();
        for (at, (_, tag)) in self.sends.iter().enumerate() {
            by_tag.entry(*tag).or_default().push_back(at);
        }
        let mut taken = vec![false; self.sends.len()];
        let mut first_left = 0;
        let mut n_matched = 0;
        for (receive, tag) in &self.receives {
            while taken.get(first_left).is_some_and(|taken| *taken) {
                first_left += 1;
            }
            let found = match tag {
                None => Some(first_left).filter(|at| *at < self.sends.len()),
                // Sends that a receive of any tag already took are skipped.
                Some(_) => by_tag.get_mut(tag).and_then(|queue| {
                    std::iter::from_fn(|| queue.pop_front()).find(|at| !taken[*at])
                }),
            };
            let Some(at) = found else { continue };
            taken[at] = true;
            send_of_receive[*receive as usize] = Some(self.sends[at].0);
            n_matched += 1;
        }
        n_matched
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn message(peer: u32, tag: Option<u32>) -> MessageEnd {
        MessageEnd { peer: Some(peer), tag, communicator: 0 }
    }

    #[track_caller]
    fn check(sends: &[u32], receives: &[Option<u32>], expected: &[Option<u32>]) {
        let mut matcher = Matcher::default();
        for tag in sends {
            matcher.send(0, message(1, Some(*tag)));
        }
        for tag in receives {
            matcher.receive(1, message(0, *tag));
        }
        let matches = matcher.finish();
        assert_eq!(matches.send_of_receive, expected);
        let n_matched = expected.iter().flatten().count();
        assert_eq!(matches.n_unmatched_sends, (sends.len() - n_matched) as u64);
        assert_eq!(matches.n_unmatched_receives, (receives.len() - n_matched) as u64);
    }

    #[test]
    fn order_and_tag_decide() {
        check(&[], &[Some(1)], &[None]);
        check(&[1, 1], &[Some(1), Some(1)], &[Some(0), Some(1)]);
        check(&[1, 2], &[Some(2), Some(1)], &[Some(1), Some(0)]);
        check(&[1, 2, 1], &[Some(1)], &[Some(0)]);
        check(&[1, 2, 1], &[None, Some(1), None], &[Some(0), Some(2), Some(1)]);
        check(&[1], &[None, None], &[Some(0), None]);
    }

    #[test]
    fn other_ranks_and_communicators_are_other_channels() {
        let mut matcher = Matcher::default();
        let from = |peer| message(peer, Some(1));
        matcher.send(0, from(1));
        matcher.receive(1, from(2));
        matcher.receive(1, MessageEnd { communicator: 9, ..from(0) });
        matcher.receive(1, MessageEnd { peer: None, ..from(0) });
        matcher.receive(1, from(0));
        assert_eq!(matcher.finish().send_of_receive, [None, None, None, Some(0)]);
    }
}
