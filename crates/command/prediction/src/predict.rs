//! `sintonia predict`: predicts points that were not measured, from models.
//!
//! # Not here
//! Totals of models (`fitting::total`); finding models (`sintonia fit`).

mod best;
mod context;
mod engine;
mod options;
mod table;
mod unfolded;
mod what_if;

use crate::text::{axis_name, in_words, is_wanted};
use crate::{input, values};
use best::Best;
use context::{PredictedPoint, PredictionContext};
use display::chart::{self, ChartLine, Panel};
use fitting::formats::csv::quoted;
use fitting::{ModelFile, Prediction};
pub use options::Options;
use serde_json::{Value, json};
use std::process::ExitCode;
use user_io::print::json_number;
use user_io::terminal::Terminal;
use user_io::{ensure_option, result_file};

/// Predicts and shows it.
pub fn run(options: &Options, terminal: Terminal) -> anyhow::Result<ExitCode> {
    if !options.graph.graph.is_empty() {
        return unfolded::predict(options);
    }
    if options.engine.is_wanted() {
        engine::check_alone(options)?;
        return engine::predict(&options.models, &options.engine, &options.scale, &options.output);
    }
    let names: Vec<&str> = options.set.iter().map(|values| values.name.as_str()).collect();
    let mut file = input::models(&options.models, &names)?;
    let metric = options.metric.as_deref().or_else(|| file.usual_metric()).unwrap_or_default();
    let metric = metric.to_owned();
    what_if::scale_models(&mut file, &metric, &options.scale)?;
    let context = PredictionContext::new(options, &file)?;
    check_names(options, &file)?;
    let points = values::points(&options.set)?;
    // Where this program chooses the values among which the best is looked for, only the best is shown.
    let asked = if best::is_free(&options.best, &options.set) { &[][..] } else { &points[..] };
    let rows = asked.iter().map(|point| context.row(point)).collect::<anyhow::Result<Vec<_>>>()?;
    let best = best::best(&context, &options.set)?;
    if let Some(path) = &options.output.csv {
        result_file::write(path, &as_csv(&context, &rows))?;
    }
    if let Some(path) = &options.output.plot {
        ensure_option!(!rows.is_empty(), "`--plot` needs values of all parameters: add `--set`");
        result_file::write(path, &picture(&context, &rows))?;
    }
    let text = if options.output.json {
        format!("{:#}\n", as_json(&context, &rows, &best))
    } else {
        table::table(&context, &rows, &best, terminal.stdout_style().width)
    };
    user_io::print::result(&text)
}

/// Checks that every parameter of the models has a value, and no other name has one.
fn check_names(options: &Options, file: &ModelFile) -> anyhow::Result<()> {
    let known = file.parameters();
    let best = options.best.parameter();
    let named = || options.set.iter().map(|values| values.name.as_str()).chain(best);
    for name in named() {
        ensure_option!(
            known.contains(&name),
            "the models have no parameter `{name}`; they have {}",
            known.join(", ")
        );
    }
    let is_region = |model: &fitting::FittedModel| is_wanted(&options.region, &model.region);
    ensure_option!(
        file.models.iter().any(is_region),
        "no region matches `{}`",
        options.region.join("`, `")
    );
    for name in known {
        ensure_option!(
            named().any(|other| other == name),
            "`{name}` has no value: add `--set {name}=VALUE`"
        );
    }
    Ok(())
}

/// Most lines; further combinations are not drawn.
const N_LINES_MAX: usize = 8;

/// Draws the picture as SVG: a line with its interval for each combination of the other parameters.
fn picture(context: &PredictionContext<'_>, rows: &[PredictedPoint<'_>]) -> String {
    let x_idx = table::across(rows);
    let mut lines: Vec<ChartLine> = Vec::new();
    for row in rows {
        let name = others(row, x_idx);
        let line_idx = lines.iter().position(|line| line.name == name).unwrap_or(lines.len());
        if line_idx == lines.len() {
            lines.push(ChartLine { name, ..ChartLine::default() });
        }
        let x = row.at.get(x_idx).map_or(0.0, |(_, value)| *value);
        let (line, prediction) = (&mut lines[line_idx], row.total);
        line.line.push([x, prediction.value]);
        line.points.push([x, prediction.value]);
        line.band.push([x, prediction.low, prediction.high]);
    }
    lines.truncate(N_LINES_MAX);
    for line in &mut lines {
        line.line.sort_by(|a, b| a[0].total_cmp(&b[0]));
        line.band.sort_by(|a, b| a[0].total_cmp(&b[0]));
    }
    let x_name = rows.first().and_then(|row| row.at.get(x_idx)).map_or("", |(name, _)| *name);
    let program = context.file.program.as_deref().unwrap_or("the program");
    let panel = Panel {
        title: format!("{program}, predicted"),
        x_name: x_name.to_owned(),
        y_name: axis_name(context.metric),
        lines,
        ..Panel::default()
    };
    chart::panels(&[panel], 1)
}

