//! What came of a simulation.

use balancing::Counts;

/// What came of a scenario.
///
/// As the source counts: messages until all tasks are dealt, and
/// `efficiency = accepted / (messages * tasks) * ratio` (J. thesis 2012, 5.1.2).
#[derive(Clone, Debug, PartialEq)]
pub struct Outcome {
    /// Tasks that came.
    pub n_tasks: u64,
    /// Tasks that ended; fewer where a node with tasks never came back.
    pub n_ended: u64,
    /// All work, shared by all cores without a gap.
    pub t_opt_s: f64,
    /// Until the last task ended.
    pub t_exec_s: f64,
    /// Until the last task was begun.
    pub t_dist_s: f64,
    /// Messages of information until then.
    pub messages: u64,
    /// Messages of any kind until then.
    pub messages_all: u64,
    /// Sums over all nodes until the end.
    pub counts: Counts,
    /// Work that free cores could have done on tasks that waited elsewhere, as a share of all work.
    pub idle_share: f64,
    /// From the coming of a task to its end, on average.
    pub response_s: f64,
    /// Tasks that began again because a node failed.
    pub n_restarted: u64,
    /// Events that were simulated.
    pub n_events: u64,
}

impl Outcome {
    /// Ideal over actual time.
    pub fn ratio(&self) -> f64 {
        self.t_opt_s / self.t_exec_s
    }

    /// The source's efficiency; 0 where no message was sent.
    pub fn efficiency(&self) -> f64 {
        if self.messages == 0 {
            return 0.0;
        }
        self.counts.accepted as f64 / (self.messages as f64 * self.n_tasks as f64) * self.ratio()
    }

    /// Share of requests that were not accepted: how often a node acted on old news.
    pub fn staleness(&self) -> f64 {
        let n_requests = self.counts.accepted + self.counts.not_accepted;
        if n_requests == 0 { 0.0 } else { self.counts.not_accepted as f64 / n_requests as f64 }
    }
}

/// How far a simulation is.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Progress {
    /// Tasks that have ended.
    pub n_ended: u64,
    /// Of so many.
    pub n_tasks: u64,
    /// Simulated time.
    pub now_s: f64,
    /// Events so far.
    pub n_events: u64,
}
