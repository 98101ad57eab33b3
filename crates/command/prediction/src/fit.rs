//! `sintonia fit`: fits models of regions to measurements.
//!
//! # Not here
//! Finding models (`fitting`); taking measurements (`sintonia experiment`).

mod list;
mod plot;
mod regions;
mod settings;

use crate::input::{self, InputOptions};
use crate::text::is_wanted;
use crate::values::{self, Values};
use anyhow::ensure;
use clap::Args;
use display::text::wrap;
use display::units::plural;
use fitting::formats::{csv, extrap_json};
use fitting::{Measurements, ModelFile, SampleRule};
use list::Fitted;
use settings::FittingOptions;
pub(crate) use settings::sample_rule;
use std::collections::BTreeSet;
use std::path::PathBuf;
use std::process::ExitCode;
use user_io::ensure_option;
use user_io::exit::{bad_option, not_read};
use user_io::print::escape_line;
use user_io::result_file;
use user_io::terminal::Terminal;

const EXAMPLES: &str = "\
Examples:
  sintonia fit measured/ -o models.json              the folder of `sintonia experiment`
  sintonia fit extrap.txt --json
  sintonia fit times.csv --parameter n,p --value seconds --plot models.svg
  sintonia fit measured/ --holdout p=16,32           how well are these predicted?
  sintonia fit profiles/ --metric time               a folder of `.cali`, `.cubex` or TALP's files
  sintonia fit times.csv --method pseudo-inverse --terms '1,n,n^2'

INPUT is a folder of `sintonia experiment`, a file, or `-`: Extra-P's text, JSON or JSON Lines, the lines of \
Talpas, CSV, or the JSON of hyperfine or Thicket; or one or many runs with Caliper (`.cali`) or TALP (JSON), put together or in a \
folder. Profiles of Score-P lie in folders named after their parameters, as Extra-P wants them: \
FOLDER/NAME.p4.n100.r1/profile.cubex. JSON of hyperfine may lie in a folder, too, each file with parameters in it or in its name. \
Folders are searched for such files, those of Benchpark as well.

Exit codes: 0 when models were found; 2 when an option is wrong; 100 when no region can be modeled; \
102 when a result could not be written; 105 when INPUT cannot be read.";

/// Find models of time over any parameters, from measurements
///
/// Finds for each region a formula of the parameters, chosen by how well it predicts measurements that it was not
/// fitted to, with its error there, and what was left out.
#[derive(Args, Debug)]
#[command(after_help = EXAMPLES)]
pub struct Options {
    /// Measurements; `-` is standard input
    input: PathBuf,
    #[command(flatten)]
    results: Results,
    /// Fit only regions that match; `*` stands for anything; may be given several times
    #[arg(long, value_name = "PATTERN")]
    region: Vec<String>,
    /// Fit only this metric; may be given several times
    #[arg(long, value_name = "NAME")]
    metric: Vec<String>,
    /// Keep points with these values back, and show how well they are predicted; may be given several times
    #[arg(long, value_name = "NAME=VALUES")]
    holdout: Vec<Values>,
    #[command(flatten)]
    reading: InputOptions,
    #[command(flatten)]
    fitting: FittingOptions,
}

/// Options for the results.
#[derive(Args, Debug)]
struct Results {
    /// Write the models as a file, for `sintonia predict` and `validate`, and tunlets
    #[arg(long, short, value_name = "MODELS.json")]
    output: Option<PathBuf>,
    /// Print the models as JSON
    #[arg(long)]
    json: bool,
    /// Write the models as a table
    #[arg(long, value_name = "FILE.csv")]
    csv: Option<PathBuf>,
    /// Write a picture of the measurements and the models
    #[arg(long, value_name = "FILE.svg")]
    plot: Option<PathBuf>,
    /// Write the measurements as Extra-P's JSON
    #[arg(long, value_name = "FILE.json")]
    write_extrap: Option<PathBuf>,
    /// Write the measurements as a table with a row for each repetition
    #[arg(long, value_name = "FILE.csv")]
    write_table: Option<PathBuf>,
}

