//! `sintonia predict MODELS --graph SOURCE`: composes models of regions along the graph of the program.
//!
//! The graph gives the messages, with their peers and counts; models give the computation and the bytes of regions; the
//! machine gives the times of messages.
//!
//! # Not here
//! Unfolding a graph into steps of ranks (`program_graph::compose::unfold`).

use super::options::{GraphOptions, Options, same_form};
use super::{engine, what_if};
use crate::text::{in_words, short};
use crate::values::{self, ParameterPoint};
use crate::{graph, input};
use anyhow::{Context, ensure};
use display::{table::Table, units};
use experiment::Expression;
use fitting::{ModelFile, Prediction};
use program_graph::compose::{Amount, ComposedTime, Machine, Setting, evaluate, unfold};
use program_graph::{Graph, GraphNode, Role};
use serde_json::{Value, json};
use std::collections::{BTreeMap, BTreeSet};
use std::process::ExitCode;
use user_io::ensure_option;
use user_io::exit::BadOption;

/// Number of regions that the table shows.
const N_SHOWN: usize = 12;

/// Predictions of the models, by metric and region.
type Amounts = BTreeMap<(&'static str, String), Prediction>;

/// Graph, models and machine of a prediction.
struct GraphPrediction<'a> {
    options: &'a GraphOptions,
    graph: Graph,
    file: ModelFile,
    machine: Machine,
    ranks: Expression,
}

/// Result at one point.
struct Row<'a> {
    at: ParameterPoint<'a>,
    n_ranks: usize,
    composed: ComposedTime,
    /// Mean of the draws.
    total_s: f64,
    low_s: f64,
    high_s: f64,
    notes: Vec<String>,
}

/// Composes the program at every point and shows the results.
pub(super) fn predict(options: &Options) -> anyhow::Result<ExitCode> {
    let names: Vec<&str> = options.set.iter().map(|values| values.name.as_str()).collect();
    let its = &options.graph;
    let mut file = input::models(&options.models, &names)?;
    what_if::scale_models(&mut file, "computation", &options.scale)?;
    let prediction = GraphPrediction {
        options: its,
        graph: graph::of_sources(&its.graph)?,
        file,
        machine: engine::machine_of(
            options.engine.machine.as_deref(),
            options.engine.ranks_per_node,
        )?
        .1,
        ranks: Expression::read(&its.ranks).context(BadOption)?,
    };
    ensure!(
        prediction.file.models.iter().any(|model| model.metric == "computation"),
        "the models have no metric `computation`, which is composed along the graph: fit all metrics of an experiment"
    );
    let points = values::points(&options.set)?;
    let rows =
        points.iter().map(|point| prediction.row(point)).collect::<anyhow::Result<Vec<_>>>()?;
    let text = if options.output.json {
        format!("{:#}\n", as_json(&rows))
    } else {
        rows.iter().map(table).collect()
    };
    user_io::print::result(&text)
}

impl GraphPrediction<'_> {
    fn row<'b>(&self, point: &ParameterPoint<'b>) -> anyhow::Result<Row<'b>> {
        let parameters: BTreeMap<String, f64> =
            point.iter().map(|(name, value)| ((*name).to_owned(), *value)).collect();
        let ranks = self.ranks.value(&parameters).context(BadOption)?;
        ensure_option!(
            (1.0..=1e6).contains(&ranks),
            "`--ranks {}` is {ranks}, which is not a number of ranks",
            self.options.ranks
        );
        #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "bounded")]
        let n_ranks = ranks.round() as usize;
        let amounts = self.amounts(point)?;
        let seed = self.options.seed;
        let at = |end: fn(&Prediction) -> f64, seed| {
            self.composed((&parameters, &amounts), n_ranks, end, seed)
        };
        let (composed, notes) = at(|predicted| predicted.value, seed)?;
        let [low, high] =
            [at(|predicted| predicted.low, seed)?.0, at(|predicted| predicted.high, seed)?.0];
        let mut totals_s = vec![composed.total_s];
        for draw in 1..self.options.draws {
            let seed = seed.map(|seed| seed.wrapping_add(draw));
            totals_s.push(at(|predicted| predicted.value, seed)?.0.total_s);
        }
        let [low_s, total_s, high_s] = low_mean_high(totals_s);
        // The intervals of the models extend that of the draws at its ends.
        let low_s = low_s * (low.total_s / composed.total_s).min(1.0);
        let high_s = high_s * (high.total_s / composed.total_s).max(1.0);
        Ok(Row { at: point.clone(), n_ranks, composed, total_s, low_s, high_s, notes })
    }

    /// Predictions of the models, by metric and region; functions that are measured by themselves count for the region
    /// that contains them.
    fn amounts(&self, point: &ParameterPoint<'_>) -> anyhow::Result<Amounts> {
        let mut amounts = Amounts::new();
        for model in &self.file.models {
            let metric = match model.metric.as_str() {
                "computation" => "computation",
                "bytes" => "bytes",
                _ => continue,
            };
            let parts: Vec<&str> = model.region.splitn(3, "->").take(2).collect();
            let predicted = model.value(point)?;
            let nothing = Prediction { value: 0.0, low: 0.0, high: 0.0 };
            let sum = amounts.entry((metric, parts.join("->"))).or_insert(nothing);
            sum.value += predicted.value;
            sum.low += predicted.low;
            sum.high += predicted.high;
        }
        Ok(amounts)
    }

    /// Evaluates the program at a point, with the value of each interval that `end` takes.
    fn composed(
        &self,
        (parameters, amounts): (&BTreeMap<String, f64>, &Amounts),
        n_ranks: usize,
        end: fn(&Prediction) -> f64,
        seed: Option<u64>,
    ) -> anyhow::Result<(ComposedTime, Vec<String>)> {
        let value_of = |name: &str, rank: u32| {
            let form = same_form(name);
            let named = self.options.names.iter().find(|(known, _)| *known == form);
            let Some((_, value)) = named else { return parameters.get(name).copied() };
            let mut known = parameters.clone();
            known.insert("rank".to_owned(), f64::from(rank));
            value.value(&known).ok()
        };
        let unknown = std::cell::RefCell::new(BTreeSet::new());
        let amount_of = |role: &Role, node: &GraphNode, amount| {
            let metric = if amount == Amount::Computation { "computation" } else { "bytes" };
            let label = node.label()?;
            let region = |role: &str| format!("{role}->{label}");
            let predicted = [&role.name, &role.ranks]
                .into_iter()
                .find_map(|role| amounts.get(&(metric, region(role))).copied());
            if predicted.is_none() && amount == Amount::Computation && is_timed(node) {
                unknown.borrow_mut().insert(region(&role.name));
            }
            predicted.map(|predicted| end(&predicted).max(0.0))
        };
        let setting = Setting { n_ranks, value_of: &value_of, amount_of: &amount_of, seed };
        let unfolded = unfold(&self.graph, &setting)?;
        let mut notes = unfolded.notes;
        for region in unknown.borrow().iter() {
            notes.push(format!(
                "`{region}` has no model of its computation; its time is taken as 0"
            ));
        }
        let composed =
            evaluate(&unfolded.program, &self.machine).context("the graph cannot be composed")?;
        Ok((composed, notes))
    }
}

