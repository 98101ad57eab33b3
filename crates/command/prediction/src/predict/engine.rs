//! `sintonia predict RUN --engine`: evaluates a recorded run on another machine, by max-plus composition and by SimGrid.
//!
//! Both take the same input: the time-independent trace that `sintonia export --format simgrid` writes, and one machine.
//!
//! # Not here
//! The evaluation (`program_graph::compose`); models over size and processes (`predict`).

mod input;
mod list;
mod smpi;
mod text;

use super::{Options, PredictOutputOptions};
use anyhow::{Context, anyhow};
use clap::{Args, ValueEnum};
use input::Input;
use program_graph::compose::machine::{MachineError, NAMES};
use program_graph::compose::{Machine, Outcome, evaluate};
use serde::Serialize;
use smpi::Replay;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use user_io::exit::BadOption;

/// Engines that evaluate a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, ValueEnum)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Engine {
    /// Sintonia's max-plus evaluation
    Composed,
    /// SimGrid's replay (`smpirun`), beside that evaluation
    Smpi,
}

/// A recorded run instead of models.
#[derive(Args, Debug)]
#[command(next_help_heading = "A traced run, on the same or another machine")]
pub(crate) struct EngineOptions {
    /// Engine that evaluates a traced run, given in place of MODELS, or a folder with `trace.txt`; by default
    /// `composed`
    #[arg(long, value_name = "ENGINE")]
    engine: Option<Engine>,
    /// Machine to predict for: a file of `sintonia netbench --json`, a description in TOML, or `ethernet-1g`,
    /// `ethernet-10g`, `infiniband-hdr`, `shared-memory`, `ideal`
    #[arg(long, value_name = "FILE")]
    pub(super) machine: Option<String>,
    /// Number of the world, if the run has several
    #[arg(long, value_name = "NUMBER", default_value_t = 0, requires = "engine")]
    world: u32,
    /// Keep the trace and the platform in this folder
    #[arg(long, value_name = "DIR", requires = "engine")]
    keep: Option<PathBuf>,
    /// Time after which SimGrid is given up
    #[arg(long, value_name = "SECONDS", default_value_t = 300.0, requires = "engine", value_parser = seconds)]
    at_most: f64,
}

fn seconds(text: &str) -> Result<f64, String> {
    let time_s = text.parse().ok().filter(|time_s| (1e-3..=1e7).contains(time_s));
    time_s.ok_or_else(|| "write a number from 0.001 to 10000000".to_owned())
}

/// Results of an evaluation.
struct EngineResult<'a> {
    run: &'a Path,
    machine_name: &'a str,
    input: Input,
    engine: Engine,
    composed: Outcome,
    /// Total at either end of the network's intervals, where the network was measured, in s.
    limits_s: Option<[f64; 2]>,
    replay: Option<Replay>,
}

impl EngineOptions {
    /// True if a run is given instead of models.
    pub(super) fn is_wanted(&self) -> bool {
        self.engine.is_some() || self.machine.is_some()
    }
}

/// Evaluates the run and shows the result.
pub(super) fn predict(
    run: &Path,
    options: &EngineOptions,
    output: &PredictOutputOptions,
) -> anyhow::Result<ExitCode> {
    let input = Input::read(run, options)?;
    let (machine_name, machine) = match &options.machine {
        None => default_machine(input.n_nodes),
        named => machine_of(named.as_deref())?,
    };
    let total_s = |machine: &Machine| evaluate(&input.program, machine).map(|it| it.total_s);
    let composed = evaluate(&input.program, &machine).context("the run cannot be composed")?;
    let limits_s = match &machine.limits {
        Some([low, high]) => {
            let at = |network| Machine { network, limits: None, ..machine.clone() };
            Some([total_s(&at(low.clone()))?, total_s(&at(high.clone()))?])
        }
        None => None,
    };
    let engine = options.engine.unwrap_or(Engine::Composed);
    let replay = match engine {
        Engine::Composed => None,
        Engine::Smpi => Some(smpi::replay(&input, &machine, options.at_most)?),
    };
    let result = EngineResult { run, machine_name, input, engine, composed, limits_s, replay };
    let text =
        if output.json { format!("{:#}\n", list::as_json(&result)) } else { text::text(&result) };
    user_io::print::result(&text)?;
    Ok(ExitCode::SUCCESS)
}

/// Checks that no option for models is given: a run has no parameters and no models.
pub(super) fn check_alone(options: &Options) -> anyhow::Result<()> {
    let output = &options.output;
    let unsupported = [
        ("--set", !options.set.is_empty()),
        ("--metric", options.metric.is_some()),
        ("--region", !options.region.is_empty()),
        ("--best", options.best.parameter().is_some()),
        ("--csv", output.csv.is_some()),
        ("--plot", output.plot.is_some()),
        ("--cost", output.cost),
        ("--processes", output.processes.is_some()),
    ];
    let wrong = unsupported.iter().find(|(_, is_there)| *is_there);
    wrong.map_or(Ok(()), |(name, _)| {
        let text = format!(
            "`{name}` asks models, and `--engine` and `--machine` a recorded run; with `--graph` models are composed on \
             a machine"
        );
        Err(anyhow!(text).context(BadOption))
    })
}

/// Name of the machine that was asked for, and the machine.
pub(super) fn machine_of(name: Option<&str>) -> anyhow::Result<(&str, Machine)> {
    name.map_or_else(|| Ok(default_machine(1)), |name| Ok((name, machine(name)?)))
}

/// Reads a machine from a file; without such a file, takes the described machine of this name.
fn machine(name: &str) -> anyhow::Result<Machine> {
    let text = match user_io::files::read_text(name.as_ref(), user_io::files::WRITTEN_BYTES_MAX) {
        Ok(text) => text,
        Err(error) => {
            let names: Vec<&str> = NAMES.iter().map(|(name, ..)| *name).collect();
            let known = names.join("`, `");
            return Machine::named(name).ok_or_else(|| {
                anyhow!(error)
                    .context(format!("`--machine {name}` is neither a file nor `{known}`"))
                    .context(BadOption)
            });
        }
    };
    Machine::read(&text).map_err(|error: MachineError| {
        anyhow!(error).context(format!("`{name}` describes no machine")).context(BadOption)
    })
}

/// Machine on which a run is evaluated by default.
fn default_machine(n_nodes: usize) -> (&'static str, Machine) {
    let name = if n_nodes <= 1 { "shared-memory" } else { "ethernet-10g" };
    (name, Machine::named(name).expect("it is one of the described machines"))
}
