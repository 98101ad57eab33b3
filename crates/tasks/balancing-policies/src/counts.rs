//! Costs and results of a policy: the numbers of the source, and further ones.

use serde::{Deserialize, Serialize};

/// Counters of one node since it began, or sums over nodes.
///
/// `messages` are counted as in the source: messages that tell or ask about states before tasks are requested. With
/// pulling rules a request for tasks is both, and counts here as well; so does a request each time it is passed on.
/// Answers, requests and releases count in `all` only: the source's tables leave answers out (3395 on demand with
/// five others in a domain is no multiple of 10).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Counts {
    /// Messages of load information.
    pub messages: u64,
    /// Messages of any kind.
    pub all: u64,
    /// Requests after which tasks moved.
    pub accepted: u64,
    /// Requests that were rejected, or not answered in time.
    pub not_accepted: u64,
    /// Requests that were accepted when no task was left to move.
    pub unused: u64,
    /// Tasks that were handed to other nodes.
    pub moved: u64,
    /// Tasks that other nodes did not take after all.
    pub came_back: u64,
    /// Entries dropped from full lists.
    pub dropped: u64,
}

impl std::ops::AddAssign for Counts {
    fn add_assign(&mut self, other: Self) {
        self.messages += other.messages;
        self.all += other.all;
        self.accepted += other.accepted;
        self.not_accepted += other.not_accepted;
        self.unused += other.unused;
        self.moved += other.moved;
        self.came_back += other.came_back;
        self.dropped += other.dropped;
    }
}