/// Mean of the times of several draws, between the ends of the interval that holds 95 percent of them.
fn low_mean_high(mut totals_s: Vec<f64>) -> [f64; 3] {
    totals_s.sort_by(f64::total_cmp);
    let last = totals_s.len() - 1;
    // The interval of less than 40 draws is from the smallest to the largest one.
    let outside = totals_s.len() / 40;
    let mean_s = totals_s.iter().sum::<f64>() / totals_s.len() as f64;
    [totals_s[outside], mean_s, totals_s[last - outside]]
}

/// Returns whether measurements contain the operation: they begin behind `MPI_Init`.
fn is_timed(node: &GraphNode) -> bool {
    let program_graph::GraphNodeKind::Mpi(mpi) = &node.kind else { return false };
    matches!(mpi.class, "point-to-point" | "collective" | "completion")
}

fn as_json(rows: &[Row<'_>]) -> Value {
    let mut predictions = Vec::new();
    for row in rows {
        let parameters: serde_json::Map<String, Value> =
            row.at.iter().map(|(name, value)| ((*name).to_owned(), json!(value))).collect();
        predictions.push(json!({
            "region": null, "metric": "time", "engine": "composed", "parameters": parameters,
            "value": row.total_s, "low": row.low_s, "high": row.high_s, "share": 1.0,
            "ranks": row.n_ranks, "waiting_share": row.composed.waiting_share(),
            "path_transfer_s": row.composed.path_transfer_s, "notes": row.notes,
        }));
        let [low, high] = [row.low_s, row.high_s].map(|end_s| end_s / row.total_s);
        for region in &row.composed.regions {
            predictions.push(json!({
                "region": region.name, "metric": "time", "engine": "composed",
                "parameters": parameters, "value": region.longest_s,
                "low": region.longest_s * low, "high": region.longest_s * high,
                "waiting": region.waiting_s, "share": region.longest_s / row.composed.total_s,
                "on_critical_path": region.on_path_s,
            }));
        }
    }
    json!({ "metric": "time", "engine": "composed", "predictions": predictions })
}

fn table(row: &Row<'_>) -> String {
    let composed = &row.composed;
    let mut text = format!(
        "{}, {} ranks: {} s ({} to {}), of it waiting {:.1} %\n",
        in_words(row.at.iter().copied()),
        row.n_ranks,
        short(row.total_s),
        short(row.low_s),
        short(row.high_s),
        100.0 * composed.waiting_share(),
    );
    let shown = composed.regions.iter().take(N_SHOWN).filter(|region| 0.0 < region.longest_s);
    let regions = Table::new(shown)
        .left("", |it| format!("  {}", it.name))
        .right("", |it| format!("{} s", short(it.longest_s)))
        .right("", |it| units::percent(it.on_path_s / composed.total_s))
        .left("", |_| "of the critical path");
    text += &regions.to_string();
    row.notes.iter().for_each(|note| text += &format!("! {note}\n"));
    text
}
