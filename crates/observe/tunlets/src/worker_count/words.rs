//! Reasons for a requested number of workers, in words.

use display::units::{seconds, trimmed};
use models::master_worker::{IterationModel, Objective};

pub(super) fn to_measure(seen: &IterationModel) -> String {
    format!(
        "messages of a single size, {}, cannot separate latency from cost per byte: if all of it is latency, \
         Nopt is {} ({}); going halfway there yields other sizes",
        seconds(seen.latency_s),
        trimmed(seen.optimum(), 3),
        seen.equation()
    )
}

pub(super) fn in_words(
    model: &IterationModel,
    objective: Objective,
    [now_s, then_s]: [f64; 2],
) -> String {
    let what = match objective {
        Objective::Time => {
            format!("Nopt is {} ({})", trimmed(model.optimum(), 3), model.equation())
        }
        Objective::Index => "the performance index is lowest there".to_owned(),
    };
    format!(
        "{what} for latency {}, {:.2} ns per byte, {} of computing: {} against {} now",
        seconds(model.latency_s),
        model.byte_s * 1e9,
        seconds(model.compute_s),
        seconds(then_s),
        seconds(now_s)
    )
}
