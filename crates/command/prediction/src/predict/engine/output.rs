//! Results of an evaluation, as text for people and as JSON for other programs.

use super::Input;
use super::smpi::Replay;
use crate::predict::options::Engine;
use crate::text::short;
use display::{table::Table, units};
use program_graph::compose::{ComposedTime, PathInterval, RankTime};
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::path::Path;

/// Most legs of the critical path that are listed, from its end.
const N_LEGS_MAX: usize = 1000;
/// Number of ranks of the critical path that are named.
const N_RANKS_SHOWN: usize = 4;
/// Share of the path below which a part gets no line.
const SHARE_MIN: f64 = 0.005;

/// Results of an evaluation.
pub(super) struct EngineResult<'a> {
    pub(super) run: &'a Path,
    pub(super) machine_name: &'a str,
    pub(super) input: Input,
    pub(super) engine: Engine,
    pub(super) composed: ComposedTime,
    /// Total at either end of the network's intervals, where the network was measured, in s.
    pub(super) limits_s: Option<[f64; 2]>,
    pub(super) replay: Option<Replay>,
}

/// Text with both predictions beside the measured time, and where the time goes.
pub(super) fn text(result: &EngineResult<'_>) -> String {
    let (input, composed_s) = (&result.input, result.composed.total_s);
    let (run, n_ranks) = (result.run.display(), input.program.n_ranks());
    let mut text = format!("{run}: {n_ranks} ranks, on `{}`\n\n", result.machine_name);
    if let Some(measured_s) = input.measured_s {
        text += &format!("measured   {:>10} s\n", short(measured_s));
    }
    let interval = result.limits_s.map(|[low_s, high_s]| {
        format!("   {} to {} s by the network's intervals", short(low_s), short(high_s))
    });
    let (error, interval) = (result.error(composed_s), interval.unwrap_or_default());
    text += &format!("composed   {:>10} s{error}{interval}\n", short(composed_s));
    if let Some(Replay { total_s, took_s }) = result.replay {
        let (error, took) = (result.error(total_s), short(took_s));
        text += &format!("SMPI       {:>10} s{error}   replayed in {took} s\n", short(total_s));
    }
    text += &regions(&result.composed);
    text += &path(&result.composed);
    input.notes.iter().for_each(|note| text += &format!("! {note}\n"));
    text
}

impl EngineResult<'_> {
    /// Total by the chosen engine.
    pub(super) fn total_s(&self) -> f64 {
        let replay = self.replay.as_ref().filter(|_| self.engine == Engine::Smpi);
        replay.map_or(self.composed.total_s, |replay| replay.total_s)
    }

    fn error(&self, predicted_s: f64) -> String {
        let share = self.input.measured_s.map(|measured_s| predicted_s / measured_s - 1.0);
        share.map_or_else(String::new, |share| format!("   {:+.1} %", 100.0 * share))
    }
}

/// Table of the regions, and the share of waiting.
fn regions(composed: &ComposedTime) -> String {
    let share = |time_s: f64| units::percent(time_s / composed.total_s);
    let shown = composed.regions.iter().filter(|region| 0.0 < region.longest_s);
    let table = Table::new(shown)
        .left("region", |it| it.name.as_str())
        .right("mean", |it| short(it.mean_s))
        .right("longest", |it| short(it.longest_s))
        .right("waiting", |it| short(it.waiting_s))
        .right("share", |it| share(it.mean_s))
        .right("critical path", |it| share(it.on_path_s));
    let waiting = 100.0 * composed.waiting_share();
    format!("\n{table}\nranks wait {waiting:.1} % of the time for others\n")
}

/// Line with the ranks that are longest on the critical path.
fn path(composed: &ComposedTime) -> String {
    let mut stays: BTreeMap<u32, f64> = BTreeMap::new();
    for leg in &composed.path {
        *stays.entry(leg.rank).or_default() += leg.to_s - leg.from_s;
    }
    let mut stays: Vec<(u32, f64)> = stays.into_iter().collect();
    stays.sort_by(|a, b| b.1.total_cmp(&a.1));
    let share = |time_s: f64| 100.0 * time_s / composed.total_s;
    let is_long = |(_, stay_s): &&(u32, f64)| SHARE_MIN <= stay_s / composed.total_s;
    let shown = stays.iter().take(N_RANKS_SHOWN).filter(is_long);
    let mut parts: Vec<String> =
        shown.map(|(rank, stay_s)| format!("rank {rank} ({:.1} %)", share(*stay_s))).collect();
    if let Some(n_more @ 1..) = stays.len().checked_sub(parts.len()) {
        parts.push(format!("{n_more} more"));
    }
    parts.push(format!("messages ({:.1} %)", share(composed.path_transfer_s)));
    format!("critical path: {}\n", parts.join(", "))
}

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
    let replay = result.replay.as_ref();
    let engines = json!({
        "composed": { "value": composed.total_s, "low": low_s, "high": high_s },
        "smpi": replay.map(|it| json!({ "value": it.total_s, "replay_s": it.took_s })),
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
        "critical_path": path_json(result),
        "notes": result.input.notes,
    })
}

fn ranks(result: &EngineResult<'_>) -> Value {
    let rank = |rank: &RankTime| {
        json!({ "end_s": rank.end_s, "compute_s": rank.compute_s,
            "waiting_s": rank.waiting_s, "transfer_s": rank.transfer_s })
    };
    result.composed.ranks.iter().map(rank).collect()
}

fn path_json(result: &EngineResult<'_>) -> Value {
    let legs = &result.composed.path;
    let last = &legs[legs.len().saturating_sub(N_LEGS_MAX)..];
    let interval =
        |it: &PathInterval| json!({ "rank": it.rank, "from_s": it.from_s, "to_s": it.to_s });
    json!({
        "legs": last.iter().map(interval).collect::<Vec<_>>(),
        "legs_left_out": legs.len() - last.len(),
        "transfer_s": result.composed.path_transfer_s,
    })
}
