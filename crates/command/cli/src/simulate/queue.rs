//! `sintonia simulate queue`: jobs in the queue of a cluster, rigid, moldable and malleable, by the rule of `slurm-policy`.

use clap::{Args, ValueEnum};
use display::table::Table;
use display::units::{plural, seconds};
use serde_json::{Value, json};
use simulator::queue::{
    N_JOBS_MAX, N_NODES_MAX, QueueJob, QueueResults, QueueScenario, QueueWay, Speedup, SwfMachine,
    draw_jobs, read_swf, simulate_queue,
};
use std::path::PathBuf;
use std::process::ExitCode;
use user_io::exit::bad_option;
use user_io::option_value::within;
use user_io::print::result;

/// Most lines of a trace that are named as skipped.
const N_SKIPPED_SHOWN: usize = 3;

const EXAMPLES: &str = "\
Examples:
  sintonia simulate queue --nodes 32 --jobs 40 --seed 1
  sintonia simulate queue --nodes 128 --load 0.7 --ways rigid,malleable-by-curve --json
  sintonia simulate queue trace.swf --nodes 240 --cores-per-node 4 --jobs 1000
  sintonia simulate queue --price-s 120 --run-s 60 --at-once

Ways: `rigid` jobs have what they ask for; `moldable-small` ones as few nodes as they can run on; `moldable-range` ones what is \
free when they start (`sbatch --nodes=MIN-MAX`); `malleable` ones start small and change their sizes by a rule that knows no \
speedups; for `malleable-by-curve` the rule knows what the programs have measured, as with `--iterations`.
Without a trace, sizes, run times and arrivals are drawn as Lublin and Feitelson (2003) found them in traces. Speedups are \
those of Downey (1997), with the nodes asked for as average parallelism. Jobs start in order with EASY backfilling.
Exit code 2 when a file or an option is wrong.";

/// Compare rigid, moldable and malleable jobs in a queue
///
/// Decides by the code of `slurm-policy` in simulated time, on jobs of a trace or of a model of traces.
#[derive(Args, Debug)]
#[command(after_help = EXAMPLES)]
pub(crate) struct QueueOptions {
    /// Trace in the Standard Workload Format [default: draw jobs]
    #[arg(value_name = "TRACE.swf")]
    trace: Option<PathBuf>,
    /// Number of nodes
    #[arg(long, value_name = "N", default_value_t = 32, value_parser = |text: &str| within(text, 1..=N_NODES_MAX))]
    nodes: u32,
    /// Processors of the trace that are a node
    #[arg(long, value_name = "N", default_value_t = 1, requires = "trace", value_parser = |text: &str| within(text, 1..=65_536_u32))]
    cores_per_node: u32,
    /// Number of jobs, of a trace the first ones
    #[arg(long, value_name = "N", default_value_t = 40, value_parser = |text: &str| within(text, 1..=N_JOBS_MAX))]
    jobs: usize,
    /// Share of all nodes that the jobs ask for until the last one comes [default: 0.9, of a trace its own]
    #[arg(long, value_name = "SHARE", value_parser = |text: &str| within(text, 0.01..=100.0))]
    load: Option<f64>,
    /// Ways in which jobs have nodes [default: all]
    #[arg(long, value_name = "WAY,..", value_delimiter = ',')]
    ways: Vec<Way>,
    /// Fewest nodes of a job that is not rigid, as a share of what it asks for
    #[arg(long, value_name = "SHARE", default_value_t = 0.25, value_parser = |text: &str| within(text, 0.0..=1.0))]
    smallest: f64,
    /// Time for which a program stops to change its size
    #[arg(long, value_name = "S", default_value_t = 5.0, value_parser = |text: &str| within(text, 0.0..=86_400.0))]
    price_s: f64,
    /// Time between two looks of the policy
    #[arg(long, value_name = "S", default_value_t = 10.0, value_parser = |text: &str| within(text, 0.1..=86_400.0))]
    interval_s: f64,
    /// Let all jobs come at once
    #[arg(long)]
    at_once: bool,
    /// Run time of all jobs, with the nodes that they ask for
    #[arg(long, value_name = "S", value_parser = |text: &str| within(text, 1e-3..=1e7))]
    run_s: Option<f64>,
    /// Average parallelism of all jobs: with 1, no node makes them faster
    #[arg(long, value_name = "A", value_parser = |text: &str| within(text, 1.0..=1e6))]
    parallelism: Option<f64>,
    /// Seed of all random numbers
    #[arg(long, value_name = "S", default_value_t = 1)]
    seed: u64,
    /// Print the results as a JSON array
    #[arg(long)]
    json: bool,
}

#[derive(Clone, Copy, Debug, ValueEnum)]
enum Way {
    Rigid,
    MoldableSmall,
    MoldableRange,
    Malleable,
    MalleableByCurve,
}

impl From<Way> for QueueWay {
    fn from(way: Way) -> Self {
        match way {
            Way::Rigid => Self::Rigid,
            Way::MoldableSmall => Self::Small,
            Way::MoldableRange => Self::Range,
            Way::Malleable => Self::Malleable,
            Way::MalleableByCurve => Self::MalleableByCurve,
        }
    }
}

