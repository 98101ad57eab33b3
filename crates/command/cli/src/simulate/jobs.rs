//! `sintonia simulate jobs`: how long the tasks of a job file will take, by the code of the node daemon.

use ::balancing_policies::Policy;
use anyhow::Context;
use clap::Args;
use display::chart::{Bars, COLORS, Gantt, bars};
use display::table::Table;
use display::units::plural;
use serde_json::{Value, json};
use simulator::balance::Durations;
use simulator::jobs::{
    EntryDependency, JobEntry, JobNode, JobProgress, JobResults, JobScenario, N_NODES_MAX,
    simulate_jobs,
};
use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Duration;
use task_api::Resources;
use task_client::submit_file::{GraphEntry, graph};
use user_io::exit::{BadOption, bad_option};
use user_io::option_value::{bytes, within};
use user_io::print::result;
use user_io::progress::ProgressLine;
use user_io::result_file;

/// Time between two updates of the progress.
const PROGRESS_EVERY: Duration = Duration::from_millis(200);
/// Most lanes and rows of the picture.
const N_DRAWN_MAX: usize = 64;

const EXAMPLES: &str = "\
Examples:
  sintonia simulate jobs pipeline.toml --nodes 4 --cores 16
  sintonia simulate jobs pipeline.toml --nodes 8 --cores 16,64 --memory 64G,512G --gpus 0,4
  sintonia simulate jobs pipeline.toml --task-s lognormal:30,1 --seed 7 --json
  sintonia simulate jobs pipeline.toml --nodes 4 --plot plan.svg

The file is one for `submit-file`. A task takes the time of its `expect`, or of `--task-s` where it has none, with what it \
asks for; no task fails. All are submitted to the first node at once. The longest chain of tasks that wait for each \
other, and all work over all cores, are bounds that no order comes below.
Exit codes: 1 when tasks would wait for ever, 2 when file or options are wrong.";

/// Say how long the tasks of a job file will take on given nodes
///
/// The code of the node daemon decides in simulated time what fits, what goes first and where it runs.
#[derive(Args, Debug)]
#[command(after_help = EXAMPLES)]
pub(crate) struct JobsOptions {
    /// Job file, as for `submit-file`
    #[arg(value_name = "FILE")]
    file: PathBuf,
    /// Number of nodes
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = |text: &str| within(text, 1..=N_NODES_MAX))]
    nodes: usize,
    /// Cores of the nodes, in turn
    #[arg(long, value_name = "N,..", value_delimiter = ',', default_value = "8", value_parser = |text: &str| within(text, 1..=65_536_u32))]
    cores: Vec<u32>,
    /// Memory of the nodes, in turn [default: enough]
    #[arg(long, value_name = "BYTES,..", value_delimiter = ',', value_parser = bytes)]
    memory: Vec<u64>,
    /// GPUs of the nodes, in turn [default: 0]
    #[arg(long, value_name = "N,..", value_delimiter = ',')]
    gpus: Vec<u32>,
    /// Pieces of a resource of your own on each node; may be given several times
    #[arg(long, value_name = "NAME=N", value_parser = resource)]
    resource: Vec<(String, u32)>,
    /// Speeds of the nodes' cores, in turn
    #[arg(long, value_name = "S,..", value_delimiter = ',', default_value = "1", value_parser = |text: &str| within(text, 1e-3..=1e3))]
    speeds: Vec<f64>,
    /// Time of a task that has no `expect`, as for `simulate balance`: seconds, exponential:MEAN, lognormal:MEDIAN,SIGMA
    /// or uniform:LOW,HIGH
    #[arg(long, value_name = "S", default_value = "60")]
    task_s: Durations,
    /// RULE or RULE@DOMAIN, as for `node start`
    #[arg(long, value_name = "POLICY", default_value_t = Policy::DEFAULT)]
    policy: Policy,
    /// Time of a message from node to node
    #[arg(long, value_name = "MS", default_value_t = 0.1, value_parser = |text: &str| within(text, 0.0..=60_000.0))]
    latency_ms: f64,
    /// Seed of all random numbers
    #[arg(long, value_name = "S", default_value_t = 1)]
    seed: u64,
    /// Print the result as a JSON object
    #[arg(long)]
    json: bool,
    /// Write a picture of when the entries run, and how busy the nodes are
    #[arg(long, value_name = "FILE.svg")]
    plot: Option<PathBuf>,
}

