//! Driver of the balancing rules: reports events to them, and carries out their actions.

use std::sync::Arc;

use balancing_policies::{Balance, DriverAction, Members, NodeLoad, Peer};
use task_api::Presence;

use super::Roles;
use super::lending::OfferResult;
use super::node::Node;
use super::turn::Turn;
use crate::book::QueuedClass;
use crate::interface::{CoreTimer, Moment, NodeId, PeerMessage};

/// Most rounds of moves for one event: each move changes the load, which may lead to the next.
const N_ROUNDS_MAX: usize = 8;

impl Roles {
    /// Reports an event to the rules, and carries out their actions.
    pub(super) fn balance_by(
        &mut self,
        turn: &mut Turn<'_>,
        event: impl FnOnce(&mut Balance, Moment, &mut Vec<DriverAction>),
    ) {
        let mut actions = Vec::new();
        event(&mut self.balance, turn.now.moment, &mut actions);
        for action in actions {
            match action {
                DriverAction::Send { to, message } => {
                    turn.out.send(to, PeerMessage::Balance(message))
                }
                DriverAction::Timer { timer, at: moment } => {
                    turn.out.timer(CoreTimer::Balance(timer), moment);
                }
                DriverAction::Move { to, n_tasks } => self.move_tasks(to, n_tasks, turn),
            }
        }
    }

    /// Reports the members to the rules.
    pub(super) fn balance_members(&mut self, turn: &mut Turn<'_>) {
        let (me, own) = (turn.node.me, &turn.node.options);
        let peer = |id, incarnation, n_cores, speed| Peer {
            id,
            incarnation: short(incarnation),
            n_cores,
            speed,
        };
        let me = peer(me, own.incarnation, own.measurement.n_cores, own.measurement.speed);
        let stays = |presence| matches!(presence, Presence::Up | Presence::Silent);
        let others = turn.node.peers.iter().filter(|member| stays(member.presence));
        let others =
            others.map(|other| peer(other.id, other.incarnation, other.n_cores, other.speed));
        let members = Arc::new(Members::new(others.chain([me])));
        self.balance_by(turn, |balance, now, actions| balance.on_peers(now, &members, actions));
    }

    /// Reports the result of an offer to the rules.
    pub(super) fn balance_offer(&mut self, result: OfferResult, turn: &mut Turn<'_>) {
        let OfferResult { to, n_offered, n_taken } = result;
        self.balance_by(turn, |balance, now, actions| {
            balance.on_moved(now, to, (n_offered, n_taken), actions);
        });
    }

    /// Reports the load to the rules when it has changed, until nothing moves any more.
    pub(super) fn report_load(&mut self, turn: &mut Turn<'_>) {
        for _ in 0..N_ROUNDS_MAX {
            let load = self.load(turn.node, turn.now.moment);
            if !turn.node.processes.ready || self.reported == Some(load) {
                return;
            }
            self.reported = Some(load);
            self.balance_by(turn, |balance, now, actions| {
                balance.on_measurement(now, load, actions)
            });
        }
    }

    fn load(&self, node: &Node, now: Moment) -> NodeLoad {
        // Tasks that are ordered ahead end before another node could take them, or come back.
        let n_slots = self.balance.n_slots().max(1);
        let n_running = node.processes.pool.used().cpus.min(n_slots);
        // Other nodes' tasks start when their homes have answered: cores are reserved for them, and they may not be
        // moved on.
        let n_waiting = self.holding.n_without_room();
        let n_starting = n_waiting.min(u64::from(n_slots - n_running));
        // Tasks count by their cores. Those that this node can never run are not its load (`placing`).
        let classes = node.book.tasks().classes();
        let here = classes.filter(|class| node.processes.pool.could_fit(class.demand));
        let n_cores = |class: QueuedClass<'_>| {
            class.n_tasks * class.demand.map_or(1, |demand| u64::from(demand.cpus_min().max(1)))
        };
        let n_queued = here.map(n_cores).sum::<u64>() + n_waiting - n_starting;
        let n_running = n_running.saturating_add(u32::try_from(n_starting).unwrap_or(u32::MAX));
        // A node that stops takes no tasks and gives none.
        let stops = self.stopping.is_some();
        let own = node.options.measurement;
        let is_kept = self.backfill.keeps_room(node) || self.rooms.wanted().is_some();
        let is_full = stops || node.processes.are_full(now) || is_kept;
        NodeLoad {
            // A node without room for a process has tasks to give and no core to offer.
            n_running: if is_full { own.n_cores.max(1) } else { n_running },
            n_queued: if stops { 0 } else { u32::try_from(n_queued).unwrap_or(u32::MAX) },
            n_cores: own.n_cores,
            speed: own.speed,
        }
    }

    /// Offers own tasks, and returns other nodes' tasks to their homes with the wish that they go to `to`.
    fn move_tasks(&mut self, to: NodeId, n_tasks: u32, turn: &mut Turn<'_>) {
        let n_lent = match self.stopping {
            Some(_) => 0,
            None => self.lending.lend(to, n_tasks, turn),
        };
        let n_offered = n_tasks - n_lent;
        if n_offered == 0 {
            return;
        }
        let name = turn.node.name_of(to);
        let n_taken = self.holding.return_for((to, &name), n_offered, turn);
        self.balance_offer(OfferResult { to, n_offered, n_taken }, turn);
    }
}

/// Shortens an incarnation: rules only check whether it differs.
fn short(incarnation: u64) -> u32 {
    u32::try_from((incarnation ^ incarnation >> 32) & 0xffff_ffff).unwrap_or(0)
}
