//! `sintonia predict`: predicts points that were not measured, from models.
//!
//! # Not here
//! Totals of models (`fitting::total`); finding models (`sintonia fit`).

mod best;
mod engine;
mod list;
mod plot;
mod table;
mod unfolded;

use crate::fit::{input, is_wanted};
use crate::values::{self, Point, Values};
use anyhow::{Context, anyhow, ensure};
use clap::Args;
use fitting::{ModelFile, Prediction, Role, TOTAL, Warning};
use std::path::PathBuf;
use std::process::ExitCode;
use user_io::exit::BadOption;
use user_io::result_file;
use user_io::terminal::Terminal;

const EXAMPLES: &str = "\
Examples:
  sintonia predict models.json --set n=1200 --set p=16
  sintonia predict models.json --set n=1200 --set p=2:64:*2 --plot time.svg
  sintonia predict models.json --set n=500:2000:500 --set p=4,8 --json
  sintonia predict models.json --set n=1200 --best p --target-time 30
  sintonia predict models.json --set n=1200 --best p --efficiency 0.8 --cost
  sintonia predict RUN --engine smpi --machine network.json
  sintonia predict models.json --graph src/ --set n=1200 --set p=16 --ranks 'p + 1' --let dim=n --machine network.json

The whole program is the longest of the roles of its ranks, each the sum of its regions; without roles, the sum of all \
regions. A region `total`, measured as a whole, stands beside it.

Exit codes: 0 when it is done; 2 when an option is wrong; 100 when nothing reaches the target, or a formula has \
no value there; 102 when a result could not be written; 105 when MODELS cannot be read.";

/// Predict the time of a program for sizes and numbers of processes
///
/// Predicts the whole program and each region, with an interval in which a measurement should lie, and warns where a
/// prediction goes beyond the measured range.
#[derive(Args, Debug)]
#[command(after_help = EXAMPLES)]
pub struct Options {
    /// File of `sintonia fit -o`; or measurements, which are fitted first
    models: PathBuf,
    /// Values of a parameter: a list (`p=2,4,8`), a range (`n=100:1000:100`), a range by factors (`p=2:64:*2`)
    #[arg(long, value_name = "NAME=VALUES")]
    set: Vec<Values>,
    /// Metric to predict; by default `time`
    #[arg(long, value_name = "NAME")]
    metric: Option<String>,
    /// Show only regions that match, and always the whole program; may be given several times
    #[arg(long, value_name = "PATTERN")]
    region: Vec<String>,
    #[command(flatten)]
    output: PredictOutputOptions,
    #[command(flatten)]
    best: best::BestOptions,
    #[command(flatten)]
    engine: engine::EngineOptions,
    #[command(flatten)]
    graph: unfolded::GraphOptions,
}

/// Options for showing predictions.
#[derive(Args, Debug)]
struct PredictOutputOptions {
    /// Print an object with a list of predictions as JSON
    #[arg(long)]
    json: bool,
    /// Write the predictions as a table
    #[arg(long, value_name = "FILE.csv")]
    csv: Option<PathBuf>,
    /// Write a picture of the whole program over the parameter with the most values
    #[arg(long, value_name = "FILE.svg")]
    plot: Option<PathBuf>,
    /// Show the cost in core-hours
    #[arg(long)]
    cost: bool,
    /// Parameter that counts processes, if its name does not tell
    #[arg(long, value_name = "NAME")]
    processes: Option<String>,
}

/// Prediction for one point.
struct Row<'a> {
    at: Point<'a>,
    total: Prediction,
    /// Role that takes longest.
    role: Option<String>,
    /// Regions that were asked for.
    regions: Vec<Region>,
    warnings: Vec<Warning>,
    core_hours: Option<f64>,
}

/// Prediction for one region.
struct Region {
    name: String,
    prediction: Prediction,
    /// Share of the whole program; `None` for a region that is the whole program itself.
    share: Option<f64>,
    warnings: Vec<String>,
}

/// What is to be predicted, and the models for it.
struct PredictionContext<'a> {
    options: &'a Options,
    file: &'a ModelFile,
    metric: &'a str,
    processes: Option<String>,
}

/// Predicts and shows it.
///
/// # Errors
/// If the models cannot be read, or do not have what is asked for.
pub fn run(options: &Options, terminal: Terminal) -> anyhow::Result<ExitCode> {
    if options.graph.is_wanted() {
        return unfolded::predict(options);
    }
    if options.engine.is_wanted() {
        engine::check_alone(options)?;
        return engine::predict(&options.models, &options.engine, &options.output);
    }
    let names: Vec<&str> = options.set.iter().map(|values| values.name.as_str()).collect();
    let file = input::models(&options.models, &names)?;
    let context = PredictionContext::new(options, &file)?;
    check_names(options, &file)?;
    let points = values::points(&options.set)?;
    // Where this program chooses the values among which the best is looked for, only the best is shown.
    let asked = if best::is_free(&options.best, &options.set) { &[][..] } else { &points[..] };
    let rows = asked.iter().map(|point| context.row(point)).collect::<anyhow::Result<Vec<_>>>()?;
    let best = best::best(&context, &options.set)?;
    if let Some(path) = &options.output.csv {
        result_file::write(path, &list::as_csv(&context, &rows))?;
    }
    if let Some(path) = &options.output.plot {
        ensure!(
            !rows.is_empty(),
            anyhow!("`--plot` needs values of all parameters: add `--set`").context(BadOption)
        );
        result_file::write(path, &plot::picture(&context, &rows))?;
    }
    let text = if options.output.json {
        format!("{:#}\n", list::as_json(&context, &rows, &best))
    } else {
        table::table(&context, &rows, &best, terminal.stdout_style().width)
    };
    user_io::print::result(&text)?;
    Ok(ExitCode::SUCCESS)
}