/// Simulates, and shows the result.
pub(crate) fn jobs(options: &JobsOptions) -> anyhow::Result<ExitCode> {
    let graph = graph(&options.file)?;
    let unknown = graph.iter().filter(|it| it.submission.demand.expect_ms.is_none());
    let unknown = unknown.map(|it| it.name.as_str()).collect::<Vec<_>>();
    let scenario = scenario(options, &graph);
    let mut progress_line = ProgressLine::every(PROGRESS_EVERY);
    let simulated = simulate_jobs(&scenario, &mut |progress| {
        progress_line.show(|| {
            let JobProgress { n_ended, n_tasks, now_s } = progress;
            format!("{n_ended} of {n_tasks} tasks, {now_s:.0} s")
        });
    });
    progress_line.clear();
    let results = simulated.map_err(|error| bad_option(error.to_string())).context(BadOption)?;
    if let Some(path) = &options.plot {
        result_file::write(path, &picture(options, &results))?;
    }
    let printed = result(&if options.json {
        format!("{:#}\n", as_json(&results))
    } else {
        text(options, &results, &unknown)
    })?;
    Ok(if results.n_left == 0 { printed } else { ExitCode::from(1) })
}

fn scenario(options: &JobsOptions, graph: &[GraphEntry]) -> JobScenario {
    let in_turn = |idx: usize, list: &[u32]| list.get(idx % list.len().max(1)).copied();
    let node = |idx: usize| JobNode {
        capacity: Resources {
            cpus: in_turn(idx, &options.cores).unwrap_or(1),
            cpus_max: 0,
            memory_bytes: match options.memory.as_slice() {
                [] => u64::MAX,
                list => list[idx % list.len()],
            },
            gpus: in_turn(idx, &options.gpus).unwrap_or(0),
            named: options.resource.iter().cloned().collect(),
        },
        speed: options.speeds[idx % options.speeds.len()],
    };
    let entry = |entry: &GraphEntry| {
        let expected_ms = entry.submission.demand.expect_ms;
        let expected = expected_ms.map(|ms| Durations::Constant { task_s: ms as f64 * 1e-3 });
        let after = entry.after.iter().map(|&(entry, when, is_each)| EntryDependency {
            entry,
            when,
            is_each,
        });
        JobEntry {
            name: entry.name.clone(),
            submission: entry.submission.clone(),
            after: after.collect(),
            durations: expected.unwrap_or(options.task_s),
        }
    };
    JobScenario {
        nodes: (0..options.nodes).map(node).collect(),
        entries: graph.iter().map(entry).collect(),
        policy: options.policy,
        latency_s: options.latency_ms * 1e-3,
        seed: options.seed,
    }
}

fn heading(options: &JobsOptions, results: &JobResults) -> String {
    let (path, n_entries) = (options.file.display(), results.entries.len());
    let (tasks, nodes) = (plural(results.n_tasks, "task"), plural(options.nodes as u64, "node"));
    let entries = if n_entries == 1 { "entry" } else { "entries" };
    format!("{path}: {tasks} in {n_entries} {entries} on {nodes}: {:.1} s", results.makespan_s)
}

