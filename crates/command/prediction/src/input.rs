//! Reads files of measurements and models, recognizes their format, and reports what is wrong with them.
//!
//! # Not here
//! Formats of the files (`fitting::formats`, `fitting::model_file`).

mod run_folder;

use anyhow::{anyhow, ensure};
use clap::Args;
use fitting::formats::csv::{self, Columns};
use fitting::formats::run_files::RunFiles;
use fitting::formats::{Format, Reading};
use fitting::{Measurements, ModelFile};
use std::path::Path;
use user_io::exit::not_read;
use user_io::option_value::one_of;
use user_io::{bounded_read, ensure_option};

/// Files that `sintonia experiment` writes: measurements to be fitted, and to be compared with.
const OF_EXPERIMENT: &str = "measurements.jsonl";
const KEPT_BACK: &str = "holdout.jsonl";
/// Number of bad lines that are shown; further ones are counted.
const N_SHOWN: usize = 8;

/// Options for reading a file of measurements that does not describe itself.
#[derive(Args, Clone, Debug, Default)]
#[command(next_help_heading = "How INPUT is read")]
pub(crate) struct InputOptions {
    /// Format of the file; by default recognized by its beginning
    #[arg(long, value_parser = one_of(&FORMATS))]
    format: Option<Format>,
    /// Parameters: columns of CSV, by default all columns of numbers without another role; or numbers that Caliper or
    /// TALP record of a run, by default all that differ
    #[arg(long, value_name = "COLUMN", value_delimiter = ',')]
    parameter: Vec<String>,
    /// Column of the measured time, with CSV; by default `time`, `value`, `measured_s` or the like
    #[arg(long, value_name = "COLUMN")]
    value: Option<String>,
    /// Column of the region, with CSV, by default `region` or `callpath`, or columns of words; or a text that Caliper
    /// records of a run, to be put before the regions
    #[arg(long, value_name = "COLUMN")]
    region_column: Option<String>,
    /// Column of the metric, with CSV; by default `metric`
    #[arg(long, value_name = "COLUMN")]
    metric_column: Option<String>,
    /// Regions of an experiment: call paths of the program's functions, or MPI call sites with the computation before
    /// them; by default call paths, where there are enough samples
    #[arg(long, value_name = "REGIONS", value_parser = one_of(&KINDS))]
    by: Option<Kind>,
}

/// Kind of the regions of an experiment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    /// Call paths of functions, and MPI calls.
    CallPath,
    /// MPI call sites with the computation before them.
    CallSite,
}

const KINDS: [(&str, &str, Kind); 2] = [
    ("call-path", "Functions by their callers, and MPI calls", Kind::CallPath),
    ("call-site", "MPI calls with the computation before them", Kind::CallSite),
];

/// Formats of measurements.
const FORMATS: [(&str, &str, Format); 9] = [
    ("text", "Extra-P's text", Format::Text),
    ("json", "Extra-P's JSON", Format::Json),
    ("jsonl", "Extra-P's JSON Lines, as `sintonia experiment` writes them", Format::JsonLines),
    ("talpas", "Lines of Talpas", Format::Talpas),
    ("csv", "Table with a heading", Format::Csv),
    ("hyperfine", "JSON of `hyperfine --export-json` with parameters", Format::Hyperfine),
    ("talp", "JSON of TALP, one object for each run", Format::Talp),
    ("caliper", "Profiles of Caliper, one for each run", Format::Caliper),
    ("thicket", "JSON of `Thicket.to_json()`", Format::Thicket),
];

impl InputOptions {
    /// Takes these columns as parameters unless some were named.
    pub(crate) fn with_parameters(mut self, names: &[&str]) -> Self {
        if self.parameter.is_empty() {
            self.parameter = names.iter().map(|name| (*name).to_owned()).collect();
        }
        self
    }

    fn columns(&self) -> Columns {
        Columns {
            parameters: (!self.parameter.is_empty()).then(|| self.parameter.clone()),
            value: self.value.clone(),
            region: self.region_column.clone(),
            metric: self.metric_column.clone(),
        }
    }
}

