//! `sintonia predict RUN --engine`: evaluates a recorded run on another machine, by max-plus composition and by SimGrid.
//!
//! Both take the same input: the time-independent trace that `sintonia export --format simgrid` writes, and one machine.
//!
//! # Not here
//! The evaluation (`program_graph::compose`); models over size and processes (`predict`).

mod output;
mod smpi;

use super::options::{Engine, EngineOptions, Options, PredictOutputOptions};
use super::what_if::{Scale, scale_run};
use anyhow::{Context, ensure};
use export::{NonblockingPlace, SimgridOptions};
use output::EngineResult;
use program_graph::compose::machine::NAMES;
use program_graph::compose::{Machine, Network, RankPrograms, TraceReader, evaluate};
use run_record::{RunRecord, Summary};
use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use tempfile::TempDir;
use user_io::exit::{BadOption, NotWritten};
use user_io::{bounded_read, ensure_option};

/// Evaluates the run and shows the result.
pub(super) fn predict(
    run: &Path,
    options: &EngineOptions,
    scales: &[Scale],
    output: &PredictOutputOptions,
) -> anyhow::Result<ExitCode> {
    let mut input = Input::read(run, options)?;
    if !scales.is_empty() {
        ensure_option!(
            options.engine != Some(Engine::Smpi) && !run.join(INDEX).is_file(),
            "`--scale` takes the samples of a run, and is for `--engine composed`"
        );
        let record = RunRecord::open(run)?;
        let summary = record.read_summary()?;
        scale_run(&mut input.program, &record, (&summary, options.world), scales)?;
    }
    let (machine_name, mut machine) = match &options.machine {
        None => default_machine(input.n_nodes),
        named => machine_of(named.as_deref(), options.ranks_per_node)?,
    };
    machine.nodes.clone_from(&input.nodes);
    input.notes.extend(let_it_end(&input.program, &mut machine));
    let total_s = |machine: &Machine| evaluate(&input.program, machine).map(|it| it.total_s);
    let composed = evaluate(&input.program, &machine).context("the run cannot be composed")?;
    let limits_s = match machine.at_limits() {
        Some([low, high]) => Some([total_s(&low)?, total_s(&high)?]),
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

/// Lengths in bytes up to which messages are sent without asking the receiver, if the ranks wait for each other otherwise:
/// the usual limit, and none.
const EAGER_BYTES: [u64; 2] = [65_536, u64::MAX];

/// Raises the eager limit of the machine until the program ends, as it did when it ran; returns what to say of that.
///
/// The limit of a measured network is a guess, from a step in the times of messages.
fn let_it_end(program: &RankPrograms, machine: &mut Machine) -> Option<String> {
    let ends = |machine: &Machine| evaluate(program, machine).is_ok();
    if ends(machine) {
        return None;
    }
    let mut raised = machine.clone();
    for n_bytes in EAGER_BYTES {
        raised.raise_eager(n_bytes);
        if ends(&raised) {
            let before = machine.network.eager_bytes;
            *machine = raised;
            let up_to = if n_bytes == u64::MAX {
                "all".to_owned()
            } else {
                format!("up to {n_bytes} bytes")
            };
            return Some(format!(
                "messages ({up_to}) are sent without waiting for the receiver: with the network's limit of {before} bytes \
                 the ranks would wait for each other, which they did not when they ran"
            ));
        }
    }
    None
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
    for (name, is_given) in unsupported {
        ensure_option!(
            !is_given,
            "`{name}` asks models, and `--engine` and `--machine` a recorded run; with `--graph` models are composed on \
             a machine"
        );
    }
    Ok(())
}

/// Name of the machine that was asked for, and the machine.
pub(super) fn machine_of(
    name: Option<&str>,
    ranks_per_node: Option<u32>,
) -> anyhow::Result<(&str, Machine)> {
    let (name, mut machine) = match name {
        Some(name) => (name, machine(name)?),
        None => default_machine(1),
    };
    machine.ranks_per_node = ranks_per_node.map(|n| n as usize).or(machine.ranks_per_node);
    Ok((name, machine))
}

/// Reads a machine from a file; without such a file, takes the described machine of this name.
fn machine(name: &str) -> anyhow::Result<Machine> {
    let text = match bounded_read::read_text(name.as_ref(), bounded_read::WRITTEN_BYTES_MAX) {
        Ok(text) => text,
        Err(error) => {
            let known = NAMES.iter().map(|(name, ..)| *name).collect::<Vec<_>>().join("`, `");
            let wrong = || format!("`--machine {name}` is neither a file nor `{known}`");
            let named = Machine::named(name).ok_or(error).with_context(wrong);
            return named.context(BadOption);
        }
    };
    let wrong = || format!("`{name}` describes no machine");
    Machine::read(&text).with_context(wrong).context(BadOption)
}

/// Machine on which a run is evaluated by default.
fn default_machine(n_nodes: usize) -> (&'static str, Machine) {
    let named = |name| Machine::named(name).expect("it is one of the described machines");
    let inside = named("shared-memory");
    if n_nodes <= 1 {
        return ("shared-memory", inside);
    }
    let inside = Some(inside.network);
    ("ethernet-10g, shared-memory inside nodes", Machine { inside, ..named("ethernet-10g") })
}

/// File that lists the files of a time-independent trace.
const INDEX: &str = "trace.txt";

/// Run to evaluate.
struct Input {
    program: RankPrograms,
    /// Folder of `trace.txt`.
    dir: PathBuf,
    /// Folder into which a platform may be written.
    scratch: PathBuf,
    /// Rate by which the trace counts computation.
    flops_per_s: f64,
    n_nodes: usize,
    /// Node of each rank, as far as it is known.
    nodes: Vec<u32>,
    /// Time that the run took, where that is known.
    measured_s: Option<f64>,
    /// Sentences about what the trace does not hold.
    notes: Vec<String>,
    /// Folder of the trace; removed with this value.
    _temporary: Option<TempDir>,
}

impl Input {
    /// Reads a record, or a folder with a trace that was exported before.
    fn read(run: &Path, options: &EngineOptions) -> anyhow::Result<Self> {
        let SimgridOptions { flops_per_s, .. } = SimgridOptions::default();
        let (scratch, temporary) = match &options.keep {
            Some(dir) => {
                let name = || format!("`{}`", dir.display());
                fs::create_dir_all(dir).context(NotWritten).with_context(name)?;
                (dir.clone(), None)
            }
            None => {
                let temporary = tempfile::tempdir().context(NotWritten)?;
                (temporary.path().to_owned(), Some(temporary))
            }
        };
        if run.join(INDEX).is_file() {
            return Ok(Self {
                program: program(run, flops_per_s)?,
                dir: run.to_owned(),
                scratch,
                flops_per_s,
                n_nodes: 1,
                nodes: Vec::new(),
                measured_s: None,
                notes: Vec::new(),
                _temporary: temporary,
            });
        }
        let record = RunRecord::open(run)?;
        let (program, mut notes) = replayed(&record, &scratch, options.world, flops_per_s)?;
        // The first note says how to replay the trace.
        notes.retain(|note| !note.starts_with("replay it"));
        let summary = record.read_summary()?;
        Ok(Self {
            program,
            dir: scratch.clone(),
            scratch,
            flops_per_s,
            n_nodes: summary.n_nodes,
            nodes: nodes(&summary, options.world),
            measured_s: (0.0 < summary.elapsed_s).then_some(summary.elapsed_s),
            notes,
            _temporary: temporary,
        })
    }
}

/// Writes the trace of a record, and reads its program, with nonblocking collectives at the first place at which no rank
/// waits forever.
fn replayed(
    record: &RunRecord,
    dir: &Path,
    world: u32,
    flops_per_s: f64,
) -> anyhow::Result<(RankPrograms, Vec<String>)> {
    use NonblockingPlace::{Completion, Nowhere, Start};
    let at = |nonblocking| {
        let choice = SimgridOptions { world, flops_per_s, nonblocking };
        let notes = export::simgrid(record, dir, &choice)?;
        anyhow::Ok((program(dir, flops_per_s)?, notes))
    };
    let mut machine = Machine::of(Network::uniform(0.0, 0.0));
    // Long messages that wait for their receivers are another matter (`let_it_end`).
    machine.raise_eager(u64::MAX);
    for place in [Completion, Start] {
        let replayed = at(place)?;
        if evaluate(&replayed.0, &machine).is_ok() {
            return Ok(replayed);
        }
    }
    at(Nowhere)
}

/// Returns the node of each rank of a world.
fn nodes(summary: &Summary, world: u32) -> Vec<u32> {
    let mut names: Vec<&str> = Vec::new();
    let mut of_ranks: BTreeMap<u32, u32> = BTreeMap::new();
    for rank in summary.ranks.iter().filter(|rank| u32::try_from(rank.world) == Ok(world)) {
        let known = names.iter().position(|name| *name == rank.node);
        let node = known.unwrap_or_else(|| {
            names.push(&rank.node);
            names.len() - 1
        });
        of_ranks.insert(rank.rank, u32::try_from(node).unwrap_or(u32::MAX));
    }
    of_ranks.into_values().collect()
}

/// Reads the files that the index names.
fn program(dir: &Path, flops_per_s: f64) -> anyhow::Result<RankPrograms> {
    let read = |path: &Path| {
        bounded_read::read_text(path, bounded_read::MEASURED_BYTES_MAX)
            .with_context(|| format!("`{}` cannot be read", path.display()))
    };
    let index = read(&dir.join(INDEX))?;
    let names: Vec<&str> = index.lines().map(str::trim).filter(|line| !line.is_empty()).collect();
    ensure!(!names.is_empty(), "`{}` names no files", dir.join(INDEX).display());
    let mut reader = TraceReader::new(names.len(), flops_per_s);
    for file in names {
        reader.read(file, &read(&dir.join(file))?)?;
    }
    Ok(reader.finish())
}