fn text(options: &JobsOptions, results: &JobResults, unknown: &[&str]) -> String {
    let entries: Vec<_> = results.entries.iter().collect();
    let seconds = |at_s: Option<f64>| at_s.map_or("-".to_owned(), |at_s| format!("{at_s:.1} s"));
    let entries = Table::new(&entries)
        .left("ENTRY", |entry| entry.name.clone())
        .right("TASKS", |entry| entry.n_tasks.to_string())
        .left("EACH ASKS FOR", |entry| entry.asks.clone())
        .right("BEGINS", |entry| seconds(entry.span_s.map(|[begins_s, _]| begins_s)))
        .right("ENDS", |entry| seconds(entry.span_s.map(|[_, ends_s]| ends_s)));
    let nodes: Vec<_> = results.nodes.iter().collect();
    let nodes = Table::new(&nodes)
        .left("NODE", |node| node.name.clone())
        .right("TASKS", |node| node.n_tasks.to_string())
        .right("CORES BUSY", |node| format!("{:.0} %", 100.0 * node.busy_share));
    let JobResults { path_s, area_s, n_left, n_cut_off, .. } = results;
    let mut notes = String::new();
    if 0 < *n_left {
        notes += &format!(
            "\n{} would wait for ever: what they wait for never comes\n",
            plural(*n_left, "task")
        );
    }
    if 0 < *n_cut_off {
        notes +=
            &format!("\n{} would be ended at their time limit\n", plural(*n_cut_off, "attempt"));
    }
    if !unknown.is_empty() {
        let names = unknown.iter().take(5).copied().collect::<Vec<_>>().join("`, `");
        let more = if 5 < unknown.len() { " and others" } else { "" };
        notes += &format!("\nWithout `expect`, so of the time of `--task-s`: `{names}`{more}\n");
    }
    format!(
        "{};\nlongest chain {path_s:.1} s, all work over all cores {area_s:.1} s: {:.0} % of the best that could be\n\n\
         {entries}\n{nodes}{notes}",
        heading(options, results),
        100.0 * results.ratio()
    )
}

fn as_json(results: &JobResults) -> Value {
    let entries = results.entries.iter().map(|entry| {
        json!({
            "name": entry.name,
            "tasks": entry.n_tasks,
            "asks": entry.asks,
            "begins_s": entry.span_s.map(|[begins_s, _]| begins_s),
            "ends_s": entry.span_s.map(|[_, ends_s]| ends_s),
        })
    });
    let nodes = results.nodes.iter().map(|node| {
        json!({
            "name": node.name,
            "tasks": node.n_tasks,
            "busy_core_s": node.busy_core_s,
            "busy_share": node.busy_share,
        })
    });
    json!({
        "makespan_s": results.makespan_s,
        "path_s": results.path_s,
        "area_s": results.area_s,
        "ratio": results.ratio(),
        "tasks": results.n_tasks,
        "left": results.n_left,
        "cut_off": results.n_cut_off,
        "messages": results.n_messages,
        "entries": entries.collect::<Vec<_>>(),
        "nodes": nodes.collect::<Vec<_>>(),
    })
}

/// Draws the nodes with how busy they are, and a lane for each entry.
fn picture(options: &JobsOptions, results: &JobResults) -> String {
    let drawn = &results.nodes[..results.nodes.len().min(N_DRAWN_MAX)];
    let names: Vec<String> = drawn.iter().map(|node| node.name.clone()).collect();
    let busy = Bars {
        title: "cores busy".to_owned(),
        values: drawn
            .iter()
            .map(|node| (node.busy_share, format!("{:.0} %", 100.0 * node.busy_share)))
            .collect(),
        mark: None,
        color: COLORS[2],
    };
    let lane = |idx: usize| {
        let mut spans = results.runs.iter().filter(|run| run.entry == idx);
        let mut spans: Vec<[f64; 2]> =
            spans.by_ref().map(|run| [run.started_s, run.ended_s]).collect();
        spans.sort_by(|a, b| a[0].total_cmp(&b[0]));
        spans
    };
    let lanes = (0..results.entries.len().min(N_DRAWN_MAX)).map(lane).collect();
    let gantt = Gantt { lanes, end_s: results.makespan_s };
    bars(&heading(options, results), &names, &[busy], &gantt)
}

fn resource(text: &str) -> Result<(String, u32), String> {
    let parts = text.split_once('=').and_then(|(name, n)| Some((name.to_owned(), n.parse().ok()?)));
    let parts = parts.filter(|(name, _)| task_api::is_resource_name(name));
    parts.ok_or_else(|| "write NAME=N, as `fpga=2`".to_owned())
}
