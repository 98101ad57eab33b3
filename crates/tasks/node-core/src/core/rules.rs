//! Driver of the balancing rules: reports events to them, and carries out their actions.

use std::sync::Arc;

use balancing_policies::{Action, Members, Message, NodeLoad, Peer, Timer};
use task_api::Presence;

use super::{At, Core};
use crate::interface::{CoreTimer, Moment, NodeId, PeerMessage};

/// Most rounds of moves for one event: each move changes the load, which may lead to the next.
const N_ROUNDS_MAX: usize = 8;

impl Core {
    /// Reports the members to the rules.
    pub(super) fn tell_members(&mut self, at: &mut At<'_>) {
        let own = self.options.measurement;
        let me = Peer {
            id: self.me,
            incarnation: short(self.options.incarnation),
            n_cores: own.n_cores,
            speed: own.speed,
        };
        let stays = |presence| matches!(presence, Presence::Up | Presence::Silent);
        let others = self.peers.iter().filter(|member| stays(member.presence));
        let others = others.map(|member| Peer {
            id: member.id,
            incarnation: short(member.incarnation),
            n_cores: member.n_cores,
            speed: member.speed,
        });
        let members = Arc::new(Members::new(others.chain([me])));
        let mut actions = Vec::new();
        self.balance.on_peers(at.now.moment, &members, &mut actions);
        self.act(actions, at);
    }

    pub(super) fn balance_reached(&mut self, node: NodeId, at: &mut At<'_>) {
        let mut actions = Vec::new();
        self.balance.on_reached(at.now.moment, node, &mut actions);
        self.act(actions, at);
    }

    pub(super) fn balance_moved(&mut self, to: NodeId, (n, n_taken): (u32, u32), at: &mut At<'_>) {
        let mut actions = Vec::new();
        self.balance.on_moved(at.now.moment, to, (n, n_taken), &mut actions);
        self.act(actions, at);
    }

    pub(super) fn on_balance_message(&mut self, from: NodeId, message: Message, at: &mut At<'_>) {
        let mut actions = Vec::new();
        self.balance.on_message(at.now.moment, from, message, &mut actions);
        self.act(actions, at);
    }

    pub(super) fn on_balance_timer(&mut self, timer: Timer, at: &mut At<'_>) {
        let mut actions = Vec::new();
        self.balance.on_timer(at.now.moment, timer, &mut actions);
        self.act(actions, at);
    }

    /// Reports the load to the rules when it has changed, until nothing moves any more.
    pub(super) fn measure(&mut self, at: &mut At<'_>) {
        for _ in 0..N_ROUNDS_MAX {
            let load = self.load(at.now.moment);
            if !self.ready || self.reported == Some(load) {
                return;
            }
            self.reported = Some(load);
            let mut actions = Vec::new();
            self.balance.on_measurement(at.now.moment, load, &mut actions);
            self.act(actions, at);
        }
    }

    fn load(&self, now: Moment) -> NodeLoad {
        // Tasks that are ordered ahead end before another node could take them, or come back.
        let n_running = self.running.len().min(self.n_slots());
        // Other nodes' tasks start when their homes have answered: cores are reserved for them, and they may not be
        // moved on.
        let n_free = (self.n_slots() - n_running) as u64;
        let n_starting = self.holding.n_queued().min(n_free);
        let n_queued = self.book.n_queued() + self.holding.n_queued() - n_starting;
        let n_running =
            count(n_running).saturating_add(u32::try_from(n_starting).unwrap_or(u32::MAX));
        // A node that stops takes no tasks and gives none.
        let stops = self.stopping.is_some();
        let own = self.options.measurement;
        NodeLoad {
            // A node without room for a process has tasks to give and no core to offer.
            n_running: if stops || now < self.full_until { own.n_cores.max(1) } else { n_running },
            n_queued: if stops { 0 } else { u32::try_from(n_queued).unwrap_or(u32::MAX) },
            n_cores: own.n_cores,
            speed: own.speed,
        }
    }

    fn act(&mut self, actions: Vec<Action>, at: &mut At<'_>) {
        for action in actions {
            match action {
                Action::Send { to, message } => at.out.send(to, PeerMessage::Balance(message)),
                Action::Timer { timer, at: moment } => {
                    at.out.timer(CoreTimer::Balance(timer), moment);
                }
                Action::Move { to, n_tasks } => self.move_tasks(to, n_tasks, at),
            }
        }
    }

    /// Offers own tasks, and returns other nodes' tasks to their homes with the wish that they go to `to`.
    fn move_tasks(&mut self, to: NodeId, n_tasks: u32, at: &mut At<'_>) {
        let n_offered = if self.stopping.is_some() { 0 } else { self.lend(to, n_tasks, at) };
        let n_left = n_tasks - n_offered;
        if n_left == 0 {
            return;
        }
        let n_returned = self.return_held(to, n_left, at);
        self.balance_moved(to, (n_left, n_returned), at);
    }
}

pub(super) fn count(n: usize) -> u32 {
    u32::try_from(n).unwrap_or(u32::MAX)
}

/// Shortens an incarnation: rules only check whether it differs.
fn short(incarnation: u64) -> u32 {
    u32::try_from((incarnation ^ incarnation >> 32) & 0xffff_ffff).unwrap_or(0)
}
