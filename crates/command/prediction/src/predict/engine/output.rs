//! Results of an evaluation, as text for people and as JSON for other programs.

use super::Input;
use super::smpi::Replay;
use crate::predict::options::Engine;
use crate::text::short;
use display::{table::Table, units};
use program_graph::compose::ComposedTime;
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::fmt::Write;
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
    let mut text = String::new();
    add(
        &mut text,
        format_args!(
            "{}: {} ranks, on `{}`\n",
            result.run.display(),
            result.input.program.n_ranks(),
            result.machine_name
        ),
    );
    if let Some(measured_s) = result.input.measured_s {
        add(&mut text, format_args!("measured   {:>10} s", short(measured_s)));
    }
    let composed_s = result.composed.total_s;
    let interval = result.limits_s.map(|[low_s, high_s]| {
        format!("   {} to {} s by the network's intervals", short(low_s), short(high_s))
    });
    let error = result.error(composed_s);
    let interval = interval.unwrap_or_default();
    add(&mut text, format_args!("composed   {:>10} s{error}{interval}", short(composed_s)));
    if let Some(replay) = &result.replay {
        let (total_s, error) = (replay.total_s, result.error(replay.total_s));
        let took = short(replay.took_s);
        add(
            &mut text,
            format_args!("SMPI       {:>10} s{error}   replayed in {took} s", short(total_s)),
        );
    }
    regions(&mut text, result);
    path(&mut text, result);
    for note in &result.input.notes {
        add(&mut text, format_args!("! {note}"));
    }
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

fn regions(text: &mut String, result: &EngineResult<'_>) {
    let composed = &result.composed;
    let share = |time_s: f64| units::percent(time_s / composed.total_s);
    let shown = composed.regions.iter().filter(|region| 0.0 < region.longest_s);
    let table = Table::new(shown)
        .left("region", |it| it.name.as_str())
        .right("mean", |it| short(it.mean_s))
        .right("longest", |it| short(it.longest_s))
        .right("waiting", |it| short(it.waiting_s))
        .right("share", |it| share(it.mean_s))
        .right("critical path", |it| share(it.on_path_s));
    add(text, format_args!("\n{table}"));
    add(
        text,
        format_args!("ranks wait {:.1} % of the time for others", 100.0 * composed.waiting_share()),
    );
}

/// Adds the ranks that are longest on the critical path.
fn path(text: &mut String, result: &EngineResult<'_>) {
    let composed = &result.composed;
    let mut stays: BTreeMap<u32, f64> = BTreeMap::new();
    for leg in &composed.path {
        *stays.entry(leg.rank).or_default() += leg.to_s - leg.from_s;
    }
    let mut stays: Vec<(u32, f64)> = stays.into_iter().collect();
    stays.sort_by(|a, b| b.1.total_cmp(&a.1));
    let share = |time_s: f64| 100.0 * time_s / composed.total_s;
    let shown = stays
        .iter()
        .take(N_RANKS_SHOWN)
        .filter(|(_, stay_s)| SHARE_MIN <= stay_s / composed.total_s);
    let mut parts: Vec<String> =
        shown.map(|(rank, stay_s)| format!("rank {rank} ({:.1} %)", share(*stay_s))).collect();
    if let Some(n_more @ 1..) = stays.len().checked_sub(parts.len()) {
        parts.push(format!("{n_more} more"));
    }
    parts.push(format!("messages ({:.1} %)", share(composed.path_transfer_s)));
    add(text, format_args!("critical path: {}", parts.join(", ")));
}

fn add(text: &mut String, line: std::fmt::Arguments<'_>) {
    writeln!(text, "{line}").expect("text grows without failing");
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
        "critical_path": path_json(result),
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

fn path_json(result: &EngineResult<'_>) -> Value {
    let legs = &result.composed.path;
    let last = &legs[legs.len().saturating_sub(N_LEGS_MAX)..];
    let interval = |interval: &program_graph::compose::PathInterval| json!({ "rank": interval.rank, "from_s": interval.from_s, "to_s": interval.to_s });
    json!({
        "legs": last.iter().map(interval).collect::<Vec<_>>(),
        "legs_left_out": legs.len() - last.len(),
        "transfer_s": result.composed.path_transfer_s,
    })
}
