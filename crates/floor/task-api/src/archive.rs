//! Summaries of tasks that ended long ago, and of what was dropped.

use serde::{Deserialize, Serialize};

use crate::TaskOutcome;

/// Tasks with consecutive numbers and the same outcome.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct OutcomeRange {
    /// Number of the first task.
    pub first: u64,
    /// Number of the last task.
    pub last: u64,
    /// Outcome of each of them.
    pub outcome: TaskOutcome,
}

/// Number of tasks with one outcome.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct OutcomeCount {
    /// Outcome that is counted.
    pub outcome: TaskOutcome,
    /// Number of tasks with it.
    pub n_tasks: u64,
}

/// Tasks that ended so long ago that only their outcome is kept.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct OutcomeSummary {
    /// Number of these tasks.
    pub n_tasks: u64,
    /// Number of these tasks by outcome.
    pub outcomes: Vec<OutcomeCount>,
    /// The tasks themselves, as far as they are kept and fit into an answer: the latest ones.
    pub runs: Vec<OutcomeRange>,
}

/// Ended tasks that a node keeps, and what it has dropped.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Retention {
    /// Ended tasks that are kept one by one.
    pub n_tasks: u64,
    /// Most ended tasks that are kept one by one.
    pub n_tasks_max: u64,
    /// Tasks of which only the outcome is kept.
    pub n_brief: u64,
    /// Bytes of output that are kept.
    pub output_bytes: u64,
    /// Most bytes of output that are kept.
    pub output_bytes_max: u64,
    /// Tasks whose output was dropped.
    pub n_outputs_dropped: u64,
    /// Bytes of the dropped output.
    pub output_bytes_dropped: u64,
}

impl OutcomeSummary {
    /// Describes for users how many tasks had which outcome.
    pub fn sentence(&self) -> String {
        let count = |count: &OutcomeCount| match &count.outcome {
            TaskOutcome::NotStarted(_) => format!("{} not started", count.n_tasks),
            outcome => format!("{} {outcome}", count.n_tasks),
        };
        self.outcomes.iter().map(count).collect::<Vec<_>>().join(", ")
    }
}

impl Retention {
    /// Describes for users what was dropped and which option keeps more; `None` where nothing was dropped.
    pub fn sentence(&self, node: &str) -> Option<String> {
        let Self { n_brief, n_outputs_dropped: n_outputs, output_bytes_dropped: n_bytes, .. } =
            self;
        let tasks = (0 < *n_brief).then(|| {
            format!(
                "{n_brief} ended tasks are kept as outcomes only (`node start --keep-tasks`, now {})",
                self.n_tasks_max
            )
        });
        let outputs = (0 < *n_outputs).then(|| {
            format!(
                "the output of {n_outputs} tasks, {n_bytes} bytes, was dropped (`node start --keep-output`, now {}; \
                 `submit --output DIR` keeps all)",
                self.output_bytes_max
            )
        });
        let parts = [tasks, outputs].into_iter().flatten().collect::<Vec<_>>();
        (!parts.is_empty()).then(|| format!("`{node}`: {}", parts.join("; ")))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_dropped_is_said_with_where_to_set_it() {
        let kept = Retention { n_tasks_max: 5, output_bytes_max: 99, ..Retention::default() };
        assert_eq!(kept.sentence("alpha"), None);
        let kept = Retention { n_brief: 7, n_outputs_dropped: 2, output_bytes_dropped: 30, ..kept };
        let said = kept.sentence("alpha").unwrap();
        assert!(said.starts_with("`alpha`: 7 ended tasks are kept as outcomes only"), "{said}");
        assert!(
            said.contains("--keep-tasks`, now 5")
                && said.contains("the output of 2 tasks, 30 bytes")
        );
    }

    #[test]
    fn the_past_is_a_list_of_counts() {
        let count = |outcome, n_tasks| OutcomeCount { outcome, n_tasks };
        let why = TaskOutcome::NotStarted("the reason is no longer kept".to_owned());
        let outcomes =
            vec![count(TaskOutcome::Exit(0), 9), count(TaskOutcome::Canceled, 2), count(why, 1)];
        let past = OutcomeSummary { n_tasks: 12, outcomes, runs: Vec::new() };
        assert_eq!(past.sentence(), "9 exit 0, 2 canceled, 1 not started");
    }
}
