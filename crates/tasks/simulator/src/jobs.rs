//! Simulates tasks that ask for resources and wait for each other, on nodes that share them out.
//!
//! Each node runs the [`node_core::Core`] of the daemon, with all that it decides: what fits, what is passed, what is kept,
//! lent and started. Only the processes, the network and the clock are simulated. All tasks are submitted to the first node
//! at the beginning.
//!
//! # Invariants
//! - Deterministic: a scenario, its seed included, has one outcome.
//!
//! # Not here
//! Large clusters, losses and failures ([`crate::balance`], which runs the rules alone), and job files (`task-client`).

mod bounds;
mod processes;
mod results;
mod world;

use crate::balance::Durations;
use balancing_policies::Policy;
use random::Random;
use task_api::{DependencyKind, Resources, Submission};

pub use results::{EntryResults, JobResults, NodeResults, TaskRun};

/// Most nodes of a scenario.
pub const N_NODES_MAX: usize = 4096;
/// Most tasks of a scenario.
pub const N_TASKS_MAX: u64 = 1_000_000;

/// Cluster and tasks to simulate.
#[derive(Clone, Debug)]
pub struct JobScenario {
    /// The nodes; the first one is the home of all tasks.
    pub nodes: Vec<JobNode>,
    /// Tasks, in an order in which each entry comes behind all that it waits for.
    pub entries: Vec<JobEntry>,
    /// Policy by which tasks move.
    pub policy: Policy,
    /// Latency of a message, in s.
    pub latency_s: f64,
    /// Seed of all random numbers.
    pub seed: u64,
}

/// Node of a scenario.
#[derive(Clone, Debug)]
pub struct JobNode {
    /// All that tasks may use on it.
    pub capacity: Resources,
    /// Speed of its cores.
    pub speed: f64,
}

/// Tasks of one submission.
#[derive(Clone, Debug)]
pub struct JobEntry {
    /// Name for users.
    pub name: String,
    /// What is submitted; what it waits for is in `after`.
    pub submission: Submission,
    /// Entries before it that its tasks wait for.
    pub after: Vec<EntryDependency>,
    /// Durations of its tasks on cores of speed 1, with what they ask for.
    pub durations: Durations,
}

/// What the tasks of an entry wait for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct EntryDependency {
    /// Place of the other entry.
    pub entry: usize,
    /// What has to become of its tasks.
    pub when: DependencyKind,
    /// True if each task waits just for the one at the same place.
    pub is_each: bool,
}

/// Reasons why a scenario cannot be simulated.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum JobScenarioError {
    /// Too many nodes, or none.
    #[error("there are {0} nodes; give a number from 1 to {N_NODES_MAX}")]
    Nodes(usize),
    /// Too many tasks, or none.
    #[error("there are {0} tasks; give a number from 1 to {N_TASKS_MAX}")]
    Tasks(u64),
    /// No node can ever run the tasks of an entry.
    #[error("`{entry}` asks for {asks}, which {n_nodes_fit} of {n_nodes} nodes have")]
    NoNode {
        /// Name of the entry.
        entry: String,
        /// What a task asks for.
        asks: String,
        /// Number of nodes that have it.
        n_nodes_fit: usize,
        /// Number of all nodes.
        n_nodes: usize,
    },
    /// The home refuses the tasks.
    #[error("`{entry}` cannot be submitted: {why}")]
    Refused {
        /// Name of the entry.
        entry: String,
        /// Reason.
        why: String,
    },
}

/// State of a simulation that is under way.
#[derive(Clone, Copy, Debug)]
pub struct JobProgress {
    /// Number of tasks that have ended.
    pub n_ended: u64,
    /// Number of all tasks.
    pub n_tasks: u64,
    /// Simulated time, in s.
    pub now_s: f64,
}

/// Simulates a scenario.
///
/// # Errors
/// When there are too many nodes or tasks, or tasks that can never run.
pub fn simulate_jobs(
    scenario: &JobScenario,
    report: &mut dyn FnMut(JobProgress),
) -> Result<JobResults, JobScenarioError> {
    scenario.check()?;
    let mut world = world::JobWorld::new(scenario);
    world.submit()?;
    world.run(report);
    Ok(world.results())
}

impl JobScenario {
    /// Number of tasks.
    pub fn n_tasks(&self) -> u64 {
        self.entries.iter().map(|entry| entry.submission.n_tasks()).sum()
    }

    /// Duration of a task on a core of speed 1, in s, by its number: the same whatever runs before.
    fn work_s(&self, entry: usize, number: u64) -> f64 {
        let seed = self.seed ^ number.wrapping_mul(0x9e37_79b9_7f4a_7c15);
        self.entries[entry].durations.draw(&mut Random::new(seed))
    }

    fn check(&self) -> Result<(), JobScenarioError> {
        if !(1..=N_NODES_MAX).contains(&self.nodes.len()) {
            return Err(JobScenarioError::Nodes(self.nodes.len()));
        }
        if !(1..=N_TASKS_MAX).contains(&self.n_tasks()) {
            return Err(JobScenarioError::Tasks(self.n_tasks()));
        }
        for entry in &self.entries {
            let demand = &entry.submission.demand;
            let n_fit = self.nodes.iter().filter(|node| demand.part_fits(&node.capacity)).count();
            if n_fit < demand.n_nodes() as usize {
                return Err(JobScenarioError::NoNode {
                    entry: entry.name.clone(),
                    asks: demand.to_string(),
                    n_nodes_fit: n_fit,
                    n_nodes: self.nodes.len(),
                });
            }
        }
        Ok(())
    }
}

/// Name of a node.
fn node_name(idx: usize) -> String {
    format!("n{idx}")
}
