//! Command line of `sintonia`: its subcommands and most of their options.

use clap::{Args, Parser, Subcommand as ClapSubcommand, ValueEnum};
use std::ffi::OsString;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::process::ExitCode;

/// Watches MPI programs while they run and shows where their time goes.
#[derive(Debug, Parser)]
#[command(name = "sintonia", version, after_help = crate::exit::HELP, max_term_width = 100)]
pub(crate) struct Arguments {
    /// When to color the output; `NO_COLOR` is respected.
    #[arg(long, global = true, value_enum, default_value_t = Color::Auto, value_name = "WHEN")]
    pub(crate) color: Color,
    #[command(subcommand)]
    pub(crate) subcommand: Subcommand,
}

/// Parses the arguments of the process. Prints help, version and errors itself; an error gives the exit code.
pub(crate) fn read() -> Result<Arguments, ExitCode> {
    let error = match Arguments::try_parse() {
        Ok(arguments) => return Ok(arguments),
        Err(error) => error,
    };
    if !error.use_stderr() {
        // Help and version repeat no argument, so nothing needs escaping; clap colors and pages them.
        error.exit();
    }
    let exit_code = error.exit_code();
    let message = escaped(error, std::env::args_os()).render();
    let is_colored = crate::terminal::Terminal::new(Color::Auto).style().color;
    if is_colored {
        eprint!("{}", message.ansi());
    } else {
        eprint!("{message}");
    }
    Err(ExitCode::from(u8::try_from(exit_code).unwrap_or(1)))
}

/// Makes the error again from arguments with control characters escaped, so that each stays in its line.
fn escaped(error: clap::Error, arguments: impl Iterator<Item = OsString>) -> clap::Error {
    let visible = |argument: OsString| match argument.to_str() {
        Some(text) => OsString::from(crate::print::escape_line(text).as_ref()),
        None => argument,
    };
    Arguments::try_parse_from(arguments.map(visible)).err().unwrap_or(error)
}

/// Choice of colored output.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Color {
    /// On a terminal.
    Auto,
    /// Always.
    Always,
    /// Never.
    Never,
}

#[derive(Debug, ClapSubcommand)]
pub(crate) enum Subcommand {
    Run(RunOptions),
    Attach(crate::attach::AttachOptions),
    Report(ReportOptions),
    Export(ExportOptions),
    Doctor(DoctorOptions),
    Functions(crate::functions::FunctionsOptions),
    Graph(crate::graph::GraphOptions),
    Messages(crate::messages::MessagesOptions),
    Experiment(crate::experiment::ExperimentOptions),
    Netbench(crate::netbench::NetbenchOptions),
    Tunlets(crate::tunlets::TunletsOptions),
    New(crate::new::NewOptions),
    NewTunlet(crate::new_tunlet::NewTunletOptions),
    Fit(crate::fit::FitOptions),
    Predict(crate::predict::PredictOptions),
    Validate(crate::validate::ValidateOptions),
    Simulate(crate::simulate::SimulateOptions),
    Malleable(crate::malleable::MalleableOptions),
    Resize(crate::resize::ResizeOptions),
    SlurmPolicy(crate::slurm_policy::SlurmPolicyOptions),
    Node(Box<crate::node::NodeOptions>),
    Submit(crate::submit::SubmitOptions),
    Nodes(crate::nodes::NodesOptions),
    Tasks(crate::tasks::TasksOptions),
    Cancel(crate::cancel::CancelOptions),
    Explain(crate::explain::ExplainOptions),
    #[command(hide = true)]
    ExperimentRun(crate::experiment::ExperimentRunOptions),
    #[command(hide = true)]
    TunletHost(crate::tunlet_host::TunletHostOptions),
    #[command(hide = true)]
    Enter(crate::attach::entrance::EnterOptions),
    #[command(hide = true)]
    DoctorRank(crate::doctor::dynamic::rank::DoctorRankOptions),
    #[command(hide = true)]
    NetbenchRank(crate::netbench::NetbenchRankOptions),
    #[command(hide = true)]
    Collector(CollectorOptions),
}

const RUN_EXAMPLES: &str = "\
Examples:
  sintonia run -- mpirun -np 4 ./program input.txt
  sintonia run --probe 'solve*' -- mpirun -np 4 ./program
  sintonia run --app xfire.toml --tunlet factoring -- mpirun -np 5 ./xfire
  sintonia run --tunlet worker-count -- mpirun -np 5 ./of-the-master-worker-library
  sintonia run --trace --out runs/today -- srun -n 64 ./program
  sintonia run --json -- ./job.sh > job.json";

