//! Findings about ranks that waited in vain when the command was ended.

use super::{Finding, Run};

pub(super) fn findings(run: &Run<'_>) -> Vec<Finding> {
    let Some(hang) = &run.summary.hang else { return Vec::new() };
    let n_waiting: usize = hang.ranks.iter().map(|ranks| ranks.n_ranks).sum();
    let share = run.share(hang.waited_s * n_waiting as f64);
    let finding = |text: &String| Finding { text: text.clone(), call_site: None, share };
    hang.sentences.iter().map(finding).collect()
}
