//! Text about the samples of a run.

use display::text::harmless;
use display::units::{count, percent, seconds};
use run_record::Summary;

/// Describes the samples and their cost, or why there are none.
pub(crate) fn sampled(summary: &Summary) -> Option<String> {
    let sampling = summary.sampling.as_ref()?;
    if sampling.samples == 0 {
        let problem = &sampling.problem;
        return (!problem.is_empty())
            .then(|| format!("call paths were not sampled: {}", harmless(problem)));
    }
    let sampled_s = sampling.computing_s + sampling.mpi_s;
    let share = if sampled_s <= 0.0 { 0.0 } else { sampling.cost_s / sampled_s };
    Some(format!(
        "{} samples of call paths: reading them took {} of processor time, {} of that of the ranks",
        count(sampling.samples),
        seconds(sampling.cost_s),
        percent(share)
    ))
}
