//! What is kept of tasks that ended long ago, and what was dropped.

use serde::{Deserialize, Serialize};

use crate::Outcome;

/// Tasks with numbers that follow each other and that ended alike.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct EndedRun {
    /// Number of the first.
    pub first: u64,
    /// Number of the last.
    pub last: u64,
    /// How each of them ended.
    pub outcome: Outcome,
}

/// How many tasks ended in a way.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct OutcomeCount {
    /// The way.
    pub outcome: Outcome,
    /// How many.
    pub n_tasks: u64,
}

/// Tasks that ended so long ago that only how is kept.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Past {
    /// How many.
    pub n_tasks: u64,
    /// How many of them ended how.
    pub outcomes: Vec<OutcomeCount>,
    /// Which, as far as that is kept and fits into an answer: the last ones.
    pub runs: Vec<EndedRun>,
}

/// What a node keeps of ended tasks, and what it has dropped.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Kept {
    /// Ended tasks that are kept one by one.
    pub n_tasks: u64,
    /// Most that are.
    pub n_tasks_max: u64,
    /// Tasks of which only how they ended is kept.
    pub n_brief: u64,
    /// Bytes of output that are kept.
    pub output_bytes: u64,
    /// Most that are.
    pub output_bytes_max: u64,
    /// Tasks whose output was dropped.
    pub n_outputs_dropped: u64,
    /// Bytes of it.
    pub output_bytes_dropped: u64,
}

impl Past {
    /// For people: how many ended how.
    #[must_use]
    pub fn sentence(&self) -> String {
        let count = |count: &OutcomeCount| match &count.outcome {
            Outcome::NotStarted(_) => format!("{} not started", count.n_tasks),
            outcome => format!("{} {outcome}", count.n_tasks),
        };
        self.outcomes.iter().map(count).collect::<Vec<_>>().join(", ")
    }
}

impl Kept {
    /// For people: what was dropped, and where to have more kept; nothing where nothing was.
    #[must_use]
    pub fn sentence(&self, node: &str) -> Option<String> {
        let Self { n_brief, n_outputs_dropped: n_outputs, output_bytes_dropped: n_bytes, .. } =
            self;
        let tasks = (0 < *n_brief).then(|| {
            format!(
                "of {n_brief} ended tasks it keeps only how they ended (`node start --keep-tasks`, now {})",
                self.n_tasks_max
            )
        });
        let outputs = (0 < *n_outputs).then(|| {
            format!(
                "it has dropped what {n_outputs} tasks wrote, {n_bytes} bytes (`node start --keep-output`, now {}; \
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
        let kept = Kept { n_tasks_max: 5, output_bytes_max: 99, ..Kept::default() };
        assert_eq!(kept.sentence("alpha"), None);
        let kept = Kept { n_brief: 7, n_outputs_dropped: 2, output_bytes_dropped: 30, ..kept };
        let said = kept.sentence("alpha").unwrap();
        assert!(said.starts_with("`alpha`: of 7 ended tasks it keeps only how"), "{said}");
        assert!(said.contains("--keep-tasks`, now 5") && said.contains("2 tasks wrote, 30 bytes"));
    }

    #[test]
    fn the_past_is_a_list_of_counts() {
        let count = |outcome, n_tasks| OutcomeCount { outcome, n_tasks };
        let why = Outcome::NotStarted("why is no longer kept".to_owned());
        let outcomes = vec![count(Outcome::Exit(0), 9), count(Outcome::Canceled, 2), count(why, 1)];
        let past = Past { n_tasks: 12, outcomes, runs: Vec::new() };
        assert_eq!(past.sentence(), "9 exit 0, 2 canceled, 1 not started");
    }
}