/// File that was read.
#[derive(Debug)]
pub(crate) struct InputFile {
    /// Name for messages.
    pub(crate) name: String,
    text: String,
    /// True if it lies in the folder of an experiment (`sintonia experiment`).
    is_of_experiment: bool,
    /// Runs of the files, if it is a folder of other tools.
    runs: Option<RunFiles>,
}

/// Reads a file; `-` is standard input, and a folder is that of `sintonia experiment`, or of files of Caliper, Score-P or
/// TALP.
///
/// # Errors
/// If there is none, or it holds no text.
pub(crate) fn open(path: &Path) -> anyhow::Result<InputFile> {
    if path == Path::new("-") {
        let name = "standard input".to_owned();
        let read =
            bounded_read::read_from(std::io::stdin().lock(), bounded_read::MEASURED_BYTES_MAX);
        let bytes = read.map_err(|error| anyhow!(not_read(&name, error)))?;
        let text = text_of(&name, &bytes)?;
        return Ok(InputFile { text, name, is_of_experiment: false, runs: None });
    }
    if path.is_dir() && !path.join(OF_EXPERIMENT).exists() {
        let name = format!("`{}`", path.display());
        let runs = run_folder::read(path).map_err(|error| anyhow!(not_read(&name, error)))?;
        if runs.is_some() {
            return Ok(InputFile { text: String::new(), name, is_of_experiment: false, runs });
        }
    }
    let is_of_experiment = path.is_dir();
    let path = if is_of_experiment { path.join(OF_EXPERIMENT) } else { path.to_owned() };
    let name = format!("`{}`", path.display());
    let bytes = bounded_read::read(&path, bounded_read::MEASURED_BYTES_MAX).map_err(|error| {
        let remedy = if is_of_experiment {
            "name a folder that `sintonia experiment` wrote or with files of Caliper, Score-P or TALP, or a file"
        } else {
            "name a file of measurements or models"
        };
        anyhow!(not_read(&name, format!("{error}; {remedy}")))
    })?;
    if run_folder::is_cube(&path) {
        let runs = Some(run_folder::of_cube(&path, &bytes));
        return Ok(InputFile { text: String::new(), name, is_of_experiment, runs });
    }
    Ok(InputFile { text: text_of(&name, &bytes)?, name, is_of_experiment, runs: None })
}

/// Reads a file of new measurements: in a folder, those that were kept back, if any.
///
/// # Errors
/// As [`open`].
pub(crate) fn open_new(path: &Path) -> anyhow::Result<InputFile> {
    let kept_back = path.join(KEPT_BACK);
    open(if kept_back.is_file() { &kept_back } else { path })
}

/// Decodes bytes as text; an error names what the file seems to be instead.
fn text_of(name: &str, bytes: &[u8]) -> anyhow::Result<String> {
    let what = match bytes {
        [0x1f, 0x8b, ..] => {
            "it is compressed: unpack it with `gunzip`, or let its name end with `.cubex` if Score-P wrote it"
        }
        [b'P', b'K', ..] => {
            "it is an archive, perhaps an experiment that Extra-P saved: export it from there as JSON"
        }
        _ => {
            "it is not text in UTF-8: give measurements as text, JSON, JSON Lines, CSV or profiles of Caliper, and let the names of CUBE files end with `.cubex`"
        }
    };
    let text = bounded_read::text(bytes).filter(|text| !text.contains('\0'));
    text.ok_or_else(|| anyhow!(not_read(name, what)))
}

impl InputFile {
    /// True if the file is meant to hold models.
    pub(crate) fn is_of_models(&self) -> bool {
        ModelFile::is_meant(&self.text)
    }

    /// Models of the file.
    ///
    /// # Errors
    /// If it has none, or was cut off.
    pub(crate) fn models(&self) -> anyhow::Result<ModelFile> {
        let file =
            ModelFile::read(&self.text).map_err(|error| anyhow!(not_read(&self.name, error)))?;
        ensure!(
            !file.models.is_empty(),
            not_read(&self.name, "it holds no model: fit some with `sintonia fit -o`")
        );
        Ok(file)
    }

    /// Measurements of the file; warns of lines that cannot be used.
    ///
    /// # Errors
    /// If nothing of it can be used, or options do not belong to its format.
    pub(crate) fn measured(&self, options: &InputOptions) -> anyhow::Result<Measurements> {
        self.measured_for(options, None)
    }

