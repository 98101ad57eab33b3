//! Status of a job: tasks that were submitted together, or under one name.

use serde::{Deserialize, Serialize};

use crate::{Demand, TaskRange, Usage};

/// Job with what became of its tasks, as far as they are kept one by one.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct JobStatus {
    /// Name of the job, or title of its tasks.
    pub name: String,
    /// Names of its tasks, from the first to the last; others may be between them.
    pub tasks: TaskRange,
    /// Number of its tasks.
    pub n_tasks: u64,
    /// Tasks that wait, including those that were offered to other nodes.
    pub n_queued: u64,
    /// Tasks that run.
    pub n_running: u64,
    /// Tasks that ended with code 0.
    pub n_succeeded: u64,
    /// Tasks that failed.
    pub n_failed: u64,
    /// Tasks that were canceled.
    pub n_canceled: u64,
    /// Time of the first submission, in ms since 1970.
    pub submitted_ms: u64,
    /// Time of the last end, in ms since 1970, when all of its tasks have ended.
    #[serde(default)]
    pub ended_ms: Option<u64>,
    /// Priority of its last submission.
    #[serde(default)]
    pub priority: i32,
    /// What each task of its last submission asks for.
    #[serde(default)]
    pub demand: Demand,
    /// What its ended tasks have used, and what they had.
    #[serde(default)]
    pub account: JobAccount,
}

/// What the ended tasks of a job have used, and what they had.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct JobAccount {
    /// Ended tasks that were started.
    pub n_tasks: u64,
    /// Their use, added up; of memory the most of one task.
    pub used: Usage,
    /// Their run times, added up, in ms.
    pub ran_ms: u64,
    /// The longest of their run times, in ms.
    pub longest_ms: u64,
    /// Their run times, each times the cores that it had asked for, in ms.
    pub core_ms: u64,
    /// Time from submission to the start, added up, in ms.
    pub waited_ms: u64,
}
