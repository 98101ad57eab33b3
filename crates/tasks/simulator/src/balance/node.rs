//! Node in simulated time: its rules, and its tasks.

use super::processor_sharing::ProcessorSharingNode;
use super::scenario::Scenario;
use balancing_policies::{Balance, Members, NodeId, NodeLoad, Peer};
use std::sync::Arc;

#[derive(Debug)]
pub(super) struct SimulatedNode {
    pub(super) balance: Balance,
    pub(super) machine: ProcessorSharingNode,
    /// Number of running tasks that the node knows of: those of its last measurement, and those that it started
    /// since.
    pub(super) n_running_known: u32,
    /// Number of running tasks at its last measurement.
    pub(super) n_running_measured: u32,
    /// Other nodes that tasks have come from since.
    pub(super) came_from: Vec<NodeId>,
    pub(super) is_observation_scheduled: bool,
    /// Time of its first measurement; further ones follow at regular intervals, as far as they are needed.
    pub(super) first_observation_ns: u64,
    pub(super) is_up: bool,
    pub(super) incarnation: u32,
    /// Time until which it is busy with earlier messages.
    pub(super) busy_until_ns: u64,
}

impl SimulatedNode {
    pub(super) fn new(scenario: &Scenario, id: u32) -> Self {
        Self {
            balance: Balance::new(NodeId(id), scenario.policy, scenario.seed),
            machine: ProcessorSharingNode::new(scenario.n_cores(id), scenario.speed(id)),
            n_running_known: 0,
            n_running_measured: 0,
            came_from: Vec::new(),
            is_observation_scheduled: false,
            first_observation_ns: 0,
            is_up: true,
            incarnation: 0,
            busy_until_ns: 0,
        }
    }

    /// Restarts the node, which keeps only its queue.
    pub(super) fn come_back(&mut self, scenario: &Scenario, id: u32) {
        (self.is_up, self.n_running_known, self.incarnation) = (true, 0, self.incarnation + 1);
        (self.n_running_measured, self.is_observation_scheduled) = (0, false);
        self.came_from.clear();
        let seed = scenario.seed.wrapping_add(self.incarnation.into());
        self.balance = Balance::new(NodeId(id), scenario.policy, seed);
    }

    pub(super) fn load(&self) -> NodeLoad {
        NodeLoad {
            n_running: self.n_running_measured,
            n_queued: self.machine.n_queued(),
            n_cores: self.machine.n_cores,
            speed: self.machine.speed,
        }
    }

    /// Time of its next measurement after `now_ns`.
    pub(super) fn next_observation_ns(&self, now_ns: u64, observation_period_ns: u64) -> u64 {
        match now_ns.checked_sub(self.first_observation_ns) {
            Some(since_ns) => now_ns + observation_period_ns - since_ns % observation_period_ns,
            None => self.first_observation_ns,
        }
    }

    /// Numbers of free cores and of waiting tasks.
    pub(super) fn free_and_waiting(&self) -> (u64, u64) {
        (self.n_free_cores(), self.machine.n_queued().into())
    }

    pub(super) fn n_free_cores(&self) -> u64 {
        if self.is_up {
            self.machine.n_cores.saturating_sub(self.machine.n_running()).into()
        } else {
            0
        }
    }
}

/// All nodes, as they know each other.
pub(super) fn members(scenario: &Scenario) -> Arc<Members> {
    let peer = |id| Peer {
        id: NodeId(id),
        incarnation: 0,
        n_cores: scenario.n_cores(id),
        speed: scenario.speed(id),
    };
    Arc::new(Members::new((0..scenario.n_nodes).map(peer)))
}
