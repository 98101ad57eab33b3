//! `sintonia simulate chunking`: simulates how long each policy would take for described tasks.

use ::chunking::{PolicySpec, by_name};
use anyhow::{Context, ensure};
use clap::Args;
use clap::builder::PossibleValuesParser;
use display::bars::filled;
use display::chart::{Bars, COLORS, Gantt, bars};
use display::table::Table;
use display::units::plural;
use serde::Deserialize;
use serde_json::{Value, json};
use simulator::chunking::{
    Block, ChunkSpan, ChunkingResults, Distribution, Machine, Scenario, Slowdown, Workload,
    simulate,
};
use std::path::PathBuf;
use std::process::ExitCode;
use user_io::exit::BadOption;
use user_io::option_value::positive;
use user_io::{bounded_read, ensure_option, result_file};

/// Name that stands for all policies.
const ALL: &str = "all";
/// Most tasks, summed over all iterations, for a policy that deals tasks one by one.
const N_TASKS_MAX: u64 = 1_000_000_000;

const EXAMPLES: &str = "\
Examples:
  sintonia simulate chunking --workers 7 --tasks 100000 --task-ms 1 --overhead-us 50
  sintonia simulate chunking --block 0.3:0.4:3 --plot policies.svg
  sintonia simulate chunking --policy best,gss --slow 3:2@0.5
  sintonia simulate chunking --distribution lognormal:1,2 --seed 7 --iterations 20
  sintonia simulate chunking --tasks-file times.txt --json | jq '.[] | .makespan_over_ideal'

The ideal is all work split so that all workers end together, without overhead; a worker that slows down \
slows down in it too. `fsc` and `fac` were published for known times, and are told the overhead, and mean and \
deviation of the tasks; all other policies have to measure.";

/// Compare policies that deal tasks to workers
///
/// A master deals the tasks in chunks, in their order unless the policy learns a better one; a worker that returns one gets the next. Policies:
/// `best` (the default of the master/worker library), `static`, `ss`, `fsc`, `gss`, `tss`, `fac`, `fac2`,
/// `dpf`, `daf`, `awf-b`, `awf-c`.
#[derive(Args, Debug)]
#[command(after_help = EXAMPLES)]
pub(crate) struct ChunkingOptions {
    /// Policies, separated by commas
    #[arg(
        long,
        value_name = "NAME|all",
        value_delimiter = ',',
        default_value = ALL,
        hide_possible_values = true,
        value_parser = names()
    )]
    policy: Vec<String>,
    #[command(flatten)]
    tasks: Tasks,
    #[command(flatten)]
    machine: MachineOptions,
    /// Iterations with the same tasks; a policy may learn from one to the next
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..=100_000))]
    iterations: u32,
    /// Tasks in the smallest chunk
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u64).range(1..))]
    min_chunk: u64,
    /// Print a list of objects as JSON
    #[arg(long)]
    json: bool,
    /// Write a picture: policies against the ideal, and the workers' chunks if there is one policy only
    #[arg(long, value_name = "FILE.svg")]
    plot: Option<PathBuf>,
}

#[derive(Args, Debug)]
struct Tasks {
    /// Measured times of tasks: a line for each, in ms (what follows `#` is skipped), or the report that a
    /// master/worker program wrote with `--report FILE`, of which the slowest iteration is taken
    #[arg(long, value_name = "FILE", conflicts_with_all = ["tasks", "task_ms", "distribution", "block"])]
    tasks_file: Option<PathBuf>,
    /// Number of tasks
    #[arg(long, value_name = "N", default_value_t = 100_000, value_parser = clap::value_parser!(u64).range(1..=10_000_000))]
    tasks: u64,
    /// Time of a task
    #[arg(long, value_name = "MS", default_value_t = 1.0, allow_negative_numbers = true, value_parser = positive)]
    task_ms: f64,
    /// Distribution of the times of tasks instead: uniform:LOW,HIGH, exponential:MEAN, or normal, gamma or
    /// lognormal:MEAN,DEVIATION, in ms
    #[arg(long, value_name = "NAME:NUMBERS", conflicts_with = "task_ms")]
    distribution: Option<Distribution>,
    /// Tasks that take FACTOR times as long; START and LENGTH are shares of the tasks; may be given several times
    #[arg(long, value_name = "START:LENGTH:FACTOR")]
    block: Vec<Block>,
    /// Seed of random times
    #[arg(long, value_name = "S", default_value_t = 1)]
    seed: u64,
}

