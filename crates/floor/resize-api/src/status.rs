//! Status that a program publishes while it runs.

use crate::{Resize, ResizeOutcome};
use serde::{Deserialize, Serialize};

/// Sizes that a program allows.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Sizes {
    /// Smallest number of ranks.
    pub min: u32,
    /// Largest number of ranks.
    pub max: u32,
    /// Best number of ranks, if known.
    pub preferred: Option<u32>,
}

/// Progress of a resize.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum ResizeState {
    /// No resize is under way.
    #[default]
    Idle,
    /// The request is evaluated.
    Deciding,
    /// Processes are being started; the program computes.
    Spawning,
    /// The new processes are being joined with the present ones.
    Connecting,
    /// Constant data move; the program computes.
    MovingConstant,
    /// Variable data move; the program waits.
    MovingVariable,
    /// Processes that left have not all ended.
    Releasing,
}

/// Answer to a resize request.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ResizeAnswer {
    /// Id of the request.
    pub id: u64,
    /// Outcome of the resize.
    pub outcome: ResizeOutcome,
    /// Reason, in words.
    pub sentence: String,
}

/// Predicted time of an iteration at a size.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct SizeForecast {
    /// Number of ranks.
    pub size: u32,
    /// Likely time of an iteration, in seconds.
    pub seconds: f64,
    /// Lower end of its interval, in seconds.
    pub low_s: f64,
    /// Upper end of its interval, in seconds.
    pub high_s: f64,
}

/// Judgment of a program about its sizes.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct SizeJudgment {
    /// Forecasts for whole nodes, the smallest size first; none before the present size was measured.
    pub forecasts: Vec<SizeForecast>,
    /// Predicted time for which it stops to grow by a node, in seconds.
    pub resize_s: f64,
    /// True if it has judged that no size is faster than its own.
    pub is_fastest: bool,
}

/// Status of a job, the content of `JOB.json`.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct JobStatus {
    /// Name of the job: the id of the Slurm job, or `HOST-PID`.
    pub job: String,
    /// Process id of rank 0.
    pub pid: u32,
    /// Host of rank 0.
    pub host: String,
    /// File name of the program.
    pub program: String,
    /// Present number of ranks.
    pub size: u32,
    /// Allowed sizes.
    pub sizes: Sizes,
    /// Progress of a resize.
    pub state: ResizeState,
    /// Number of the next iteration.
    pub iteration: u64,
    /// Total number of iterations, if known.
    pub n_iterations: Option<u64>,
    /// Time of an iteration at the present size, in seconds.
    pub seconds_per_iteration: Option<f64>,
    /// Largest number of ranks per node, where a resource manager lends whole nodes.
    #[serde(default)]
    pub slots_per_node: Option<u32>,
    /// Times of an iteration at other sizes, as the program predicts them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub judgment: Option<SizeJudgment>,
    /// Id of the Slurm job, if it is one.
    pub slurm_job: Option<u64>,
    /// Ids of Slurm jobs that lent nodes.
    #[serde(default)]
    pub companions: Vec<u64>,
    /// Answer to the last request.
    pub answered: Option<ResizeAnswer>,
    /// Record of the last resize.
    pub last: Option<Resize>,
}

impl Default for Sizes {
    /// Sizes of a program with one rank.
    fn default() -> Self {
        Self { min: 1, max: 1, preferred: None }
    }
}
