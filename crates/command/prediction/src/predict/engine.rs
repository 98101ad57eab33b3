//! `sintonia predict RUN --engine`: evaluates a recorded run on another machine, by max-plus composition and by SimGrid.
//!
//! Both take the same input: the time-independent trace that `sintonia export --format simgrid` writes, and one machine.
//!
//! # Not here
//! The evaluation (`program_graph::compose`); models over size and processes (`predict`).

mod input;
mod output;
mod smpi;

use super::options::{Engine, EngineOptions, Options, PredictOutputOptions};
use anyhow::{Context, anyhow};
use input::Input;
use output::EngineResult;
use program_graph::compose::machine::{MachineError, NAMES};
use program_graph::compose::{Machine, evaluate};
use std::path::Path;
use std::process::ExitCode;
use user_io::exit::BadOption;

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
    let text = if output.json {
        format!("{:#}\n", output::as_json(&result))
    } else {
        output::text(&result)
    };
    user_io::print::result(&text)
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
    let text = match user_io::bounded_read::read_text(
        name.as_ref(),
        user_io::bounded_read::WRITTEN_BYTES_MAX,
    ) {
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
