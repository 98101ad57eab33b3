//! Results of a simulation.

use super::scenario::Scenario;
use balancing_policies::{NodeId, PolicyCounters, PolicyMessage};

/// Results of a scenario.
///
/// As in the source: messages are counted until all tasks are dealt, and
/// `efficiency = accepted / (messages * tasks) * ratio` (J. thesis 2012, 5.1.2).
#[derive(Clone, Debug, PartialEq)]
pub struct ScenarioResults {
    /// Tasks that arrived.
    pub n_tasks: u64,
    /// Tasks that ended; fewer where a node with tasks never came back.
    pub n_ended: u64,
    /// Time of all work, shared by all cores without a gap, in s.
    pub t_opt_s: f64,
    /// Time until the last task ended, in s.
    pub t_exec_s: f64,
    /// Time until the last task started, in s.
    pub t_dist_s: f64,
    /// Messages of load information until the last task started.
    pub messages: u64,
    /// Messages of any kind until the last task started.
    pub messages_all: u64,
    /// Sums of the rules' counters over all nodes, until the end.
    pub counts: PolicyCounters,
    /// Work that free cores could have done on tasks that waited elsewhere, as a share of all work.
    pub idle_share: f64,
    /// Mean time from the arrival of a task to its end, in s.
    pub response_s: f64,
    /// Tasks that started again because a node failed.
    pub n_restarted: u64,
    /// Events that were simulated.
    pub n_events: u64,
}

impl ScenarioResults {
    /// Returns the ideal time divided by the actual one.
    pub fn ratio(&self) -> f64 {
        self.t_opt_s / self.t_exec_s
    }

    /// Returns the source's efficiency; 0 where no message was sent.
    pub fn efficiency(&self) -> f64 {
        if self.messages == 0 {
            return 0.0;
        }
        self.counts.accepted as f64 / (self.messages as f64 * self.n_tasks as f64) * self.ratio()
    }

    /// Returns the share of requests that were not accepted: how often a node acted on outdated information.
    pub fn staleness(&self) -> f64 {
        let n_requests = self.counts.accepted + self.counts.not_accepted;
        if n_requests == 0 { 0.0 } else { self.counts.not_accepted as f64 / n_requests as f64 }
    }
}

/// Progress of a simulation.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct SimulationProgress {
    /// Tasks that have ended.
    pub n_ended: u64,
    /// Tasks in all.
    pub n_tasks: u64,
    /// Simulated time, in s.
    pub now_s: f64,
    /// Events so far.
    pub n_events: u64,
}

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
    pub(super) fn sent(&mut self, from: NodeId, message: PolicyMessage) {
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

    pub(super) fn outcome(&self, scenario: &Scenario, counts: PolicyCounters) -> ScenarioResults {
        let nodes = 0..scenario.n_nodes;
        let capacity: f64 =
            nodes.map(|node| f64::from(scenario.n_cores(node)) * scenario.speed(node)).sum();
        let n_cores: f64 =
            (0..scenario.n_nodes).map(|node| f64::from(scenario.n_cores(node))).sum();
        let idle_work_s = self.idle_core_s * capacity / n_cores;
        ScenarioResults {
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