/// Checks that every parameter of the models has a value, and no other name has one.
fn check_names(options: &Options, file: &ModelFile) -> anyhow::Result<()> {
    let known = file.parameters();
    let best = options.best.parameter();
    let named = || options.set.iter().map(|values| values.name.as_str()).chain(best);
    for name in named() {
        ensure!(
            known.contains(&name),
            anyhow!("the models have no parameter `{name}`; they have {}", known.join(", "))
                .context(BadOption)
        );
    }
    let is_region = |model: &fitting::FittedModel| is_wanted(&options.region, &model.region);
    ensure!(
        file.models.iter().any(is_region),
        anyhow!("no region matches `{}`", options.region.join("`, `")).context(BadOption)
    );
    for name in known {
        ensure!(
            named().any(|other| other == name),
            anyhow!("`{name}` has no value: add `--set {name}=VALUE`").context(BadOption)
        );
    }
    Ok(())
}

impl<'a> PredictionContext<'a> {
    fn new(options: &'a Options, file: &'a ModelFile) -> anyhow::Result<Self> {
        let metric = match &options.metric {
            None => file.usual_metric(),
            Some(name) => file.metrics().into_iter().find(|metric| metric == name),
        };
        let metric = metric.ok_or_else(|| {
            let name = options.metric.as_deref().unwrap_or_default();
            anyhow!("there is no metric `{name}`; there are {}", file.metrics().join(", "))
                .context(BadOption)
        })?;
        let of_processes = |name: &&&str| Role::of_name(name) == Role::Processes;
        let processes = match &options.output.processes {
            None => file.parameters().iter().find(of_processes).map(|name| (*name).to_owned()),
            named => named.clone(),
        };
        let is_known = |name: &String| file.parameters().contains(&name.as_str());
        ensure!(
            processes.as_ref().is_none_or(is_known),
            anyhow!("the models have no parameter `{}`", processes.unwrap_or_default())
                .context(BadOption)
        );
        ensure!(
            !options.output.cost || processes.is_some(),
            anyhow!(
                "`--cost` needs to know which parameter counts processes: add `--processes NAME`"
            )
            .context(BadOption)
        );
        Ok(Self { options, file, metric, processes })
    }

    /// Prediction for the whole program at a point.
    fn total(&self, point: &[(&str, f64)]) -> anyhow::Result<Prediction> {
        let predicted = self.file.predict(self.metric, point)?;
        predicted.total.context("no region of this metric has a model")
    }

    fn row<'b>(&self, point: &Point<'b>) -> anyhow::Result<Row<'b>> {
        let predicted = self.file.predict(self.metric, point)?;
        let total = predicted.total.context("no region of this metric has a model")?;
        let (mut regions, mut warnings) = (Vec::new(), Vec::new());
        for (idx, prediction) in predicted.regions {
            let model = &self.file.models[idx];
            let its = model.warnings_at(&model.point(point)?);
            if is_wanted(&self.options.region, &model.region) {
                let share = Some(prediction.value / total.value);
                let share = share.filter(|share| share.is_finite() && model.region != TOTAL);
                let texts = its.iter().map(ToString::to_string).collect();
                regions.push(Region {
                    name: model.region.clone(),
                    prediction,
                    share,
                    warnings: texts,
                });
            }
            let new: Vec<Warning> =
                its.into_iter().filter(|warning| !warnings.contains(warning)).collect();
            warnings.extend(new);
        }
        let core_hours = self.core_hours(point, total.value);
        Ok(Row { at: point.clone(), total, role: predicted.role, regions, warnings, core_hours })
    }

    /// Cost in core-hours, if it was asked for.
    fn core_hours(&self, point: &[(&str, f64)], time_s: f64) -> Option<f64> {
        let processes = self.processes.as_deref().filter(|_| self.options.output.cost)?;
        let (_, n_processes) = point.iter().find(|(name, _)| *name == processes)?;
        Some(n_processes * time_s / 3600.0)
    }

    /// Value with its unit, if that is known.
    fn with_unit(&self, value: f64) -> String {
        let number = short(value);
        if is_in_seconds(self.metric) { format!("{number} s") } else { number }
    }
}

/// Returns whether a metric is a time in seconds, judging by its name.
pub(crate) fn is_in_seconds(metric: &str) -> bool {
    let metric = metric.to_lowercase();
    ["time", "seconds"].contains(&metric.as_str())
        || metric.ends_with("_s")
        || metric.ends_with("(s)")
}

/// Number with four significant digits.
pub(crate) fn short(value: f64) -> String {
    if value == 0.0 || !value.is_finite() {
        return format!("{value}");
    }
    if !(1e-4..1e7).contains(&value.abs()) {
        return format!("{value:.3e}");
    }
    let n_before = value.abs().log10().floor();
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "from 0 to 8")]
    let n_digits = (3.0 - n_before).clamp(0.0, 8.0) as usize;
    format!("{value:.n_digits$}")
}

#[cfg(test)]
mod tests {
    use super::short;

    #[test]
    fn numbers_have_four_digits() {
        for (value, expected) in [
            (0.0, "0"),
            (1.234_56, "1.235"),
            (1234.5, "1234"),
            (0.012_345, "0.01235"),
            (1e-9, "1.000e-9"),
            (-3.0, "-3.000"),
            (123_456.0, "123456"),
        ] {
            assert_eq!(short(value), expected);
        }
    }
}