/// Simulates, and shows the results.
pub(crate) fn queue(options: &QueueOptions) -> anyhow::Result<ExitCode> {
    let (jobs, skipped) = jobs(options)?;
    let ways: Vec<QueueWay> = match options.ways.as_slice() {
        [] => QueueWay::ALL.to_vec(),
        ways => ways.iter().map(|way| (*way).into()).collect(),
    };
    let run = |way: QueueWay| {
        let simulated = simulate_queue(&scenario(options, &jobs, way));
        simulated.map(|results| (way, results)).map_err(|error| bad_option(error.to_string()))
    };
    let all: Result<Vec<_>, _> = ways.into_iter().map(run).collect();
    let all = all?;
    if options.json {
        let lines: Vec<Value> = all.iter().map(|(way, results)| as_json(*way, results)).collect();
        return result(&format!("{:#}\n", Value::Array(lines)));
    }
    result(&format!("{}\n\n{}{skipped}", heading(options, &jobs), table(&all)))
}

/// Jobs, and a sentence about lines of a trace that are none.
fn jobs(options: &QueueOptions) -> anyhow::Result<(Vec<QueueJob>, String)> {
    let QueueOptions { nodes: n_nodes, jobs: n_jobs, load, seed, .. } = *options;
    let (mut jobs, skipped) = match &options.trace {
        None => (draw_jobs(n_jobs, n_nodes, Some(load.unwrap_or(0.9)), seed), String::new()),
        Some(path) => {
            let text = std::fs::read_to_string(path).map_err(|error| {
                bad_option(format!("the trace `{}` cannot be read: {error}", path.display()))
            })?;
            let machine = SwfMachine { n_nodes, cores_per_node: options.cores_per_node, load };
            let (jobs, problems) = read_swf(&text, n_jobs, machine, seed);
            let shown =
                problems.iter().take(N_SKIPPED_SHOWN).map(|problem| format!("\n  {problem}"));
            let n_skipped = problems.len();
            let skipped = format!(
                "\n{} skipped:{}\n",
                plural(n_skipped as u64, "line"),
                shown.collect::<String>()
            );
            (jobs, if n_skipped == 0 { String::new() } else { skipped })
        }
    };
    if jobs.is_empty() {
        let why = format!("no job of the trace can be used{skipped}");
        return Err(bad_option(why));
    }
    for job in &mut jobs {
        if let Some(run_s) = options.run_s {
            (job.run_s, job.limit_s) = (run_s, run_s * job.limit_s / job.run_s);
        }
        if let Some(parallelism) = options.parallelism {
            job.speedup = Speedup { parallelism, ..job.speedup };
        }
        if options.at_once {
            job.submitted_s = 0.0;
        }
    }
    Ok((jobs, skipped))
}

fn scenario(options: &QueueOptions, jobs: &[QueueJob], way: QueueWay) -> QueueScenario {
    QueueScenario {
        n_nodes: options.nodes,
        jobs: jobs.to_vec(),
        way,
        smallest_share: options.smallest,
        price_s: options.price_s,
        interval_s: options.interval_s,
        noise: 0.02,
        seed: options.seed,
    }
}

fn heading(options: &QueueOptions, jobs: &[QueueJob]) -> String {
    let (n_jobs, n_nodes) = (jobs.len() as u64, u64::from(options.nodes));
    let asked: f64 = jobs.iter().map(|job| f64::from(job.n_nodes) * job.run_s).sum();
    format!(
        "{} on {}, which ask for {:.1} node-hours",
        plural(n_jobs, "job"),
        plural(n_nodes, "node"),
        asked / 3600.0
    )
}

fn table(all: &[(QueueWay, QueueResults)]) -> String {
    let rows: Vec<_> = all.iter().collect();
    Table::new(&rows)
        .left("WAY", |(way, _)| way.name().to_owned())
        .right("MAKESPAN", |(_, results)| seconds(results.makespan_s()))
        .right("MEAN WAITING", |(_, results)| seconds(results.waiting_s()))
        .right("MEAN COMPLETION", |(_, results)| seconds(results.completion_s()))
        .right("NODE-HOURS", |(_, results)| format!("{:.1}", results.node_hours()))
        .right("RESIZES", |(_, results)| results.n_resizes().to_string())
        .to_string()
}

fn as_json(way: QueueWay, results: &QueueResults) -> Value {
    let jobs = results.jobs.iter().map(|job| {
        json!({
            "job": job.number,
            "submitted_s": job.submitted_s,
            "began_s": job.began_s,
            "ended_s": job.ended_s,
            "resizes": job.n_resizes,
        })
    });
    json!({
        "way": way.name(),
        "makespan_s": results.makespan_s(),
        "waiting_s": results.waiting_s(),
        "completion_s": results.completion_s(),
        "node_hours": results.node_hours(),
        "resizes": results.n_resizes(),
        "jobs": jobs.collect::<Vec<_>>(),
    })
}