/// Run a command and watch its MPI processes
///
/// The command is started unchanged, with its own standard input and output, and ends as it would without `sintonia`,
/// which ends with the same exit code. Afterwards a report is printed on standard error, and a record of the run, with
/// `report.html`, is kept in a folder. The command may be a launcher (`mpirun`, `mpiexec`, `srun`), a program, or a
/// script that starts several.
#[derive(Args, Debug)]
#[command(after_help = RUN_EXAMPLES)]
pub(crate) struct RunOptions {
    #[command(flatten)]
    pub(crate) watch: WatchOptions,
    /// The command, after `--`
    #[arg(required = true, last = true, value_name = "COMMAND")]
    pub(crate) command: Vec<OsString>,
}

/// Options for watching a program, whether it is started or attached to.
#[derive(Args, Debug)]
pub(crate) struct WatchOptions {
    /// Folder for the record; by default `sintonia-runs/PROGRAM-DATE-TIME`
    #[arg(long, value_name = "DIR")]
    pub(crate) out: Option<PathBuf>,
    /// Record every MPI call, for the timeline, exports, and the analysis of waits; with `--probe` also every passage
    /// of a function
    #[arg(long)]
    pub(crate) trace: bool,
    /// Show measurements while the program runs
    #[arg(long)]
    pub(crate) live: bool,
    /// Options for measuring functions and for tuning
    #[command(flatten)]
    pub(crate) tuner: TunerOptions,
    /// Options for the output at the end
    #[command(flatten)]
    pub(crate) output: RunOutputOptions,
    /// Address to listen at for collectors; by default on this node alone, or at all addresses if the command or the
    /// environment suggests that ranks run on other nodes
    #[arg(long, value_name = "ADDRESS:PORT")]
    pub(crate) listen: Option<SocketAddr>,
    /// Calls and passages that a thread can record until they are collected, with `--trace` or `--probe`
    #[arg(long, value_name = "N", default_value_t = 65_536, value_parser = clap::value_parser!(u32).range(64..=1 << 26))]
    pub(crate) ring_records: u32,
    /// Pairs of call sites that are distinguished in a thread; the rest is counted by operation
    #[arg(long, value_name = "N", default_value_t = 1024, value_parser = clap::value_parser!(u32).range(16..=1 << 20))]
    pub(crate) regions: u32,
    /// Threads of a rank that may call MPI at the same time; further ones are not observed
    #[arg(long, value_name = "N", default_value_t = 128, value_parser = clap::value_parser!(u32).range(1..=4096))]
    pub(crate) threads: u32,
}

/// Options for measuring functions and for tuning.
#[derive(Args, Debug, Default)]
pub(crate) struct TunerOptions {
    /// Description of the program: actors, events, tuning points; not needed for programs that carry one, as all
    /// programs of the master-worker library do
    #[arg(long, value_name = "APP.toml")]
    pub(crate) app: Option<PathBuf>,
    /// Tunlet to use, built in (`sintonia tunlets` lists them) or from a library; may be given several times, and the
    /// first one owns what several would change. Options may follow a built-in one: `worker-count:model=MODELS.json`
    #[arg(long, value_name = "NAME[:OPTION=VALUE,...]|LIB.so")]
    pub(crate) tunlet: Vec<String>,
    /// Change nothing: record events, and let tunlets only observe
    #[arg(long, conflicts_with = "dry_run")]
    pub(crate) observe: bool,
    /// Change nothing, but report what would be changed
    #[arg(long, requires = "tunlet")]
    pub(crate) dry_run: bool,
    /// Iterations before and after a change that are compared, without the first one after it
    #[arg(long, value_name = "N", default_value_t = 3, requires = "tunlet", value_parser = clap::value_parser!(u16).range(1..=1000))]
    pub(crate) trial_iterations: u16,
    /// Time for all ranks to carry out a change before it is taken back; at least four iterations
    #[arg(long, value_name = "SECONDS", default_value_t = 10.0, requires = "tunlet", value_parser = seconds)]
    pub(crate) action_timeout: f64,
    /// Count and time functions of this name; `*` stands for anything. With `--trace` each passage is recorded
    #[arg(long, value_name = "FUNCTION")]
    pub(crate) probe: Vec<String>,
}

impl TunerOptions {
    /// Returns whether an option was given that needs a description of the program.
    pub(crate) fn needs_description(&self) -> bool {
        self.observe || !self.tunlet.is_empty()
    }
}

fn seconds(text: &str) -> Result<f64, String> {
    let seconds = text.parse().ok().filter(|seconds| (0.001..=86_400.0).contains(seconds));
    seconds.ok_or_else(|| "write a number of seconds from 0.001 to 86400".to_owned())
}

