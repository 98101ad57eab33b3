//! Sums over a simulation.

use super::outcome::Outcome;
use super::scenario::Scenario;
use balancing_policies::{Counts, Message, NodeId};

#[derive(Debug, Default)]
pub(super) struct Tally {
    pub(super) n_ended: u64,
    pub(super) n_restarted: u64,
    pub(super) n_events: u64,
    work_s: f64,
    response_s: f64,
    last_end_ns: u64,
    last_start_ns: u64,
    messages: u64,
    messages_all: u64,
    /// Message counts when the last task started.
    dealt: (u64, u64),
    /// Number of cores without a task; below, of tasks without a core.
    n_free: u64,
    n_waiting: u64,
    idle_core_s: f64,
    idle_since_ns: u64,
}

impl Tally {
    pub(super) fn sent(&mut self, from: NodeId, message: Message) {
        self.messages_all += 1;
        self.messages += u64::from(message.is_information(from));
    }

    pub(super) fn started(&mut self, now_ns: u64) {
        self.last_start_ns = now_ns;
        self.dealt = (self.messages, self.messages_all);
    }

    pub(super) fn arrived(&mut self, work_s: f64) {
        self.work_s += work_s;
    }

    pub(super) fn ended(&mut self, now_ns: u64, arrival_ns: u64) {
        self.n_ended += 1;
        self.last_end_ns = now_ns;
        self.response_s += (now_ns - arrival_ns) as f64 * 1e-9;
    }

    /// Records a node's numbers of free cores and waiting tasks before and after an event.
    pub(super) fn changed(&mut self, now_ns: u64, before: (u64, u64), after: (u64, u64)) {
        if before == after {
            return;
        }
        let n_idle = self.n_free.min(self.n_waiting);
        self.idle_core_s += n_idle as f64 * (now_ns - self.idle_since_ns) as f64 * 1e-9;
        self.idle_since_ns = now_ns;
        self.n_free = self.n_free + after.0 - before.0;
        self.n_waiting = self.n_waiting + after.1 - before.1;
    }

    pub(super) fn outcome(&self, scenario: &Scenario, counts: Counts) -> Outcome {
        let nodes = 0..scenario.n_nodes;
        let capacity: f64 =
            nodes.map(|node| f64::from(scenario.n_cores(node)) * scenario.speed(node)).sum();
        let n_cores: f64 =
            (0..scenario.n_nodes).map(|node| f64::from(scenario.n_cores(node))).sum();
        let idle_work_s = self.idle_core_s * capacity / n_cores;
        Outcome {
            n_tasks: scenario.n_tasks,
            n_ended: self.n_ended,
            t_opt_s: self.work_s / capacity,
            t_exec_s: self.last_end_ns as f64 * 1e-9,
            t_dist_s: self.last_start_ns as f64 * 1e-9,
            messages: self.dealt.0,
            messages_all: self.dealt.1,
            counts,
            idle_share: idle_work_s / self.work_s,
            response_s: self.response_s / self.n_ended.max(1) as f64,
            n_restarted: self.n_restarted,
            n_events: self.n_events,
        }
    }
}
