//! What a policy costs and brings, in the source's numbers and beyond them.

use serde::{Deserialize, Serialize};

/// Numbers of one node since it began, or sums over nodes.
///
/// `messages` are the source's: those by which a node tells or asks about states before tasks are asked for. Where a
/// node with room asks for tasks, its question is both, and counted here as well. So is a request each time
/// that it is passed on. Answers, requests and thanks are in `all` alone: the source's tables leave
/// answers out (3395 on demand with five others in a domain is no multiple of 10).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Counts {
    /// Messages of information.
    pub messages: u64,
    /// Messages of any kind.
    pub all: u64,
    /// Requests after which tasks moved.
    pub accepted: u64,
    /// Requests that were rejected, or not answered in time.
    pub not_accepted: u64,
    /// Requests that were accepted when no task was left to move.
    pub unused: u64,
    /// Tasks that were handed to others.
    pub moved: u64,
    /// Tasks that others did not take after all.
    pub came_back: u64,
    /// Entries of full lists that were given up.
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