/// Options for the output at the end of a run.
#[derive(Args, Debug)]
pub(crate) struct RunOutputOptions {
    /// Print the summary as JSON on standard output instead of the report
    #[arg(long)]
    pub(crate) json: bool,
    /// Do not write `report.html`
    #[arg(long)]
    pub(crate) no_html: bool,
    /// Print errors and warnings only
    #[arg(long, conflicts_with = "json")]
    pub(crate) quiet: bool,
}

const REPORT_EXAMPLES: &str = "\
Examples:
  sintonia report sintonia-runs/xfire-20260102-030405
  sintonia report RUN --html report.html
  sintonia report RUN --json | jq .pop";

/// Show the report of an earlier run
///
/// The record of a run that was cut off (by a killed `sintonia run`, or a node that went down) is finished
/// first, from what collectors left on disk and in shared memory.
#[derive(Args, Debug)]
#[command(after_help = REPORT_EXAMPLES)]
pub(crate) struct ReportOptions {
    /// Folder of the record; or the file that a program of the master-worker library wrote with `--report FILE`, or the
    /// folder that a malleable program wrote with `--record DIR`
    pub(crate) run: PathBuf,
    /// Write the report as a self-contained HTML page instead
    #[arg(long, value_name = "FILE")]
    pub(crate) html: Option<PathBuf>,
    /// Print the summary as JSON
    #[arg(long)]
    pub(crate) json: bool,
}

const DOCTOR_EXAMPLES: &str = "\
Examples:
  sintonia doctor
  sintonia doctor --quick                                 what can be seen without starting a job
  sintonia doctor -- /opt/openmpi-5/bin/mpirun --host a:2,b:2";

/// Check what this machine offers, what is missing, and what that costs
///
/// Checks MPI libraries, the clock, permissions, limits, Slurm and tools; changes nothing. With each MPI launcher, a
/// tiny job tries to start, join and release processes while a program runs; a job that hangs is ended.
#[derive(Args, Debug)]
#[command(after_help = DOCTOR_EXAMPLES)]
pub(crate) struct DoctorOptions {
    /// Start no jobs
    #[arg(long, conflicts_with = "launcher")]
    pub(crate) quick: bool,
    /// Print the checks as JSON
    #[arg(long)]
    pub(crate) json: bool,
    /// Try jobs with this launcher and its options only, instead of all in `PATH`
    #[arg(last = true, value_name = "LAUNCHER")]
    pub(crate) launcher: Vec<OsString>,
}

const EXPORT_EXAMPLES: &str = "\
Examples:
  sintonia export RUN --format chrome -o run.json      open it in ui.perfetto.dev
  sintonia export RUN --format paraver -o run.prv
  sintonia export RUN --format simgrid -o replay/      a folder, for smpirun -replay";

/// Write a traced run in the format of another tool
///
/// The run has to be recorded with `sintonia run --trace`. Messages name what the format cannot hold.
#[derive(Args, Debug)]
#[command(after_help = EXPORT_EXAMPLES)]
pub(crate) struct ExportOptions {
    /// Folder of the record
    pub(crate) run: PathBuf,
    /// Format of the output
    #[arg(long, value_enum)]
    pub(crate) format: Format,
    /// File to write (`chrome`, `-` for standard output; `paraver`), or folder (`simgrid`)
    #[arg(long, short, value_name = "PATH")]
    pub(crate) output: PathBuf,
    /// Number of the `MPI_COMM_WORLD` to export with `simgrid`, which holds only one; 0 is the first
    #[arg(long, value_name = "N", default_value_t = 0)]
    pub(crate) world: u32,
}

/// Formats of other tools.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Format {
    /// Trace events as JSON: Perfetto, chrome://tracing, Speedscope.
    Chrome,
    /// Paraver: `.prv`, `.pcf` and `.row`.
    Paraver,
    /// SimGrid's time-independent trace.
    Simgrid,
}

/// Send what ranks on this node record to the analyzer; started by `sintonia run` and by ranks
#[derive(Args, Debug)]
pub(crate) struct CollectorOptions {
    /// Run in the background, without a parent
    #[arg(long)]
    pub(crate) detach: bool,
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A newline in an argument started a message of its own, and an escape sequence reached the terminal.
    #[test]
    fn a_wrong_argument_stays_in_its_line() {
        let words = ["sintonia", "fit", "x", "--rate=1\nsintonia: all is well\u{1b}[2J"];
        let error = Arguments::try_parse_from(words).unwrap_err();
        let said = escaped(error, words.into_iter().map(OsString::from)).render().to_string();
        assert!(said.contains("1\\nsintonia: all is well\\u001b[2J"), "{said}");
        assert!(!said.contains("\nsintonia:"), "{said}");
    }
}
