//! Which receive took which send: the n-th message from one rank to another is taken by the n-th receive.
//!
//! MPI keeps the order of messages between two ranks only within a tag and communicator, which a timeline
//! does not carry; so a line between two calls is a likely one, not a proven one.

use super::Role;
use std::collections::HashMap;

/// A direction between two ranks of a world.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) struct Way {
    world: u32,
    from: u32,
    to: u32,
}

impl Way {
    /// The way of a message that `rank` sends to or receives from `peer`.
    pub(super) fn of(world: u32, rank: u32, peer: u32, role: Role) -> Option<Self> {
        match role {
            Role::Neither => None,
            Role::Send => Some(Self { world, from: rank, to: peer }),
            Role::Receive => Some(Self { world, from: peer, to: rank }),
        }
    }
}

/// A message by its way and its number on that way.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) struct MessageKey {
    pub(super) way: Way,
    pub(super) number: u32,
}

/// Numbers given out so far, from 1 on.
#[derive(Debug, Default)]
pub(super) struct Numbering {
    last: HashMap<(Way, bool), u32>,
}

impl Numbering {
    /// The number of the next message sent (or received) on `way`.
    pub(super) fn next(&mut self, way: Way, role: Role) -> u32 {
        let number = self.last.entry((way, role == Role::Send)).or_default();
        *number = number.wrapping_add(1);
        *number
    }
}
