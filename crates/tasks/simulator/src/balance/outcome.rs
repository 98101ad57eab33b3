//! Results of a simulation.

use balancing_policies::Counts;

/// Results of a scenario.
///
/// As in the source: messages are counted until all tasks are dealt, and
/// `efficiency = accepted / (messages * tasks) * ratio` (J. thesis 2012, 5.1.2).
#[derive(Clone, Debug, PartialEq)]
pub struct Outcome {
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
    pub counts: Counts,
    /// Work that free cores could have done on tasks that waited elsewhere, as a share of all work.
    pub idle_share: f64,
    /// Mean time from the arrival of a task to its end, in s.
    pub response_s: f64,
    /// Tasks that started again because a node failed.
    pub n_restarted: u64,
    /// Events that were simulated.
    pub n_events: u64,
}

impl Outcome {
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
pub struct Progress {
    /// Tasks that have ended.
    pub n_ended: u64,
    /// Tasks in all.
    pub n_tasks: u64,
    /// Simulated time, in s.
    pub now_s: f64,
    /// Events so far.
    pub n_events: u64,
}
