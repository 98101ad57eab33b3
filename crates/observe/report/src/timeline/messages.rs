//! Matching of sends and receives: the n-th message from one rank to another is taken by the n-th receive.
//!
//! MPI keeps the order of messages between two ranks only within a tag and communicator, which a timeline does
//! not contain; so a line between two calls is likely, but not proven.

use super::Role;
use std::collections::HashMap;

/// Direction of messages between two ranks of a world.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) struct Direction {
    world: u32,
    from: u32,
    to: u32,
}

impl Direction {
    /// Returns the direction of a message that `rank` sends to or receives from `peer`.
    pub(super) fn of(world: u32, rank: u32, peer: u32, role: Role) -> Option<Self> {
        match role {
            Role::Neither => None,
            Role::Send => Some(Self { world, from: rank, to: peer }),
            Role::Receive => Some(Self { world, from: peer, to: rank }),
        }
    }
}

/// Message, identified by its direction and its number in it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) struct MessageKey {
    pub(super) direction: Direction,
    pub(super) number: u32,
}

/// Last number used for sends and for receives in each direction; numbers start at 1.
#[derive(Debug, Default)]
pub(super) struct Numbering {
    last: HashMap<(Direction, bool), u32>,
}

impl Numbering {
    /// Returns the number of the next message sent (or received) in this direction.
    pub(super) fn next(&mut self, direction: Direction, role: Role) -> u32 {
        let number = self.last.entry((direction, role == Role::Send)).or_default();
        *number = number.wrapping_add(1);
        *number
    }
}
