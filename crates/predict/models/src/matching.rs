//! Matches sends with receives.
//!
//! Between two ranks on one communicator, MPI keeps the order of messages with one tag (MPI 4.1, 3.5), so
//! the pairs follow from the orders alone, without a clock. A receive of any tag takes the first unmatched
//! message.
//!
//! # Invariants
//! - A send matches at most one receive, and a receive at most one send.

use std::collections::{HashMap, VecDeque};

/// One direction between two ranks on a communicator.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Channel {
    /// Sending rank.
    pub from: u32,
    /// Receiving rank.
    pub to: u32,
    /// Communicator.
    pub communicator: u32,
}

/// Collects sends and receives, each numbered in the order in which it is added.
#[derive(Debug, Default)]
pub struct Matcher {
    channels: HashMap<Channel, Ends>,
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
    /// Adds the next send of its rank; returns its number.
    pub fn send(&mut self, channel: Channel, tag: Option<u32>) -> u32 {
        let number = self.n_sends;
        self.n_sends = number.saturating_add(1);
        self.channels.entry(channel).or_default().sends.push((number, tag));
        number
    }

    /// Adds the next receive of its rank; returns its number.
    pub fn receive(&mut self, channel: Channel, tag: Option<u32>) -> u32 {
        let number = self.n_receives;
        self.n_receives = number.saturating_add(1);
        self.channels.entry(channel).or_default().receives.push((number, tag));
        number
    }

    /// Adds a receive whose source is not known, which therefore stays unmatched; returns its number.
    pub fn receive_from_unknown(&mut self) -> u32 {
        let number = self.n_receives;
        self.n_receives = number.saturating_add(1);
        number
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

    const CHANNEL: Channel = Channel { from: 0, to: 1, communicator: 0 };

    #[track_caller]
    fn check(sends: &[u32], receives: &[Option<u32>], expected: &[Option<u32>]) {
        let mut matcher = Matcher::default();
        for tag in sends {
            matcher.send(CHANNEL, Some(*tag));
        }
        for tag in receives {
            matcher.receive(CHANNEL, *tag);
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
        matcher.send(CHANNEL, Some(1));
        matcher.receive(Channel { from: 2, ..CHANNEL }, Some(1));
        matcher.receive(Channel { communicator: 9, ..CHANNEL }, Some(1));
        matcher.receive_from_unknown();
        matcher.receive(CHANNEL, Some(1));
        assert_eq!(matcher.finish().send_of_receive, [None, None, None, Some(0)]);
    }
}
