//! Attempts of this node that have room on others too: their room is kept as long as they run.
//!
//! An attempt is ended when one of its nodes has not confirmed its room for as long as a lease lasts; that node gives the
//! room to nobody before. If the daemon is gone for so long, the keeper ends the attempt.

use std::collections::BTreeMap;

use balancing_policies::{Moment, NodeId};

use super::rooms::send_leave;
use super::turn::Turn;
use crate::interface::{Allocation, Attempt, KeeperOrder, Killed, NodeSpan, PeerMessage, RoomId};

/// Time between two questions, in ms.
const KEEP_MS: u64 = 1_000;
/// Most open questions.
const N_ASKED_MAX: usize = 4_096;

/// Attempts that this node runs and that have room on others.
#[derive(Debug, Default)]
pub(super) struct Leading {
    led: BTreeMap<Attempt, Led>,
    asked: BTreeMap<u64, Asked>,
    n_asked: u64,
    kept: Moment,
}

#[derive(Debug)]
struct Led {
    span: NodeSpan,
    /// Moments at which the questions were sent that the nodes have answered last.
    confirmed: BTreeMap<NodeId, Moment>,
}

#[derive(Debug)]
struct Asked {
    node: NodeId,
    sent: Moment,
    attempts: Vec<Attempt>,
}

impl Leading {
    /// Keeps the rooms of an attempt that runs from now on, or did so for an earlier daemon.
    pub(super) fn begin(&mut self, attempt: Attempt, span: &NodeSpan, now: Moment) {
        let confirmed = span.rooms.iter().map(|room| (room.node, now)).collect();
        self.led.insert(attempt, Led { span: span.clone(), confirmed });
        self.kept = Moment(0);
    }

    /// Leaves the rooms of an attempt that has ended.
    pub(super) fn ended(&mut self, attempt: Attempt, turn: &mut Turn<'_>) {
        if let Some(Led { span, .. }) = self.led.remove(&attempt) {
            leave(attempt, &span, turn);
        }
    }

    /// Handles a node's answer; ends the attempts that have no room there any more.
    pub(super) fn on_kept(
        &mut self,
        from: NodeId,
        (number, gone): (u64, Vec<RoomId>),
        turn: &mut Turn<'_>,
    ) {
        let asked = self.asked.get(&number).filter(|asked| asked.node == from);
        let Some(sent) = asked.map(|asked| asked.sent) else { return };
        let attempts = self.asked.remove(&number).map(|asked| asked.attempts);
        for attempt in attempts.unwrap_or_default() {
            if gone.iter().any(|room| room.attempt == attempt) {
                turn.node.processes.kill(attempt, Killed::LeaseOut, turn.out);
            } else if let Some(led) = self.led.get_mut(&attempt) {
                led.confirmed.insert(from, sent);
            }
        }
    }

    /// Asks for the rooms again, and ends attempts whose nodes are silent for too long.
    pub(super) fn sweep(&mut self, turn: &mut Turn<'_>) {
        let now = turn.now.moment;
        if self.led.is_empty() || now.ms_since(self.kept) < KEEP_MS {
            return;
        }
        self.kept = now;
        while N_ASKED_MAX < self.asked.len() {
            self.asked.pop_first();
        }
        let lease_ms = turn.node.options.lease_ms;
        let mut by_node = BTreeMap::<NodeId, Vec<(RoomId, Allocation)>>::new();
        let mut own = Vec::new();
        for (&attempt, led) in &self.led {
            let is_silent = |since: &Moment| lease_ms <= now.ms_since(*since);
            if led.confirmed.values().any(is_silent) {
                turn.node.processes.kill(attempt, Killed::LeaseOut, turn.out);
                continue;
            }
            if attempt.task.home == turn.node.me {
                own.push(attempt);
            }
            let id = RoomId { attempt, round: led.span.round };
            for room in &led.span.rooms {
                let rooms = by_node.entry(room.node).or_default();
                rooms.push((id, room.allocation.clone()));
            }
        }
        if !own.is_empty() {
            let until = now.plus_ms(lease_ms);
            turn.out.keeper(KeeperOrder::Extend { attempts: own, until });
        }
        for (node, rooms) in by_node {
            let number = turn.node.options.first_number().wrapping_add(self.n_asked);
            self.n_asked += 1;
            let attempts = rooms.iter().map(|(room, _)| room.attempt).collect();
            self.asked.insert(number, Asked { node, sent: now, attempts });
            turn.out.send(node, PeerMessage::KeepRooms { number, rooms });
        }
    }
}

/// Tells the other nodes of an attempt that it needs no room any more.
pub(super) fn leave(attempt: Attempt, span: &NodeSpan, turn: &mut Turn<'_>) {
    let id = RoomId { attempt, round: span.round };
    send_leave(span.rooms.iter().map(|room| room.node), id, turn);
}
