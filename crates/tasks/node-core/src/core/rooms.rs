//! Room on this node for tasks that run on several nodes, and are started by another one.
//!
//! A room is kept as long as it is asked for again, first by the home that searches, then by the node that runs the task. A
//! home that has searched in vain for long waits in a line: nothing else is started here until it has its room, but for
//! what ends before that.
//!
//! # Invariants
//! - Who waits here keeps no room at a node with a higher number for longer than a try (`spanning`), so that no two wait
//!   for each other.

use std::collections::{BTreeMap, VecDeque};

use balancing_policies::{Moment, NodeId};
use task_api::Demand;

use super::node::Node;
use super::turn::Turn;
use crate::interface::{Allocation, Now, PeerMessage, Room, RoomId};

/// Time for which a place in the line is kept, in ms: it is asked for each second.
const WAITS_MS: u64 = 5_000;

/// Rooms that are given, and the line of those who wait.
#[derive(Debug, Default)]
pub(super) struct Rooms {
    given: BTreeMap<RoomId, Given>,
    line: VecDeque<Waiting>,
    /// Rooms for own tasks that were given since this was last asked.
    given_here: Vec<(RoomId, Room)>,
}

#[derive(Debug)]
struct Given {
    allocation: Allocation,
    until: Moment,
}

#[derive(Debug)]
struct Waiting {
    room: RoomId,
    demand: Demand,
    until: Moment,
}

/// Answer to a home that asks for room.
#[derive(Debug)]
pub(super) enum RoomAnswer {
    Given(Room),
    No,
    /// It is told when there is room.
    Waits,
}

impl Rooms {
    /// Rooms that are given.
    #[cfg(test)]
    pub(super) fn given(&self) -> impl Iterator<Item = (&RoomId, &Allocation)> {
        self.given.iter().map(|(room, given)| (room, &given.allocation))
    }

    /// Returns whether nothing is given, and nobody waits.
    pub(super) fn are_empty(&self) -> bool {
        self.given.is_empty() && self.line.is_empty()
    }

    /// What the first in the line asks for.
    pub(super) fn wanted(&self) -> Option<&Demand> {
        self.line.front().map(|waiting| &waiting.demand)
    }

    /// Gives room if there is some, and `may_pass` those that this node keeps room for; else notes who `waits`.
    pub(super) fn ask(
        &mut self,
        room: RoomId,
        (demand, waits): (Demand, bool),
        may_pass: bool,
        (node, now): (&mut Node, Now),
    ) -> RoomAnswer {
        let lease_ms = node.options.lease_over_ms();
        if let Some(given) = self.given.get_mut(&room) {
            given.until = now.moment.plus_ms(lease_ms);
            return RoomAnswer::Given(as_room(node, &given.allocation));
        }
        let place = self.line.iter().position(|it| it.room == room);
        let is_next = match place {
            Some(place) => place == 0,
            None => self.line.is_empty() && may_pass,
        };
        let allocation = is_next.then(|| node.processes.pool.allocate(Some(&demand), 0)).flatten();
        match (allocation, place.and_then(|place| self.line.get_mut(place))) {
            (Some(allocation), _) => {
                self.line.retain(|it| it.room != room);
                RoomAnswer::Given(self.give(room, allocation, node, now.moment))
            }
            (None, Some(waiting)) => {
                waiting.until = now.moment.plus_ms(WAITS_MS);
                RoomAnswer::Waits
            }
            (None, None) if waits => {
                let until = now.moment.plus_ms(WAITS_MS);
                self.line.push_back(Waiting { room, demand, until });
                RoomAnswer::Waits
            }
            (None, None) => RoomAnswer::No,
        }
    }

    /// Answers another node that asks for room.
    pub(super) fn on_ask(
        &mut self,
        room: RoomId,
        wanted: (Demand, bool),
        may_pass: bool,
        turn: &mut Turn<'_>,
    ) {
        let given = match self.ask(room, wanted, may_pass, (turn.node, turn.now)) {
            RoomAnswer::Given(given) => Some(Box::new(given)),
            RoomAnswer::No => None,
            RoomAnswer::Waits => return,
        };
        turn.out.send(room.attempt.task.home, PeerMessage::HasRoomFor { room, given });
    }

