//! `sintonia validate`: compares predictions with new measurements.
//!
//! # Not here
//! Comparison and errors (`fitting::comparison`).

use crate::fit::sample_rule;
use crate::input::{self, InputOptions};
use crate::text::{is_wanted, short};
use anyhow::ensure;
use clap::Args;
use display::table::Table;
use display::text::wrap;
use fitting::formats::csv::quoted;
use fitting::{Compared, Measurements, SampleRule, Summary};
use serde_json::{Value, json};
use std::path::PathBuf;
use std::process::ExitCode;
use user_io::ensure_option;
use user_io::exit::not_read;
use user_io::result_file;
use user_io::terminal::Terminal;

const EXAMPLES: &str = "\
Examples:
  sintonia validate models.json later/
  sintonia validate models.json later.csv --json | jq .summary
  sintonia validate models.json later/ --region '*' --csv errors.csv

An error is (predicted - measured) / predicted. SMAPE is the mean of 200 * |predicted - measured| / (predicted + measured).

Exit codes: 0 when it is done, however large the errors are; 2 when an option is wrong; 100 when nothing measured has a \
model; 102 when a result could not be written; 105 when MODELS or INPUT cannot be read.";

/// Compare predictions with new measurements
///
/// Prints a row for each measured point: measured, predicted, the error, and whether the measured value lies in the
/// interval; then the error over all points, and how many intervals held.
#[derive(Args, Debug)]
#[command(after_help = EXAMPLES)]
pub struct Options {
    /// File of `sintonia fit -o`; or measurements, which are fitted first
    models: PathBuf,
    /// New measurements: a file, `-`, or a folder of `sintonia experiment`, of which the measurements kept back are
    /// taken, if there are any
    input: PathBuf,
    /// Print an object with all points and a summary as JSON
    #[arg(long)]
    json: bool,
    /// Write all points as a table
    #[arg(long, value_name = "FILE.csv")]
    csv: Option<PathBuf>,
    /// Metric to compare; by default `time`
    #[arg(long, value_name = "NAME")]
    metric: Option<String>,
    /// Also show regions that match; `*` stands for anything; may be given several times
    #[arg(long, value_name = "PATTERN")]
    region: Vec<String>,
    /// Rule that makes one value of repetitions, as for `sintonia fit`
    #[arg(long, value_name = "RULE", default_value = "near-minimum:0.3", value_parser = sample_rule)]
    samples: SampleRule,
    #[command(flatten)]
    reading: InputOptions,
}

/// Compares, and shows the result.
pub fn run(options: &Options, terminal: Terminal) -> anyhow::Result<ExitCode> {
    let text = input::open_new(&options.input)?;
    let file = input::models(&options.models, &[])?;
    let names = file.parameters();
    let columns = options.reading.clone().with_parameters(&names);
    let measured = match text.measured_for(&columns, Some(&file)) {
        Ok(measured) => measured,
        Err(_) => text.measured_for(&options.reading, Some(&file))?,
    };
    let there = measured.parameters.join(", ");
    for name in names {
        let lacks =
            || format!("it has no parameter `{name}`, which the models need; it has {there}");
        let is_there = measured.parameters.iter().any(|other| other == name);
        ensure!(is_there, not_read(&text.name, lacks()));
    }
    let metric = options.metric.as_deref().or_else(|| file.usual_metric()).unwrap_or_default();
    ensure_option!(
        file.metrics().contains(&metric),
        "the models have no metric `{metric}`; they have {}",
        file.metrics().join(", ")
    );
    let measured = alike(measured, metric);
    let compared = fitting::compare(&file, metric, &measured, options.samples)?;
    ensure!(!compared.is_empty(), "{} has no region and metric of the models", text.name);
    let (parameters, rate) = (measured.parameters, file.rate(metric));
    let outcome = Outcome { parameters, metric: metric.to_owned(), rate, compared };
    if let Some(path) = &options.csv {
        result_file::write(path, &as_csv(&outcome))?;
    }
    let is_shown = |one: &Compared| match &one.region {
        None => true,
        Some(region) => !options.region.is_empty() && is_wanted(&options.region, region),
    };
    let shown = if options.json {
        format!("{:#}\n", as_json(&outcome))
    } else {
        table(&outcome, is_shown, terminal.stdout_style().width)
    };
    user_io::print::result(&shown)
}

/// Renames the metric of a file that has only one, since its name may differ: `time_s` for `time`.
fn alike(mut measured: Measurements, metric: &str) -> Measurements {
    let is_one = measured.series.windows(2).all(|pair| pair[0].metric == pair[1].metric);
    if is_one {
        measured.series.iter_mut().for_each(|series| metric.clone_into(&mut series.metric));
    }
    measured
}