/// Fits models and shows them.
pub fn run(options: &Options, terminal: Terminal) -> anyhow::Result<ExitCode> {
    let text = input::open(&options.input)?;
    let measured = wanted(text.measured(&options.reading)?, options)?;
    let mut settings = options.fitting.settings(&measured.parameters)?;
    if let Some(path) = &options.results.write_extrap {
        result_file::write(path, &(extrap_json::write(&measured)? + "\n"))?;
    }
    if let Some(path) = &options.results.write_table {
        result_file::write(path, &csv::write(&measured))?;
    }
    let (seen, unseen) = split(measured, &options.holdout)?;
    ensure!(
        !seen.series.is_empty(),
        not_read(&text.name, "all its points are kept back by `--holdout`")
    );
    let mut used = seen.clone();
    let rule = settings.samples;
    settings.known.regimes = seen.regimes();
    settings.samples = fitting::runs::leave_out(&mut used, rule);
    let mut all = regions::fit_all(&used, &settings);
    if !options.holdout.is_empty() {
        judge(&mut all, &unseen, rule)?;
    }
    let models: Vec<_> = all.iter().filter_map(|one| one.model.as_ref().ok()).cloned().collect();
    let n_models = models.len();
    let file = ModelFile { program: text.program(&options.input), ..ModelFile::of(models) };
    write(options, &file, &all, &seen, &unseen)?;
    let shown = if options.results.json {
        format!("{:#}\n", list::as_json(&all)?)
    } else {
        table(&seen, &all, terminal.stdout_style().width)
    };
    user_io::print::result(&shown)?;
    ensure!(n_models != 0, "no region can be modeled; the messages say why");
    Ok(ExitCode::SUCCESS)
}

fn write(
    options: &Options,
    file: &ModelFile,
    all: &[Fitted],
    seen: &Measurements,
    unseen: &Measurements,
) -> anyhow::Result<()> {
    let results = &options.results;
    if let Some(path) = &results.output {
        result_file::write(path, &file.write()?)?;
    }
    if let Some(path) = &results.csv {
        result_file::write(path, &list::as_csv(all))?;
    }
    if let Some(path) = &results.plot {
        result_file::write(path, &plot::picture(file, seen, unseen))?;
    }
    Ok(())
}

/// Keeps the regions and metrics that were asked for.
fn wanted(mut measured: Measurements, options: &Options) -> anyhow::Result<Measurements> {
    let there: BTreeSet<&str> = measured.series.iter().map(|it| it.metric.as_str()).collect();
    let there = Vec::from_iter(there);
    for metric in &options.metric {
        ensure_option!(
            there.contains(&metric.as_str()),
            "there is no metric `{metric}`; there are {}",
            there.join(", ")
        );
    }
    measured.series.retain(|series| {
        is_wanted(&options.region, &series.region) && is_wanted(&options.metric, &series.metric)
    });
    ensure_option!(
        !measured.series.is_empty(),
        "no region matches `{}`",
        options.region.join("`, `")
    );
    Ok(measured)
}

/// Splits points into those used and those kept back, where each named parameter has one of its named values.
fn split(measured: Measurements, held: &[Values]) -> anyhow::Result<(Measurements, Measurements)> {
    if held.is_empty() {
        let none = Measurements::of(measured.parameters.clone());
        return Ok((measured, none));
    }
    let position = |values: &Values| {
        let found = measured.parameters.iter().position(|name| *name == values.name);
        let there = || measured.parameters.join(", ");
        found.ok_or_else(|| {
            bad_option(format!("there is no parameter `{}`; there are {}", values.name, there()))
        })
    };
    values::points(held)?;
    let held = held.iter().map(|values| Ok((position(values)?, &values.values)));
    let held = held.collect::<anyhow::Result<Vec<_>>>()?;
    let (unseen, seen) =
        measured.split(|at| held.iter().all(|(idx, values)| values.contains(&at[*idx])));
    ensure_option!(!unseen.series.is_empty(), "`--holdout` matches no point that was measured");
    Ok((seen, unseen))
}

