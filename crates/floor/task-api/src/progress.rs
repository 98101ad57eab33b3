//! Progress of submissions, and of a node over the last hour.

use serde::{Deserialize, Serialize};

use crate::{DurationHistogram, TaskRange};

/// Longest time between single tasks of one title that count as submitted together, in ms.
const TOGETHER_WITHIN_MS: u64 = 60_000;

/// Progress of tasks that were submitted together, as far as they are kept one by one: an array, or single tasks of one
/// title that were submitted one soon after the other, as a loop does.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct SubmissionStatus {
    /// Names of the tasks.
    pub tasks: TaskRange,
    /// Title for users.
    pub title: String,
    /// Time of submission of the first task, in ms since 1970.
    pub submitted_ms: u64,
    /// Time of submission of the last task, in ms since 1970.
    pub last_submitted_ms: u64,
    /// True if the tasks have an index each.
    pub is_array: bool,
    /// Number of tasks that wait, at their home or at the node that took them.
    pub n_waiting: u64,
    /// Number of tasks that run.
    pub n_running: u64,
    /// Number of tasks that ended with code 0.
    pub n_succeeded: u64,
    /// Number of tasks that failed for good.
    pub n_failed: u64,
    /// Number of tasks that were canceled.
    pub n_canceled: u64,
    /// Number of further starts: tasks that were tried again, or whose node was lost.
    pub n_again: u64,
    /// Time of the first start that is known, in ms since 1970.
    #[serde(default)]
    pub first_started_ms: Option<u64>,
    /// Time of the last end, in ms since 1970.
    #[serde(default)]
    pub last_ended_ms: Option<u64>,
    /// Durations of the tasks that ended by themselves.
    #[serde(default)]
    pub durations: DurationHistogram,
}

impl SubmissionStatus {
    /// Status of tasks of which nothing is counted yet.
    pub fn new(tasks: TaskRange, title: String, submitted_ms: u64, is_array: bool) -> Self {
        Self {
            tasks,
            title,
            submitted_ms,
            last_submitted_ms: submitted_ms,
            is_array,
            n_waiting: 0,
            n_running: 0,
            n_succeeded: 0,
            n_failed: 0,
            n_canceled: 0,
            n_again: 0,
            first_started_ms: None,
            last_ended_ms: None,
            durations: DurationHistogram::default(),
        }
    }

    /// Adds later tasks, if they were submitted together with these; returns whether they were.
    ///
    /// Tasks between the two are not known any more, since they ended long ago.
    pub fn join(&mut self, next: &Self) -> bool {
        let after_ms = next.submitted_ms.saturating_sub(self.last_submitted_ms);
        let after_ms_max = if self.is_array { 0 } else { TOGETHER_WITHIN_MS };
        let is_same = self.is_array == next.is_array
            && self.tasks.home == next.tasks.home
            && self.tasks.last < next.tasks.first
            && self.title == next.title
            && self.last_submitted_ms <= next.submitted_ms
            && after_ms <= after_ms_max;
        if !is_same {
            return false;
        }
        self.last_submitted_ms = next.last_submitted_ms;
        self.tasks.last = next.tasks.last;
        self.n_waiting += next.n_waiting;
        self.n_running += next.n_running;
        self.n_succeeded += next.n_succeeded;
        self.n_failed += next.n_failed;
        self.n_canceled += next.n_canceled;
        self.n_again += next.n_again;
        let first = [self.first_started_ms, next.first_started_ms];
        self.first_started_ms = first.into_iter().flatten().min();
        self.last_ended_ms = self.last_ended_ms.max(next.last_ended_ms);
        self.durations.add_all(&next.durations);
        true
    }

    /// Number of tasks that have not ended.
    pub fn n_open(&self) -> u64 {
        self.n_waiting + self.n_running
    }

    /// Number of tasks that have ended.
    pub fn n_ended(&self) -> u64 {
        self.n_succeeded + self.n_failed + self.n_canceled
    }

    /// Time in ms until all tasks have ended, if they go on ending as fast as since the first start; `None` while
    /// none has ended or none runs.
    pub fn left_ms(&self, now_ms: u64) -> Option<u64> {
        let passed_ms = now_ms.saturating_sub(self.first_started_ms?);
        let n_ended = self.n_succeeded + self.n_failed;
        if n_ended == 0 || self.n_running == 0 {
            return None;
        }
        // What runs is half done on average.
        let n_done = n_ended as f64 + 0.5 * self.n_running as f64;
        let n_left = self.n_waiting as f64 + 0.5 * self.n_running as f64;
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

/// State of a node at a moment.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct HistorySample {
    /// Milliseconds since 1970.
    pub at_ms: u64,
    /// Tasks that ran.
    pub n_running: u32,
    /// Tasks that waited.
    pub n_queued: u64,
    /// Tasks submitted there that had succeeded since its daemon started.
    pub n_succeeded: u64,
    /// Tasks submitted there that had failed for good since its daemon started.
    pub n_failed: u64,
}

#[cfg(test)]
mod tests {
    use super::*;

    fn status(range: &str, n_waiting: u64, n_running: u64, n_succeeded: u64) -> SubmissionStatus {
        let tasks = range.parse().unwrap();
        let base = SubmissionStatus::new(tasks, "sweep".to_owned(), 7, true);
        SubmissionStatus { n_waiting, n_running, n_succeeded, ..base }
    }

    #[test]
    fn parts_of_a_submission_are_joined() {
        let mut first = status("alpha.1-3", 0, 1, 2);
        first.first_started_ms = Some(9);
        let next = status("alpha.4-9", 6, 0, 0);
        assert!(first.join(&next));
        assert_eq!(first.tasks.to_string(), "alpha.1-9");
        assert_eq!((first.n_open(), first.n_ended(), first.first_started_ms), (7, 2, Some(9)));
        let check = |next: SubmissionStatus| assert!(!first.clone().join(&next), "{next:?}");
        check(status("alpha.9-12", 2, 0, 0));
        check(status("beta.10-12", 3, 0, 0));
        check(SubmissionStatus { submitted_ms: 8, ..status("alpha.10-12", 3, 0, 0) });
        check(SubmissionStatus { title: "x".to_owned(), ..status("alpha.10-12", 3, 0, 0) });
        check(SubmissionStatus { is_array: false, ..status("alpha.10", 1, 0, 0) });
    }

    #[test]
    fn single_tasks_of_a_loop_count_as_one_submission() {
        let single = |range: &str, submitted_ms| {
            let tasks = range.parse().unwrap();
            SubmissionStatus::new(tasks, "solve".to_owned(), submitted_ms, false)
        };
        let mut first = single("alpha.1", 5_000);
        assert!(first.join(&single("alpha.2", 65_000)));
        assert!(first.join(&single("alpha.4", 125_000)));
        assert!(!first.join(&single("alpha.5", 185_001)));
        assert_eq!((first.tasks.n_tasks(), first.submitted_ms), (4, 5_000));
    }

    #[test]
    fn the_time_that_is_left_follows_the_pace() {
        let check = |(n_waiting, n_running, n_succeeded): (u64, u64, u64), expected| {
            let mut status = status("alpha.1-100", n_waiting, n_running, n_succeeded);
            status.first_started_ms = Some(1_000);
            assert_eq!(status.left_ms(11_000), expected);
        };
        check((50, 0, 50), None);
        check((98, 2, 0), None);
        check((49, 2, 49), Some(10_000));
        check((0, 2, 9), Some(1_000));
        assert_eq!(status("alpha.1-9", 1, 1, 7).left_ms(99), None);
    }
}
