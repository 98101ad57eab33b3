//! Status of a job: tasks that were submitted together, or under one name.

use serde::{Deserialize, Serialize};

use crate::{Demand, DurationHistogram, TaskRange, Usage};

/// Job with what became of its tasks, as far as they are kept one by one: those of one named job, of one submission, or
/// single tasks of one title that were submitted one soon after the other, as a loop does.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct JobStatus {
    /// Name of the job, or title of its tasks.
    pub name: String,
    /// Names of its tasks, from the first to the last; others may be between them.
    pub tasks: TaskRange,
    /// The same in ranges that have no others between them, as far as there is room for them.
    #[serde(default)]
    pub ranges: Vec<TaskRange>,
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
    /// Further starts: of tasks that were tried again, or whose node was lost.
    #[serde(default)]
    pub n_again: u64,
    /// Time of the first submission, in ms since 1970.
    pub submitted_ms: u64,
    /// Time of the first start that is known, in ms since 1970.
    #[serde(default)]
    pub started_ms: Option<u64>,
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
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
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
    /// Durations of those that ended by themselves.
    pub durations: DurationHistogram,
}

impl JobStatus {
    /// Job without tasks yet.
    pub fn new(name: String, tasks: TaskRange, submitted_ms: u64) -> Self {
        Self {
            name,
            tasks,
            ranges: Vec::new(),
            n_tasks: 0,
            n_queued: 0,
            n_running: 0,
            n_succeeded: 0,
            n_failed: 0,
            n_canceled: 0,
            n_again: 0,
            submitted_ms,
            started_ms: None,
            ended_ms: None,
            priority: 0,
            demand: Demand::default(),
            account: JobAccount::default(),
        }
    }

    /// Number of tasks that have not ended.
    pub fn n_open(&self) -> u64 {
        self.n_queued + self.n_running
    }

    /// Time in ms until all tasks have ended, if they go on ending as fast as since the first start; `None` while
    /// none has ended or none runs.
    pub fn left_ms(&self, now_ms: u64) -> Option<u64> {
        let passed_ms = now_ms.saturating_sub(self.started_ms?);
        let n_ended = self.n_succeeded + self.n_failed;
        if n_ended == 0 || self.n_running == 0 {
            return None;
        }
        // What runs is half done on average.
        let n_done = n_ended as f64 + 0.5 * self.n_running as f64;
        let n_left = self.n_queued as f64 + 0.5 * self.n_running as f64;
        // A floating-point number becomes the nearest number of the type.
        #[expect(
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss,
            reason = "floats are cut off at the bounds"
        )]
        let left_ms = (passed_ms as f64 * n_left / n_done) as u64;
        Some(left_ms)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_time_that_is_left_follows_the_pace() {
        let job = |(n_queued, n_running, n_succeeded): (u64, u64, u64)| {
            let base = JobStatus::new("sweep".to_owned(), "alpha.1-100".parse().unwrap(), 7);
            JobStatus { n_queued, n_running, n_succeeded, ..base }
        };
        let check = |counts, expected| {
            let job = JobStatus { started_ms: Some(1_000), ..job(counts) };
            assert_eq!(job.left_ms(11_000), expected);
        };
        check((50, 0, 50), None);
        check((98, 2, 0), None);
        check((49, 2, 49), Some(10_000));
        check((0, 2, 9), Some(1_000));
        assert_eq!(job((1, 1, 7)).left_ms(99), None);
    }
}
