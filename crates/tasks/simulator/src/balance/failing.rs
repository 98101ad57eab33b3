//! Failures of nodes, and their return.

use super::node::SimulatedNode;
use super::run::{ScenarioEvent, Simulation};
use super::tasks::nanoseconds;
use balancing_policies::{Moment, NodeId};

/// Time after which nodes know that a node is gone, in ns.
const SILENCE_NS: u64 = 3_000_000_000;

impl Simulation<'_> {
    pub(super) fn fail(&mut self, node: u32) {
        let it = &mut self.nodes[node as usize];
        if !it.is_up {
            return;
        }
        let before = it.free_and_waiting();
        let n_running = it.machine.n_running();
        let held = it.machine.stop(self.now_ns);
        it.is_up = false;
        self.tally.n_restarted += u64::from(n_running);
        let lease_ns = nanoseconds(self.scenario.lease_s);
        for task in held {
            if task.home == node {
                self.nodes[node as usize].machine.queue.push_back(task);
            } else {
                self.queue.push(self.now_ns + lease_ns, ScenarioEvent::Home(task));
            }
        }
        let n_queued = self.nodes[node as usize].machine.n_queued();
        self.tally.changed(self.now_ns, before, (0, n_queued.into()));
        self.queue.push(self.now_ns + SILENCE_NS, ScenarioEvent::Silent(node));
    }

    pub(super) fn lose(&mut self, gone: u32) {
        if !self.nodes[gone as usize].is_up {
            let others = self.nodes.iter_mut().filter(|node| node.is_up);
            others.for_each(|node| node.balance.on_lost(NodeId(gone)));
        }
    }

    pub(super) fn come_back(&mut self, back: u32) {
        let it = &mut self.nodes[back as usize];
        if it.is_up {
            return;
        }
        let n_queued = it.machine.n_queued().into();
        it.come_back(self.scenario, back);
        let after = (it.n_free_cores(), n_queued);
        self.tally.changed(self.now_ns, (0, n_queued), after);
        self.start_node(back);
        for node in (0..self.scenario.n_nodes).filter(|node| *node != back) {
            let it = &mut self.nodes[node as usize];
            if it.is_up {
                it.balance.on_reached(Moment(self.now_ns), NodeId(back), &mut self.out);
                self.act(node);
            }
        }
    }

    /// Returns whether all remaining tasks wait at nodes that never come back.
    pub(super) fn is_stuck(&self) -> bool {
        let is_over = |back_s: f64| nanoseconds(back_s) <= self.now_ns;
        let all_back =
            self.scenario.failures.iter().filter_map(|failure| failure.back_s).all(is_over);
        let n_away =
            |node: &SimulatedNode| if node.is_up { 0 } else { u64::from(node.machine.n_queued()) };
        all_back
            && self.tally.n_ended + self.nodes.iter().map(n_away).sum::<u64>()
                == self.scenario.n_tasks
    }
}