    fn give(&mut self, room: RoomId, allocation: Allocation, node: &Node, now: Moment) -> Room {
        let given = as_room(node, &allocation);
        let until = now.plus_ms(node.options.lease_over_ms());
        self.given.insert(room, Given { allocation, until });
        given
    }

    /// Gives room to those who wait, in order, and tells them.
    pub(super) fn serve(&mut self, turn: &mut Turn<'_>) {
        while let Some(waiting) = self.line.front()
            && let Some(allocation) = turn.node.processes.pool.allocate(Some(&waiting.demand), 0)
            && let Some(Waiting { room, .. }) = self.line.pop_front()
        {
            let given = self.give(room, allocation, turn.node, turn.now.moment);
            match room.attempt.task.home {
                home if home == turn.node.me => self.given_here.push((room, given)),
                home => {
                    let given = Some(Box::new(given));
                    turn.out.send(home, PeerMessage::HasRoomFor { room, given });
                }
            }
        }
    }

    /// Rooms for own tasks that were given since this was last asked.
    pub(super) fn take_given_here(&mut self) -> Vec<(RoomId, Room)> {
        std::mem::take(&mut self.given_here)
    }

    /// Takes a room out, for an attempt that this node starts itself; what was given stays given.
    pub(super) fn withdraw(&mut self, room: RoomId) -> Option<Allocation> {
        self.given.remove(&room).map(|given| given.allocation)
    }

    /// Keeps rooms, also those of before the daemon restarted; returns those that are not there.
    pub(super) fn keep(
        &mut self,
        rooms: Vec<(RoomId, Allocation)>,
        (node, now): (&mut Node, Now),
    ) -> Vec<RoomId> {
        let until = now.moment.plus_ms(node.options.lease_over_ms());
        let mut gone = Vec::new();
        for (room, allocation) in rooms {
            match self.given.get_mut(&room) {
                Some(given) => given.until = until,
                None if node.processes.pool.give_again(&allocation) => {
                    self.given.insert(room, Given { allocation, until });
                }
                None => gone.push(room),
            }
        }
        gone
    }

    /// Takes back rooms that are not needed any more.
    pub(super) fn leave(&mut self, rooms: &[RoomId], node: &mut Node) {
        for room in rooms {
            if let Some(given) = self.given.remove(room) {
                node.processes.pool.take_back(&given.allocation);
            }
            self.line.retain(|it| it.room != *room);
        }
    }

    /// Takes back rooms that nobody has asked for again.
    pub(super) fn sweep(&mut self, turn: &mut Turn<'_>) {
        let now = turn.now.moment;
        self.line.retain(|it| now < it.until);
        let late = self.given.iter().filter(|(_, given)| given.until <= now);
        let late = late.map(|(room, _)| *room).collect::<Vec<_>>();
        self.leave(&late, turn.node);
    }

    /// Takes all rooms back, since the node stops at once.
    pub(super) fn clear(&mut self, turn: &mut Turn<'_>) {
        let all = self.given.keys().copied().collect::<Vec<_>>();
        self.leave(&all, turn.node);
        self.line.clear();
    }
}

fn as_room(node: &Node, allocation: &Allocation) -> Room {
    Room { node: node.me, host: host(node).to_owned(), allocation: allocation.clone() }
}

/// Host of this node, by which a launcher reaches it.
pub(super) fn host(node: &Node) -> &str {
    let address = &node.options.address;
    let host = address.rsplit_once(':').map_or(address.as_str(), |(host, _)| host);
    let host = host.trim_start_matches('[').trim_end_matches(']');
    if host.is_empty() { "localhost" } else { host }
}

/// Tells nodes that rooms of an attempt are not needed any more.
pub(super) fn send_leave(nodes: impl Iterator<Item = NodeId>, room: RoomId, turn: &mut Turn<'_>) {
    for node in nodes {
        turn.out.send(node, PeerMessage::LeaveRooms(vec![room]));
    }
}
