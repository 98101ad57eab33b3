//! Simulates a queue of parallel jobs on the nodes of a cluster: rigid, moldable and malleable.
//!
//! Jobs start in the order in which they come, with EASY backfilling, as those of Slurm's main scheduler do. Malleable jobs
//! are shrunk and grown by [`resize_plan::queue::rearrange`], the rule of `sintonia slurm-policy`, on the estimates of
//! [`resize_plan::payoff`], those of malleable programs. A program measures its iterations at the sizes that it has; its
//! true speedup is known to the simulator alone.
//!
//! # Invariants
//! - Deterministic: a scenario, its seed included, has one outcome.
//! - A node has one job at a time, and a job ends when all of its work is done.
//!
//! # Not here
//! Slurm's commands and the polling (`resize-client`); how data move during a resize: its price is given.

mod backfill;
mod program;
mod results;
mod speedup;
mod swf;
mod workload;
mod world;

pub use results::{JobTimes, NodeSpan, QueueResults};
pub use speedup::Speedup;
pub use swf::{SwfMachine, SwfProblem, read_swf};
pub use workload::draw_jobs;

/// Most nodes of a scenario.
pub const N_NODES_MAX: u32 = 4096;
/// Most jobs of a scenario.
pub const N_JOBS_MAX: usize = 100_000;

/// Job of a queue.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct QueueJob {
    /// Number of the job.
    pub number: u64,
    /// Time of submission, in s.
    pub submitted_s: f64,
    /// Number of nodes that its user asks for.
    pub n_nodes: u32,
    /// Run time on that many nodes, in s.
    pub run_s: f64,
    /// Limit of time that its user gives for that many nodes, in s; only backfilling looks at it.
    pub limit_s: f64,
    /// Speedup by number of nodes.
    pub speedup: Speedup,
}

impl QueueJob {
    /// Run time on one node, in s.
    pub fn work_s(&self) -> f64 {
        self.run_s * self.speedup.on(self.n_nodes)
    }
}

/// Way in which jobs have nodes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum QueueWay {
    /// All that they ask for, from start to end.
    Rigid,
    /// As few as they can run on, from start to end.
    Small,
    /// What is free when they start, between the fewest and what they ask for, to the end: `sbatch --nodes=MIN-MAX`.
    Range,
    /// From the fewest on, grown and shrunk by a rule that knows nothing of speedups.
    Malleable,
    /// The same by a rule that knows what the programs have measured.
    MalleableByCurve,
}

impl QueueWay {
    /// All ways.
    pub const ALL: [Self; 5] =
        [Self::Rigid, Self::Small, Self::Range, Self::Malleable, Self::MalleableByCurve];

    /// Name for users.
    pub fn name(self) -> &'static str {
        match self {
            Self::Rigid => "rigid",
            Self::Small => "moldable-small",
            Self::Range => "moldable-range",
            Self::Malleable => "malleable",
            Self::MalleableByCurve => "malleable-by-curve",
        }
    }

    /// True if jobs change their sizes.
    pub fn is_malleable(self) -> bool {
        matches!(self, Self::Malleable | Self::MalleableByCurve)
    }
}

/// Cluster and jobs to simulate.
#[derive(Clone, Debug, PartialEq)]
pub struct QueueScenario {
    /// Number of nodes.
    pub n_nodes: u32,
    /// Jobs in the order of their submission.
    pub jobs: Vec<QueueJob>,
    /// Way in which they have nodes.
    pub way: QueueWay,
    /// Fewest nodes of a job that is not rigid, as a share of what it asks for.
    pub smallest_share: f64,
    /// Time for which a program stops to change its size, in s.
    pub price_s: f64,
    /// Time between two looks of the policy, in s.
    pub interval_s: f64,
    /// Deviation of a measured iteration from its true time, as a share of it.
    pub noise: f64,
    /// Seed of the measurements.
    pub seed: u64,
}