fn as_json(outcome: &Outcome) -> Value {
    let point = |one: &Compared| {
        let parameters =
            outcome.parameters.iter().cloned().zip(one.at.iter().map(|value| json!(value)));
        json!({
            "region": one.region,
            "parameters": Value::Object(parameters.collect()),
            "measured": one.measured,
            "predicted": one.predicted.value,
            "low": one.predicted.low,
            "high": one.predicted.high,
            "error_percent": one.error_percent(),
            "within": one.is_within(),
            "forms": one.forms,
        })
    };
    let summary = outcome.summary();
    json!({
        "metric": outcome.metric,
        "points": outcome.compared.iter().map(point).collect::<Vec<_>>(),
        "summary": {
            "n_points": summary.n_points,
            "smape_percent": summary.smape_percent,
            "mean_error_percent": summary.mean_error_percent,
            "largest_error_percent": summary.largest_error_percent,
            "n_within": summary.n_within,
            "coverage": summary.coverage(),
            "stated_rate": outcome.rate,
        },
    })
}

/// Returns an error without the sign of one that is not seen.
fn shown(percent: f64) -> f64 {
    if percent.abs() < 0.005 { 0.0 } else { percent }
}

fn as_csv(outcome: &Outcome) -> String {
    let names: Vec<String> = outcome.parameters.iter().map(|name| quoted(name)).collect();
    let mut text =
        format!("region,{},measured,predicted,low,high,error_percent,within\n", names.join(","));
    for one in &outcome.compared {
        let region = quoted(one.region.as_deref().unwrap_or_default());
        let at: Vec<String> = one.at.iter().map(ToString::to_string).collect();
        let fitting::Prediction { value, low, high } = one.predicted;
        text += &format!(
            "{region},{},{},{value},{low},{high},{},{}\n",
            at.join(","),
            one.measured,
            one.error_percent(),
            one.is_within()
        );
    }
    text
}

/// Longest name of a region, in characters; longer ones are cut.
const N_NAME_MAX: usize = 40;

/// Result of the comparison.
struct Outcome {
    parameters: Vec<String>,
    metric: String,
    /// Share of measurements that intervals are meant to hold.
    rate: f64,
    compared: Vec<Compared>,
}

impl Outcome {
    fn has_program(&self) -> bool {
        self.compared.iter().any(|one| one.region.is_none())
    }

    /// Summary of the whole program, or, if that was not measured, of the regions.
    fn summary(&self) -> Summary {
        let has_program = self.has_program();
        Summary::of(self.compared.iter().filter(|one| one.region.is_none() == has_program))
    }
}

/// Table of all points that are shown, and the summary of the whole program, or of all regions.
fn table(outcome: &Outcome, is_shown: impl Fn(&Compared) -> bool, n_columns: usize) -> String {
    // Without the whole program, all regions are shown.
    let shown = outcome.compared.iter().filter(|one| !outcome.has_program() || is_shown(one));
    let shown: Vec<&Compared> = shown.collect();
    let tables = shown.chunk_by(|one, next| one.region == next.region);
    let text: Vec<String> = tables.map(|points| region(outcome, points)).collect();
    text.join("\n") + &summary(outcome, n_columns)
}

/// Table of the points of a region.
fn region(outcome: &Outcome, points: &[&Compared]) -> String {
    let name = points[0].region.as_deref().unwrap_or("the program");
    let n_cut = name.chars().count().saturating_sub(N_NAME_MAX);
    let name: String = name.chars().skip(n_cut).collect();
    let name = if name.is_empty() { "(all)" } else { &name };
    let mut table = Table::new(points);
    for (idx, parameter) in outcome.parameters.iter().enumerate() {
        let cell = |one: &&&Compared| one.at.get(idx).map_or(String::new(), f64::to_string);
        table = table.right(parameter.as_str(), cell);
    }
    let table = table
        .right("MEASURED", |one| short(one.measured))
        .right("PREDICTED", |one| short(one.predicted.value))
        .right("ERROR", |one| format!("{:+.2} %", shown(one.error_percent())))
        .left("WITHIN", |one| if one.is_within() { "yes" } else { "no" });
    format!("{name}\n{table}")
}

fn summary(outcome: &Outcome, n_columns: usize) -> String {
    let summary = outcome.summary();
    let held = 100.0 * summary.coverage();
    let rate = (1000.0 * outcome.rate).round() / 10.0;
    let sentence = format!(
        "{} points: SMAPE {:.2} %, mean error {:.2} %, at most {:.2} %; {} of {} intervals held ({held:.1} %, meant for {rate} %)",
        summary.n_points,
        summary.smape_percent,
        summary.mean_error_percent,
        summary.largest_error_percent,
        summary.n_within,
        summary.n_points,
    );
    format!("\n{}\n", wrap(&sentence, n_columns.max(60)).join("\n"))
}
