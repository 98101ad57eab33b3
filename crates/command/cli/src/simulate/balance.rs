//! `sintonia simulate balance`: shares out tasks over the nodes of a described cluster, by the code of the node daemon.

mod described;

use ::balancing_policies::{Domain, Policy, Rule};
use anyhow::Context;
use clap::Args;
use described::Described;
use display::chart::{Bars, COLORS, Gantt, bars};
use display::table::Table;
use display::units::plural;
use serde_json::{Value, json};
use simulator::balance::{
    Arrivals, Scenario, ScenarioResults, SimulationProgress, Trace, central_asked_s, central_s,
    simulate,
};
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::Duration;
use user_io::bounded_read;
use user_io::exit::BadOption;
use user_io::print::result;
use user_io::progress::ProgressLine;
use user_io::result_file;

/// Longest trace: tens of millions of jobs.
const TRACE_BYTES_MAX: u64 = 2 << 30;
/// Time between two updates of the progress.
const PROGRESS_EVERY: Duration = Duration::from_millis(200);

const EXAMPLES: &str = "\
Examples:
  sintonia simulate balance
  sintonia simulate balance --policy event --entry 0,4 --json
  sintonia simulate balance --compare event,on-demand,subscription --nodes 64 --tasks 2000 --arrival-s 0.1
  sintonia simulate balance --nodes 1000 --entry every:8 --policy power-of-two@random:16 --latency-ms 1
  sintonia simulate balance --speeds 1,2,4 --tasks 840 --arrival-s 0 --plot speeds.svg
  sintonia simulate balance --fail 3@50:100 --loss 0.01
  sintonia simulate balance --trace KTH-SP2.swf --tasks 10000 --nodes 100 --entry every:10
  sintonia simulate balance --scenario FILE.toml --seed 7
A scenario file has options as keys, without the dashes: `nodes = 64`, `cores = [4, 8]`, `policy = \"event\"`. \
What stands on the command line counts more.

Without options: 8 nodes of one core, a task of 19.8 s each second at node 0, 160 in all. `ratio` is the ideal time, all \
work shared by all cores without a gap, over the actual one; `of central` that of a central queue, which is asked over the \
same network and loses no message; `efficiency` is accepted / (messages * tasks) * ratio. Messages \
are counted until the last task has begun: those that report or request states, or ask for tasks where there is \
room; `messages_all` counts answers too. Nodes of clusters that only look what runs every so often, as those of the published \
tables, have `--detection measured`.";

/// Compare policies that share out tasks over nodes
///
/// Tasks arrive at one node or several; the code of the node daemon runs in simulated time.
#[derive(Args, Debug)]
#[command(after_help = EXAMPLES)]
pub(crate) struct BalanceOptions {
    #[command(flatten)]
    described: Described,
    /// Read the scenario from a file; options on the command line override it
    #[arg(long, value_name = "FILE.toml")]
    scenario: Option<PathBuf>,
    /// Let the tasks of a recorded workload arrive and last as they did: a trace in the Standard Workload Format; a job of
    /// k processors is k tasks. `--tasks N` takes the first N of them
    #[arg(long, value_name = "FILE.swf", conflicts_with_all = ["arrival_s", "arrival_random", "task_s"])]
    trace: Option<PathBuf>,
    /// Compare these policies, each as for `--policy`, separated by commas
    #[arg(long, value_name = "POLICY,..", value_delimiter = ',', conflicts_with = "policy")]
    compare: Vec<Policy>,
    /// List the rules, and simulate nothing
    #[arg(long)]
    policies: bool,
    /// Print the result as a JSON object; with `--compare`, a list of them
    #[arg(long)]
    json: bool,
    /// Write a picture of ratios and messages
    #[arg(long, value_name = "FILE.svg")]
    plot: Option<PathBuf>,
}

/// Simulates one policy, or several to compare them.
pub(crate) fn balance(options: &BalanceOptions) -> anyhow::Result<ExitCode> {
    if options.policies {
        return result(&rules());
    }
    let file = options.scenario.as_deref().map(described::from_file).transpose()?;
    let described = options.described.clone().or(file.unwrap_or_default());
    let mut scenario = described.scenario().context(BadOption)?;
    if let Some(path) = &options.trace {
        play(&mut scenario, path, described.has_number_of_tasks())?;
    }
    scenario.check().context(BadOption)?;
    let rows = rows(&scenario, &options.compare, described.domain)?;
    let central = Central::of(&scenario);
    if let Some(path) = &options.plot {
        result_file::write(path, &picture(&heading(&scenario, &rows), &rows))?;
    }
    result(&if options.json {
        as_json(&rows, central, !options.compare.is_empty())
    } else {
        table(&scenario, &rows, central)
    })
}

