//! Writes the results for other programs.

use super::{Engine, EngineResult};
use serde_json::{Value, json};

/// Most legs of the critical path that are listed, from its end.
const N_LEGS_MAX: usize = 1000;

/// JSON object with `predictions`: the whole program, with region null, by the chosen engine; then the regions of the
/// composition.
pub(super) fn as_json(result: &EngineResult<'_>) -> Value {
    let composed = &result.composed;
    let parameters = json!({ "p": result.input.program.n_ranks() });
    let total_s = result.total_s();
    let [low_s, high_s] = result.limits_s.unwrap_or([composed.total_s; 2]);
    // The relative width of the interval is taken over to the replay.
    let scale = if 0.0 < composed.total_s { total_s / composed.total_s } else { 1.0 };
    let mut predictions = vec![json!({
        "region": null, "metric": "time", "engine": result.engine, "parameters": parameters,
        "value": total_s, "low": (low_s * scale).min(total_s), "high": (high_s * scale).max(total_s),
        "share": 1.0,
    })];
    for region in composed.regions.iter().filter(|region| 0.0 < region.longest_s) {
        predictions.push(json!({
            "region": region.name, "metric": "time", "engine": Engine::Composed,
            "parameters": parameters, "value": region.mean_s, "low": region.mean_s,
            "high": region.longest_s, "share": region.mean_s / composed.total_s,
            "waiting": region.waiting_s, "on_critical_path": region.on_path_s,
        }));
    }
    let engines = json!({
        "composed": { "value": composed.total_s, "low": low_s, "high": high_s },
        "smpi": result.replay.as_ref().map(|replay| {
            json!({ "value": replay.total_s, "replay_s": replay.took_s })
        }),
    });
    json!({
        "engine": result.engine,
        "metric": "time",
        "machine": result.machine_name,
        "interval_known": result.limits_s.is_some(),
        "measured": result.input.measured_s,
        "predictions": predictions,
        "engines": engines,
        "ranks": ranks(result),
        "critical_path": path(result),
        "notes": result.input.notes,
    })
}

fn ranks(result: &EngineResult<'_>) -> Value {
    let rank = |rank: &program_graph::compose::RankTime| {
        json!({ "end_s": rank.end_s, "compute_s": rank.compute_s,
            "waiting_s": rank.waiting_s, "transfer_s": rank.transfer_s })
    };
    result.composed.ranks.iter().map(rank).collect()
}

fn path(result: &EngineResult<'_>) -> Value {
    let legs = &result.composed.path;
    let last = &legs[legs.len().saturating_sub(N_LEGS_MAX)..];
    let interval = |interval: &program_graph::compose::PathInterval| json!({ "rank": interval.rank, "from_s": interval.from_s, "to_s": interval.to_s });
    json!({
        "legs": last.iter().map(interval).collect::<Vec<_>>(),
        "legs_left_out": legs.len() - last.len(),
        "transfer_s": result.composed.path_transfer_s,
    })
}
