//! Which receive took which send: the n-th message from one rank to another is taken by the n-th receive.
//!
//! MPI keeps the order of messages between two ranks only within a tag and communicator, which a timeline
//! does not carry; so a line between two calls is a likely one, not a proven one.

use super::{Event, Role};
use std::collections::HashMap;

/// A direction between two ranks of a world.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
struct Way {
    world: usize,
    from: u32,
    to: u32,
}

/// A message by its way and its number on that way.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) struct MessageKey {
    way: Way,
    number: u32,
}

/// Numbers given out so far.
#[derive(Debug, Default)]
pub(super) struct Numbering {
    sent: HashMap<Way, u32>,
    received: HashMap<Way, u32>,
}

impl Numbering {
    /// The message that `event` sends or receives, numbered in the order of calls to this function.
    pub(super) fn key_of(&mut self, event: &Event<'_>) -> Option<MessageKey> {
        let peer = event.peer?;
        let (numbers, from, to) = match event.role {
            Role::Neither => return None,
            Role::Send => (&mut self.sent, event.rank, peer),
            Role::Receive => (&mut self.received, peer, event.rank),
        };
        let way = Way { world: event.world, from, to };
        let number = numbers.entry(way).or_default();
        *number = number.wrapping_add(1);
        Some(MessageKey { way, number: *number })
    }
}
