//! Outcome of a simulated queue.

/// Outcome of a queue.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct QueueResults {
    /// Times of the jobs, in the order of the scenario.
    pub jobs: Vec<JobTimes>,
    /// Nodes of the jobs.
    pub spans: Vec<NodeSpan>,
}

/// Times of a job.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct JobTimes {
    /// Number of the job.
    pub number: u64,
    /// Time of submission, in s.
    pub submitted_s: f64,
    /// Start, in s.
    pub began_s: f64,
    /// End, in s.
    pub ended_s: f64,
    /// Work done until then, as time on one node, in s.
    pub done_s: f64,
    /// Number of changes of size.
    pub n_resizes: u32,
}

/// Time for which a job had a node.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct NodeSpan {
    /// Number of the node, from 0 on.
    pub node: u32,
    /// Number of the job.
    pub job: u64,
    /// From when it had the node, in s.
    pub from_s: f64,
    /// Until when, in s.
    pub to_s: f64,
}

impl QueueResults {
    /// Time from the first submission to the last end, in s.
    pub fn makespan_s(&self) -> f64 {
        let first_s = self.jobs.iter().map(|job| job.submitted_s).fold(f64::INFINITY, f64::min);
        self.jobs.iter().map(|job| job.ended_s - first_s).fold(0.0, f64::max)
    }

    /// Mean time from submission to start, in s.
    pub fn waiting_s(&self) -> f64 {
        self.mean(|job| job.began_s - job.submitted_s)
    }

    /// Mean time from submission to end, in s.
    pub fn completion_s(&self) -> f64 {
        self.mean(|job| job.ended_s - job.submitted_s)
    }

    /// Time that jobs had nodes, in hours of one node.
    pub fn node_hours(&self) -> f64 {
        self.spans.iter().map(|span| span.to_s - span.from_s).sum::<f64>() / 3600.0
    }

    /// Number of changes of size.
    pub fn n_resizes(&self) -> u32 {
        self.jobs.iter().map(|job| job.n_resizes).sum()
    }

    fn mean(&self, time_s: impl Fn(&JobTimes) -> f64) -> f64 {
        self.jobs.iter().map(time_s).sum::<f64>() / self.jobs.len().max(1) as f64
    }
}