#[derive(Args, Debug)]
struct MachineOptions {
    /// Number of workers
    #[arg(long, value_name = "N", default_value_t = 7, value_parser = clap::value_parser!(u32).range(1..=100_000))]
    workers: u32,
    /// Time that a chunk costs its worker in addition to computing
    #[arg(long, value_name = "US", default_value_t = 50.0, allow_negative_numbers = true, value_parser = not_negative)]
    overhead_us: f64,
    /// Time that a chunk keeps the master busy, which serves one worker at a time
    #[arg(long, value_name = "US", default_value_t = 0.0, allow_negative_numbers = true, value_parser = not_negative)]
    serve_us: f64,
    /// Let workers ask for the next chunk so early that it is there when the present one ends
    #[arg(long)]
    prefetch: bool,
    /// Worker, counted from 0, that takes FACTOR times as long from a FRACTION of the ideal time on; may be given
    /// several times
    #[arg(long, value_name = "WORKER:FACTOR@FRACTION", allow_hyphen_values = true)]
    slow: Vec<Slowdown>,
}

fn names() -> PossibleValuesParser {
    let policies = ::chunking::all().iter().map(|spec| spec.name);
    PossibleValuesParser::new([ALL].into_iter().chain(policies))
}

fn not_negative(text: &str) -> Result<f64, String> {
    let number = text.parse().ok().filter(|number: &f64| number.is_finite() && 0.0 <= *number);
    number.ok_or_else(|| "write a number that is not negative".to_owned())
}

/// Simulates the policies and shows how close to the ideal they come.
pub(crate) fn chunking(options: &ChunkingOptions) -> anyhow::Result<ExitCode> {
    let scenario = scenario(options)?;
    let specs = specs(&options.policy);
    let mut spans = Vec::new();
    let is_drawn = options.plot.is_some() && specs.len() == 1;
    let keep = &mut |span: ChunkSpan| {
        if is_drawn {
            spans.push(span);
        }
    };
    let outcomes: Vec<ChunkingResults> =
        specs.iter().map(|spec| simulate(&scenario, spec, keep)).collect();
    if let Some(path) = &options.plot {
        let drawn = picture(&heading(&scenario), &outcomes, &spans);
        result_file::write(path, &drawn)?;
    }
    let text = if options.json { as_json(&outcomes) } else { table(&scenario, &outcomes) };
    user_io::print::result(&text)
}

fn scenario(options: &ChunkingOptions) -> anyhow::Result<Scenario> {
    let asked = &options.machine;
    let machine = Machine {
        serve_s: asked.serve_us / 1e6,
        prefetch: asked.prefetch,
        slowdowns: asked.slow.clone(),
        ..Machine::new(asked.workers, asked.overhead_us / 1e6)
    };
    machine.check().context(BadOption)?;
    let workload = workload(&options.tasks)?;
    let n_tasks = workload.n_tasks().saturating_mul(options.iterations.into());
    let (n_iterations, n_tasks_min) = (options.iterations, options.min_chunk);
    ensure_option!(
        n_tasks <= N_TASKS_MAX,
        "`--iterations {n_iterations}` of {} tasks are too many",
        workload.n_tasks()
    );
    Ok(Scenario { workload, later: Vec::new(), machine, n_iterations, n_tasks_min })
}

fn workload(tasks: &Tasks) -> anyhow::Result<Workload> {
    if let Some(path) = &tasks.tasks_file {
        let name = || format!("`{}`", path.display());
        let text = bounded_read::read_text(path, bounded_read::MEASURED_BYTES_MAX);
        return measured(&text.with_context(name)?, &name()).with_context(name);
    }
    let distribution = tasks.distribution.unwrap_or(Distribution::Constant { ms: tasks.task_ms });
    let drawn = Workload::drawn(tasks.tasks, distribution, &tasks.block, tasks.seed);
    drawn.context(BadOption)
}

/// Tasks of the slowest iteration in a report that a program wrote, or tasks given one to a line.
///
/// A report may leave chunks out; this is printed, and the missing tasks are assumed to be like the others.
fn measured(text: &str, name: &str) -> anyhow::Result<Workload> {
    #[derive(Deserialize)]
    struct Report {
        slowest: Option<Slowest>,
    }
    #[derive(Deserialize)]
    struct Slowest {
        chunks: Vec<Chunk>,
        #[serde(default)]
        n_tasks: u64,
        #[serde(default)]
        n_chunks_left_out: u64,
    }
    #[derive(Deserialize)]
    struct Chunk {
        #[serde(default)]
        first: u64,
        n_tasks: u64,
        began_s: f64,
        ended_s: f64,
    }
    if !text.trim_start().starts_with('{') {
        return Ok(Workload::from_trace(text)?);
    }
    ensure!(
        checked_json::check(text.as_bytes()).is_ok(),
        "it was changed after it was written; run the program again, or remove its `checksum` to read it as it is"
    );
    let report: Report = serde_json::from_str(text)
        .context("this is not a report that a master/worker program wrote with `--report FILE`")?;
    let mut slowest = report.slowest.context("it has no iteration whose chunks are listed")?;
    // Reports that do not say where chunks begin list them in the order of tasks.
    slowest.chunks.sort_by_key(|chunk| chunk.first);
    let chunks = slowest.chunks.iter().map(|chunk| (chunk.n_tasks, chunk.ended_s - chunk.began_s));
    let workload = Workload::of_chunks(&chunks.collect::<Vec<_>>(), slowest.n_tasks)?;
    if 0 < slowest.n_chunks_left_out {
        let n_listed = slowest.chunks.len() as u64;
        let n_chunks = n_listed.saturating_add(slowest.n_chunks_left_out);
        let n_tasks: u64 = slowest.chunks.iter().map(|chunk| chunk.n_tasks).sum();
        eprintln!(
            "sintonia: {name}: only {n_listed} of {n_chunks} chunks are listed, with {n_tasks} of {} tasks; the others \
             are taken to be like these",
            workload.n_tasks()
        );
    }
    Ok(workload)
}