impl QueueScenario {
    /// Fewest nodes on which a job runs.
    pub(crate) fn smallest(&self, job: &QueueJob) -> u32 {
        if self.way == QueueWay::Rigid {
            return job.n_nodes;
        }
        let smallest = (f64::from(job.n_nodes) * self.smallest_share).ceil();
        #[expect(
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss,
            reason = "at most what it asks for"
        )]
        let smallest = smallest as u32;
        smallest.clamp(1, job.n_nodes)
    }

    fn check(&self) -> Result<(), QueueScenarioError> {
        if !(1..=N_NODES_MAX).contains(&self.n_nodes) {
            return Err(QueueScenarioError::Nodes(self.n_nodes));
        }
        if !(1..=N_JOBS_MAX).contains(&self.jobs.len()) {
            return Err(QueueScenarioError::Jobs(self.jobs.len()));
        }
        let numbers = [self.smallest_share, self.price_s, self.noise];
        let are_numbers = numbers.iter().all(|number| number.is_finite() && 0.0 <= *number);
        if !are_numbers || !self.interval_s.is_finite() || self.interval_s <= 0.0 {
            return Err(QueueScenarioError::Numbers);
        }
        self.jobs.iter().try_for_each(|job| self.check_job(job))
    }

    fn check_job(&self, job: &QueueJob) -> Result<(), QueueScenarioError> {
        let QueueJob { number, n_nodes, .. } = *job;
        if !(1..=self.n_nodes).contains(&n_nodes) {
            return Err(QueueScenarioError::Size { number, n_nodes, n_there: self.n_nodes });
        }
        let is_time = |time_s: f64| time_s.is_finite() && 0.0 <= time_s;
        let is_right = is_time(job.submitted_s) && is_time(job.limit_s) && is_time(job.run_s);
        (is_right && 0.0 < job.run_s).then_some(()).ok_or(QueueScenarioError::Times(number))
    }
}

/// Reasons why a scenario cannot be simulated.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum QueueScenarioError {
    /// Too many nodes, or none.
    #[error("there are {0} nodes; give a number from 1 to {N_NODES_MAX}")]
    Nodes(u32),
    /// Too many jobs, or none.
    #[error("there are {0} jobs; give a number from 1 to {N_JOBS_MAX}")]
    Jobs(usize),
    /// A number is negative or none, or the interval is 0.
    #[error("prices, shares and the interval have to be numbers above 0")]
    Numbers,
    /// A job asks for more nodes than there are, or for none.
    #[error(
        "job {number} asks for {n_nodes} of {n_there} nodes; give a number from 1 to {n_there}"
    )]
    Size {
        /// Number of the job.
        number: u64,
        /// Number of nodes that it asks for.
        n_nodes: u32,
        /// Number of nodes of the cluster.
        n_there: u32,
    },
    /// A job has no run time, or comes at no time.
    #[error("job {0} needs a run time above 0, and a time of submission that is not negative")]
    Times(u64),
}

/// Simulates a scenario.
///
/// ```
/// use simulator::queue::{QueueScenario, QueueWay, draw_jobs, simulate_queue};
///
/// let jobs = draw_jobs(40, 32, Some(0.9), 1);
/// let way = QueueWay::Rigid;
/// let rest = (0.25, 5.0, 10.0, 0.02);
/// let (smallest_share, price_s, interval_s, noise) = rest;
/// let scenario =
///     QueueScenario { n_nodes: 32, jobs, way, smallest_share, price_s, interval_s, noise, seed: 1 };
/// assert_eq!(simulate_queue(&scenario)?.jobs.len(), 40);
/// # Ok::<(), simulator::queue::QueueScenarioError>(())
/// ```
///
/// # Errors
/// When a number of the scenario cannot be.
pub fn simulate_queue(scenario: &QueueScenario) -> Result<QueueResults, QueueScenarioError> {
    scenario.check()?;
    Ok(world::QueueWorld::new(scenario).run())
}