/// Lets the tasks of a trace arrive, all or as many as were asked for.
fn play(scenario: &mut Scenario, path: &Path, has_number: bool) -> anyhow::Result<()> {
    let name = || format!("`{}`", path.display());
    let text = bounded_read::read_text(path, TRACE_BYTES_MAX).with_context(name)?;
    let trace = Trace::read_swf(&text).with_context(name).context(BadOption)?;
    if 0 < trace.n_left_out {
        let (left_out, name) = (plural(trace.n_left_out, "job"), name());
        eprintln!("sintonia: left out of {name}: {left_out} that never ran, or of unknown time");
    }
    let n_all = trace.tasks.len() as u64;
    scenario.n_tasks = if has_number { scenario.n_tasks.min(n_all) } else { n_all };
    scenario.trace = Some(trace.tasks);
    Ok(())
}

fn rows(
    scenario: &Scenario,
    compared: &[Policy],
    domain: Option<Domain>,
) -> anyhow::Result<Vec<Row>> {
    let own = [scenario.policy];
    let policies = if compared.is_empty() { &own[..] } else { compared };
    let mut progress_line = ProgressLine::every(PROGRESS_EVERY);
    let row = |(idx, policy): (usize, &Policy)| {
        let mut policy = *policy;
        // `--domain` applies to policies that name none.
        if let (Some(domain), Domain::Global) = (domain, policy.domain) {
            policy.domain = domain;
        }
        let scenario = Scenario { policy, ..scenario.clone() };
        let outcome = simulate(&scenario, &mut |progress| {
            progress_line.show(|| {
                let SimulationProgress { n_ended, n_tasks, now_s, n_events } = progress;
                let (number, n) = (idx + 1, policies.len());
                format!("{number} of {n}, {policy}: {n_ended} of {n_tasks} tasks, {now_s:.0} s, {n_events} events")
            });
        });
        progress_line.clear();
        Ok(Row { policy, outcome: outcome.context(BadOption)? })
    };
    policies.iter().enumerate().map(row).collect()
}

fn as_json(rows: &[Row], central: Central, is_list: bool) -> String {
    let mut objects: Vec<Value> = rows.iter().map(|row| object(row, central)).collect();
    let value = if is_list { Value::from(objects) } else { objects.swap_remove(0) };
    format!("{value:#}\n")
}

fn object(Row { policy, outcome }: &Row, central: Central) -> Value {
    json!({
        "policy": policy.to_string(),
        "ratio": outcome.ratio(),
        "t_opt_s": outcome.t_opt_s,
        "t_exec_s": outcome.t_exec_s,
        "t_dist_s": outcome.t_dist_s,
        "t_central_s": central.free_s,
        "t_central_asked_s": central.asked_s,
        "of_central": central.asked_s / outcome.t_exec_s,
        "messages": outcome.messages,
        "messages_all": outcome.messages_all,
        "accepted": outcome.counts.accepted,
        "not_accepted": outcome.counts.not_accepted,
        "efficiency": outcome.efficiency(),
        "staleness": outcome.staleness(),
        "idle_share": outcome.idle_share,
        "response_s": outcome.response_s,
        "tasks": outcome.n_tasks,
        "ended": outcome.n_ended,
        "restarted": outcome.n_restarted,
        "moved": outcome.counts.moved,
        "dropped": outcome.counts.dropped,
        "events": outcome.n_events,
    })
}