/// Adds the errors of the predictions at points that were kept back.
fn judge(all: &mut [Fitted], unseen: &Measurements, rule: SampleRule) -> anyhow::Result<()> {
    for one in all {
        let Ok(model) = &one.model else { continue };
        let file = ModelFile::of(vec![model.clone()]);
        let compared = fitting::compare(&file, &one.metric, unseen, rule)?;
        let of_region = compared.iter().filter(|it| it.region.as_ref() == Some(&one.region));
        one.unseen = Some(fitting::Summary::of(of_region)).filter(|it| 0 < it.n_points);
    }
    Ok(())
}

/// Widest name of a region, in columns, before its row is broken.
const N_REGION_MAX: usize = 36;
/// Columns between the region and the model.
const N_FIGURES: usize = 30;
/// Shortest line length, in columns.
const N_COLUMNS_MIN: usize = 72;

/// Table of all models.
fn table(measured: &Measurements, all: &[Fitted], n_columns: usize) -> String {
    let n_columns = n_columns.max(N_COLUMNS_MIN);
    let names: Vec<String> = all.iter().map(name).collect();
    let longest = names.iter().map(|name| name.chars().count()).max().unwrap_or(0);
    let width = longest.clamp("REGION".len(), N_REGION_MAX);
    let mut text = heading(measured, all);
    text += &format!(
        "{:width$}  {:>8}  {:>6}  {:>8}  MODEL\n",
        "REGION", "HELD OUT", "POINTS", "DROPPED"
    );
    for (one, name) in all.iter().zip(&names) {
        text += &row(one, name, width, n_columns);
    }
    text + &unseen(all)
}

/// Sentence about what was measured.
fn heading(measured: &Measurements, all: &[Fitted]) -> String {
    let n_points: usize = all.iter().map(|one| one.n_points).max().unwrap_or(0);
    let (models, points) = (plural(all.len(), "model"), plural(n_points, "point"));
    let parameters = match &measured.parameters[..] {
        [] => "no parameter".to_owned(),
        names => names.join(", "),
    };
    format!("{models} over {parameters}, from up to {points} each\n\n")
}

fn name(one: &Fitted) -> String {
    let region = if one.region.is_empty() { "(all)" } else { &one.region };
    let region = escape_line(region);
    match one.metric.as_str() {
        "" | "time" | "<default>" | "value" => region.into_owned(),
        metric => format!("{region} [{}]", escape_line(metric)),
    }
}

fn row(one: &Fitted, name: &str, width: usize, n_columns: usize) -> String {
    let indent = width + N_FIGURES;
    let (figures, model) = match &one.model {
        Ok(model) => {
            let held_out = format!("{:.2} %", 100.0 * model.held_out_error);
            let dropped = format!("{}/{}", model.n_dropped, model.n_samples);
            (format!("{held_out:>8}  {:>6}  {dropped:>8}", one.n_points), model.text.as_str())
        }
        Err(_) => (format!("{:>8}  {:>6}  {:>8}", "", one.n_points, ""), "none"),
    };
    let lines = wrap(model, n_columns.saturating_sub(indent));
    let mut text = if name.chars().count() <= width {
        format!("{name:width$}  {figures}  ")
    } else {
        format!("{name}\n{:width$}  {figures}  ", "")
    };
    text += &lines.join(&format!("\n{:indent$}", ""));
    text.push('\n');
    for warning in list::warnings(one) {
        let lines = wrap(&warning, n_columns.saturating_sub(4));
        text += &format!("  ! {}\n", lines.join("\n    "));
    }
    text
}

/// Lines about how well the points that were kept back were predicted.
fn unseen(all: &[Fitted]) -> String {
    let mut text = String::new();
    for one in all {
        let Some(unseen) = &one.unseen else { continue };
        if text.is_empty() {
            text += "\nPoints kept back by --holdout, and how well they are predicted:\n";
        }
        text += &format!(
            "  {}: SMAPE {:.2} %, at most {:.2} % off, {} of {} within their intervals\n",
            name(one),
            unseen.smape_percent,
            unseen.largest_error_percent,
            unseen.n_within,
            unseen.n_points
        );
    }
    text
}