    /// Measurements of the file in the regions of these models, as far as it has them.
    ///
    /// # Errors
    /// As [`InputFile::measured`].
    pub(crate) fn measured_for(
        &self,
        options: &InputOptions,
        models: Option<&ModelFile>,
    ) -> anyhow::Result<Measurements> {
        if self.is_of_models() {
            let remedy = "these are models: name the measurements that they were made of";
            return Err(anyhow!(not_read(&self.name, remedy)));
        }
        let columns = options.columns();
        let format = options.format.unwrap_or_else(|| Format::of(&self.text));
        if format == Format::Csv && self.runs.is_none() {
            return self.judge(csv::read(&self.text, &columns));
        }
        let is_of_runs = self.runs.is_some() || RunFiles::are_of(format);
        let named = if is_of_runs {
            Columns { parameters: None, region: None, ..columns.clone() }
        } else {
            columns.clone()
        };
        ensure_option!(
            named == Columns::default(),
            "{} is not CSV, and only that has columns to name",
            self.name
        );
        let reading = match &self.runs {
            Some(runs) => runs.reading(&columns),
            None if is_of_runs => format.runs(&self.text).reading(&columns),
            None => format.read(&self.text),
        };
        if options.by == Some(Kind::CallSite) {
            return self.judge(reading);
        }
        let known = models.map(|file| file.models.iter().map(|it| &it.region[..]).collect());
        self.judge(reading.by_call_path(known.as_ref()))
    }

    fn judge(&self, reading: Reading) -> anyhow::Result<Measurements> {
        let Reading { measured, problems, notes, .. } = reading;
        let mut points = measured.series.iter().flat_map(|series| &series.points);
        if points.all(|point| point.values.is_empty()) {
            let nothing =
                "it holds no measurement: give at least a line with parameters and a value";
            let what = problems.first().map_or_else(|| nothing.to_owned(), ToString::to_string);
            return Err(anyhow!(not_read(&self.name, what)));
        }
        for note in notes {
            eprintln!("sintonia: {}: {note}", self.name);
        }
        for problem in problems.iter().take(N_SHOWN) {
            eprintln!("sintonia: {}: {problem}; left out", self.name);
        }
        if let Some(n_more @ 1..) = problems.len().checked_sub(N_SHOWN) {
            eprintln!("sintonia: {}: {n_more} more of its lines were left out", self.name);
        }
        Ok(measured)
    }

    /// Program that was measured, from the folder of `sintonia experiment`.
    pub(crate) fn program(&self, path: &Path) -> Option<String> {
        let journal = self.is_of_experiment.then(|| path.join("experiment.json"))?;
        let text = bounded_read::read_text(&journal, bounded_read::MEASURED_BYTES_MAX).ok()?;
        let value: serde_json::Value = serde_json::from_str(&text).ok()?;
        Some(value.get("program")?.as_str()?.to_owned())
    }
}

/// Reads models from a file of models; or fits them to a file of measurements as `sintonia fit` does without options.
///
/// `names` are parameters that will be asked for: they are the parameter columns of a table that has them.
///
/// # Errors
/// If the file is neither, or no region can be modeled.
pub(crate) fn models(path: &Path, names: &[&str]) -> anyhow::Result<ModelFile> {
    let text = open(path)?;
    if text.is_of_models() {
        return text.models();
    }
    let plain = InputOptions::default();
    let measured = match text.measured(&plain.clone().with_parameters(names)) {
        Ok(measured) => measured,
        Err(_) => text.measured(&plain)?,
    };
    let (mut used, mut settings) = (measured, fitting::Settings::default());
    settings.known.regimes = used.regimes();
    settings.samples = fitting::runs::leave_out(&mut used, settings.samples);
    let mut models = Vec::new();
    for fitted in fitting::fit(&used, &settings) {
        match fitted {
            Ok(model) => models.push(model),
            Err(error) => eprintln!("sintonia: {}: {error}", text.name),
        }
    }
    ensure!(!models.is_empty(), not_read(&text.name, "no region can be modeled"));
    eprintln!("sintonia: {} holds measurements; models were fitted to them", text.name);
    Ok(ModelFile::of(models))
}