fn specs(names: &[String]) -> Vec<&'static PolicySpec> {
    let is_wanted = |spec: &&PolicySpec| names.iter().any(|name| name == ALL || name == spec.name);
    ::chunking::all().iter().filter(is_wanted).collect()
}

fn as_json(outcomes: &[ChunkingResults]) -> String {
    let outcomes = outcomes.iter().map(|outcome| {
        json!({
            "policy": outcome.policy,
            "makespan_s": outcome.makespan_s,
            "ideal_s": outcome.ideal_s,
            "makespan_over_ideal": outcome.makespan_over_ideal(),
            "n_chunks": outcome.n_chunks,
            "first_iteration_s": outcome.first_iteration_s,
            "last_iteration_s": outcome.last_iteration_s,
        })
    });
    format!("{:#}\n", Value::from(outcomes.collect::<Vec<_>>()))
}

/// Most lanes; further workers are not drawn.
const N_LANES_MAX: usize = 64;

/// Draws the picture as SVG, with lanes if there are spans.
fn picture(heading: &str, outcomes: &[ChunkingResults], spans: &[ChunkSpan]) -> String {
    let names: Vec<String> = outcomes.iter().map(|outcome| outcome.policy.to_owned()).collect();
    let ratios = outcomes.iter().map(ChunkingResults::makespan_over_ideal);
    let ratios = Bars {
        title: "makespan / ideal".to_owned(),
        values: ratios.map(|ratio| (ratio, format!("{ratio:.4}"))).collect(),
        mark: Some((1.0, "ideal = 1".to_owned())),
        color: COLORS[0],
    };
    let n_workers = spans.iter().map(|span| span.worker as usize + 1).max().unwrap_or(0);
    let lane = |worker: usize| {
        let its = spans.iter().filter(|span| span.worker as usize == worker);
        its.map(|span| [span.start_s, span.end_s]).collect()
    };
    let end_s = outcomes.first().map_or(0.0, |outcome| outcome.makespan_s);
    let lanes = (0..n_workers.min(N_LANES_MAX)).map(lane).collect();
    bars(heading, &names, &[ratios], &Gantt { lanes, end_s })
}

/// Length of the longest bar, in columns.
const N_COLUMNS: usize = 24;

/// Sentence about the scenario.
fn heading(scenario: &Scenario) -> String {
    let (n_tasks, work_s) = (scenario.workload.n_tasks(), scenario.workload.work_s());
    let times = match scenario.n_iterations {
        1 => String::new(),
        n => format!("{n} iterations of "),
    };
    let tasks = plural(n_tasks, "task");
    let workers = plural(scenario.machine.n_workers, "worker");
    let ideal_s = scenario.ideal_s();
    format!("{times}{tasks}, {work_s:.3} s, on {workers}: ideally {ideal_s:.3} s")
}

/// Table with a line for each policy, and bars for the loss against the ideal.
fn table(scenario: &Scenario, outcomes: &[ChunkingResults]) -> String {
    let mut sorted: Vec<&ChunkingResults> = outcomes.iter().collect();
    sorted.sort_by(|some, other| some.makespan_s.total_cmp(&other.makespan_s));
    let lost = |outcome: &ChunkingResults| (outcome.makespan_over_ideal() - 1.0).max(0.0);
    let most = outcomes.iter().map(lost).fold(1e-9, f64::max);
    let is_repeated = 1 < scenario.n_iterations;
    let seconds = |time_s: f64| format!("{time_s:.4} s");
    let table = Table::new(sorted)
        .left("POLICY", |it| it.policy)
        .right("MAKESPAN", |it| seconds(it.makespan_s))
        .right("/ IDEAL", |it| format!("{:.4}", it.makespan_over_ideal()))
        .right("CHUNKS", |it| it.n_chunks.to_string())
        .right("FIRST", |it| seconds(it.first_iteration_s))
        .when(is_repeated)
        .right("LAST", |it| seconds(it.last_iteration_s))
        .when(is_repeated)
        .left("LOST", |it| filled(lost(it) / most, N_COLUMNS));
    let policies = Table::new(table.rows())
        .left("", |it| it.policy)
        .left("", |it| by_name(it.policy).map_or("", |spec| spec.sentence));
    format!("{}\n\n{table}\n{policies}", heading(scenario))
}