/// Draws the picture as SVG.
fn picture(heading: &str, rows: &[Row]) -> String {
    let names: Vec<String> = rows.iter().map(|row| row.policy.to_string()).collect();
    let ratios = rows.iter().map(|row| row.outcome.ratio());
    let ratios = Bars {
        title: "ideal / actual time".to_owned(),
        values: ratios.map(|ratio| (ratio, format!("{ratio:.3}"))).collect(),
        mark: Some((1.0, "ideal = 1".to_owned())),
        color: COLORS[2],
    };
    let messages = rows.iter().map(|row| row.outcome.messages as f64 / row.outcome.n_tasks as f64);
    let messages = Bars {
        title: "messages per task".to_owned(),
        values: messages.map(|n| (n, format!("{n:.2}"))).collect(),
        mark: None,
        color: COLORS[0],
    };
    bars(heading, &names, &[ratios, messages], &Gantt::default())
}

/// When the last task would end with one queue for all.
#[derive(Clone, Copy)]
struct Central {
    /// A queue that costs no time.
    free_s: f64,
    /// A queue that is asked over the network of the scenario.
    asked_s: f64,
}

impl Central {
    fn of(scenario: &Scenario) -> Self {
        Self { free_s: central_s(scenario), asked_s: central_asked_s(scenario) }
    }
}

/// Policy and its outcome.
struct Row {
    policy: Policy,
    outcome: ScenarioResults,
}

/// Sentence about the scenario.
fn heading(scenario: &Scenario, rows: &[Row]) -> String {
    let ideal_s = rows.first().map_or(0.0, |row| row.outcome.t_opt_s);
    let come = match scenario.arrivals {
        _ if scenario.trace.is_some() => "as recorded".to_owned(),
        Arrivals::Every { gap_s: 0.0 } => "at once".to_owned(),
        Arrivals::Every { gap_s } => format!("one every {gap_s} s"),
        Arrivals::Random { gap_s } => format!("one every {gap_s} s on average"),
    };
    let (n_tasks, n_nodes) = (scenario.n_tasks, scenario.n_nodes);
    format!("{n_tasks} tasks, {come}, on {n_nodes} nodes: ideally {ideal_s:.1} s")
}

/// Table with a line for each policy.
fn table(scenario: &Scenario, rows: &[Row], central: Central) -> String {
    let mut sorted: Vec<&Row> = rows.iter().collect();
    sorted.sort_by(|some, other| other.outcome.ratio().total_cmp(&some.outcome.ratio()));
    let table = Table::new(&sorted)
        .left("POLICY", |row| row.policy.to_string())
        .right("RATIO", |row| format!("{:.3}", row.outcome.ratio()))
        .right("OF CENTRAL", |row| format!("{:.3}", central.asked_s / row.outcome.t_exec_s))
        .right("EXECUTED", |row| format!("{:.1} s", row.outcome.t_exec_s))
        .right("DEALT", |row| format!("{:.1} s", row.outcome.t_dist_s))
        .right("MESSAGES", |row| row.outcome.messages.to_string())
        .right("PER TASK", |row| {
            format!("{:.2}", row.outcome.messages as f64 / row.outcome.n_tasks as f64)
        })
        .right("ACCEPTED", |row| row.outcome.counts.accepted.to_string())
        .right("REFUSED", |row| row.outcome.counts.not_accepted.to_string())
        .right("EFFICIENCY", |row| format!("{:.2e}", row.outcome.efficiency()))
        .right("IDLE", |row| format!("{:.1} %", 100.0 * row.outcome.idle_share));
    let unfinished = |row: &&&Row| row.outcome.n_ended < row.outcome.n_tasks;
    let warning = |row: &&Row| {
        let n_left = row.outcome.n_tasks - row.outcome.n_ended;
        format!("{}: {n_left} tasks wait at nodes that never come back\n", row.policy)
    };
    let warnings: String = sorted.iter().filter(unfinished).map(warning).collect();
    let heading = heading(scenario, rows);
    let Central { free_s, asked_s } = central;
    format!(
        "{heading};\nwith a central queue {asked_s:.1} s, with one that costs no time {free_s:.1} s\n\n{table}{warnings}"
    )
}

/// List of the rules.
fn rules() -> String {
    let table = Table::new(Rule::ALL)
        .left("RULE", |spec| spec.form)
        .left("FROM", |spec| if spec.is_of_source { "source" } else { "ours" })
        .left("WHAT IT DOES", |spec| spec.sentence);
    format!(
        "{table}\nA policy is RULE or RULE@DOMAIN. Domains: global (all nodes, the default), \
         overlapping:SIZE[:OVERLAP]\n(neighbors on a ring), random:SIZE (drawn at each sending).\n"
    )
}
