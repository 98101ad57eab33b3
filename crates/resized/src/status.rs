//! What a program says of itself while it runs.

use crate::{Outcome, Resize};
use serde::{Deserialize, Serialize};

/// The sizes that a program agrees to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Sizes {
    /// Fewest ranks.
    pub min: u32,
    /// Most ranks.
    pub max: u32,
    /// Where it runs best, if it knows.
    pub preferred: Option<u32>,
}

/// How far a program has come with a resize.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum State {
    /// Nothing is to change.
    #[default]
    Idle,
    /// Somebody wants another size.
    Wished,
    /// It is judged whether that pays.
    Deciding,
    /// Processes are started; the program computes on.
    Spawning,
    /// They are joined with those that are there.
    Connecting,
    /// Constant data travel; the program computes on.
    MovingConstant,
    /// Variable data travel; the program waits.
    MovingVariable,
    /// The new size is in force.
    Switched,
    /// Processes that left are not gone yet.
    Releasing,
}

/// What became of a wish.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Answer {
    /// That of the wish.
    pub id: u64,
    /// How it ended.
    pub outcome: Outcome,
    /// Why, in words.
    pub sentence: String,
}

/// The file `JOB.json`.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct JobStatus {
    /// Its name: the number of the Slurm job, or `HOST-PID`.
    pub job: String,
    /// Process of rank 0.
    pub pid: u32,
    /// Host of rank 0.
    pub host: String,
    /// File name of the program.
    pub program: String,
    /// Ranks at present.
    pub size: u32,
    /// What it agrees to.
    pub sizes: Sizes,
    /// How far a resize has come.
    pub state: State,
    /// The iteration that comes next.
    pub iteration: u64,
    /// How many iterations there will be in all, if it is known.
    pub n_iterations: Option<u64>,
    /// Seconds of an iteration at the present size.
    pub seconds_per_iteration: Option<f64>,
    /// Ranks that it has on a node at most, where a resource manager lends whole nodes.
    #[serde(default)]
    pub slots_per_node: Option<u32>,
    /// Number of the Slurm job, if it is one.
    pub slurm_job: Option<u64>,
    /// Slurm jobs that lent it nodes.
    #[serde(default)]
    pub companions: Vec<u64>,
    /// The last wish that was answered.
    pub answered: Option<Answer>,
    /// The last resize.
    pub last: Option<Resize>,
}

impl Default for Sizes {
    /// A program of one rank.
    fn default() -> Self {
        Self { min: 1, max: 1, preferred: None }
    }
}