fn others(row: &PredictedPoint<'_>, x_idx: usize) -> String {
    let others = row.at.iter().enumerate().filter(|(idx, _)| *idx != x_idx);
    in_words(others.map(|(_, point)| *point))
}

/// JSON object with `predictions`: for each point the whole program, with region null, then its regions.
fn as_json(
    context: &PredictionContext<'_>,
    rows: &[PredictedPoint<'_>],
    best: &[Best<'_>],
) -> Value {
    let mut predictions = Vec::new();
    for row in rows {
        let parameters = parameters(&row.at);
        let warnings: Vec<String> = row.warnings.iter().map(ToString::to_string).collect();
        let mut total = prediction(context, Value::Null, &parameters, row.total);
        total["share"] = json!(1.0);
        total["role"] = json!(row.role);
        total["warnings"] = json!(warnings);
        if let Some(core_hours) = row.core_hours {
            total["core_hours"] = json!(core_hours);
        }
        predictions.push(total);
        for region in &row.regions {
            let mut one = prediction(context, json!(region.name), &parameters, region.prediction);
            one["share"] = json!(region.share);
            one["warnings"] = json!(region.warnings);
            one["forms"] = json!(region.forms);
            predictions.push(one);
        }
    }
    let rate = context.file.rate(context.metric);
    let mut all = json!({ "metric": context.metric, "rate": rate, "predictions": predictions });
    if let Some(name) = context.options.best.parameter() {
        all["best"] = best.iter().map(|best| of_best(name, best)).collect();
    }
    all
}

fn parameters(at: &[(&str, f64)]) -> Value {
    let each = at.iter().map(|(name, value)| ((*name).to_owned(), json_number(*value)));
    Value::Object(each.collect())
}

fn prediction(
    context: &PredictionContext<'_>,
    region: Value,
    parameters: &Value,
    predicted: Prediction,
) -> Value {
    json!({
        "region": region,
        "metric": context.metric,
        "parameters": parameters,
        "value": predicted.value,
        "low": predicted.low,
        "high": predicted.high,
    })
}

fn of_best(name: &str, best: &Best<'_>) -> Value {
    let found = best.found.as_ref();
    json!({
        "parameter": name,
        "parameters": parameters(&best.others),
        "best": found.map(|found| json_number(found.value)),
        "value": found.map(|found| found.prediction.value),
        "low": found.map(|found| found.prediction.low),
        "high": found.map(|found| found.prediction.high),
        "efficiency": found.map(|found| found.efficiency),
        "core_hours": found.and_then(|found| found.core_hours),
        "warnings": found.map(|found| &found.warnings),
    })
}

/// CSV row for each point and region; the region of the whole program is empty.
fn as_csv(context: &PredictionContext<'_>, rows: &[PredictedPoint<'_>]) -> String {
    let names = rows.first().into_iter().flat_map(|row| &row.at);
    let names: String = names.map(|(name, _)| format!(",{}", quoted(name))).collect();
    let mut text = format!("region,metric{names},value,low,high,share\n");
    let metric = quoted(context.metric);
    for row in rows {
        let at: String = row.at.iter().map(|(_, value)| format!(",{value}")).collect();
        let mut add = |region: &str, Prediction { value, low, high }, share: Option<f64>| {
            let share = share.map_or(String::new(), |share| share.to_string());
            text += &format!("{},{metric}{at},{value},{low},{high},{share}\n", quoted(region));
        };
        add("", row.total, Some(1.0));
        row.regions.iter().for_each(|region| add(&region.name, region.prediction, region.share));
    }
    text
}
