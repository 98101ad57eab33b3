//! Options for watching a program, whether it is started or attached to.

use clap::builder::PossibleValuesParser;
use clap::{ArgGroup, Args, ValueEnum};
use std::net::SocketAddr;
use std::path::PathBuf;
use tunlets::built_in::OF_LEVERS;
use user_io::option_value::seconds;

/// Options for watching a program, whether it is started or attached to.
#[derive(Args, Debug)]
pub struct WatchOptions {
    /// Folder for the record; by default `sintonia-runs/PROGRAM-DATE-TIME`
    #[arg(long, value_name = "DIR")]
    pub(crate) out: Option<PathBuf>,
    /// Record every MPI call, for the timeline, exports, and the analysis of waits; with `--probe` also every passage
    /// of a function
    #[arg(long)]
    pub(crate) trace: bool,
    /// Sample the call paths of the computing: by performance events where the system allows them (the default); with
    /// `--sample`, else by signals in the program; or not at all
    #[arg(long, value_name = "HOW", num_args = 0..=1, require_equals = true, default_value = "events", default_missing_value = "auto")]
    pub(crate) sample: SampleMode,
    /// Show measurements while the program runs
    #[arg(long)]
    pub(crate) live: bool,
    /// Time without progress in MPI calls after which it is told which rank waits where, for whom and since when; without
    /// it, after a minute in which all ranks are inside MPI calls
    #[arg(long, value_name = "SECONDS", value_parser = |text: &str| seconds(text, 1.0..=1e9))]
    pub(crate) stalled: Option<f64>,
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

/// Way of sampling call paths.
#[derive(ValueEnum, Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum SampleMode {
    /// By performance events, where the system allows them
    Events,
    /// By performance events, or else by signals
    Auto,
    /// By signals
    Signals,
    /// Not at all
    Off,
}

impl SampleMode {
    /// Returns the mode's name for ranks and collectors.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Events => "events",
            Self::Auto => "auto",
            Self::Signals => "signals",
            Self::Off => "off",
        }
    }
}

/// Options for measuring functions and for tuning.
#[derive(Args, Debug, Default)]
#[command(group = ArgGroup::new("acts").args(["tunlet", "tune"]).multiple(true))]
pub struct TunerOptions {
    /// Options for tuning without a description
    #[command(flatten)]
    pub(crate) levers: LeverOptions,
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
    #[arg(long, requires = "acts")]
    pub(crate) dry_run: bool,
    /// Iterations before and after a change that are compared, without the first one after it
    #[arg(long, value_name = "N", default_value_t = 3, requires = "acts", value_parser = clap::value_parser!(u16).range(1..=1000))]
    pub(crate) trial_iterations: u16,
    /// Time for all ranks to carry out a change before it is taken back; at least four iterations
    #[arg(long, value_name = "SECONDS", default_value_t = 10.0, requires = "acts", value_parser = |text: &str| seconds(text, 0.001..=86_400.0))]
    pub(crate) action_timeout: f64,
    /// Count and time functions of this name; `*` stands for anything. With `--trace` each passage is recorded
    #[arg(long, value_name = "FUNCTION")]
    pub(crate) probe: Vec<String>,
}

/// Options for tuning without a description.
#[derive(Args, Debug, Default)]
pub struct LeverOptions {
    /// Make the program faster without a description: all levers that apply are tried, measured, and taken back where
    /// they do not help; or only these (`sintonia tunlets` describes them)
    #[arg(long, value_name = "LEVER,...", num_args = 0..=1, require_equals = true, value_delimiter = ',', default_missing_value = "all", value_parser = lever_names())]
    pub(crate) tune: Vec<String>,
    /// Allow levers that may change the last bits of floating-point sums
    #[arg(long, requires = "tune")]
    pub(crate) tune_sums: bool,
    /// Allow levers that change the number of OpenMP threads, by which sums may differ
    #[arg(long, requires = "tune")]
    pub(crate) tune_threads: bool,
}

impl WatchOptions {
    /// Returns whether it is told when the program stands still: `--stalled` asks for it, also beside `--quiet`.
    pub(crate) fn tells_stalls(&self) -> bool {
        self.stalled.is_some() || !self.output.quiet
    }
}

impl TunerOptions {
    /// Returns whether an option was given that needs a description of the program.
    pub(crate) fn needs_description(&self) -> bool {
        self.observe && self.levers.tune.is_empty() || !self.tunlet.is_empty()
    }
}

/// Options for the output at the end of a run.
#[derive(Args, Debug)]
pub struct RunOutputOptions {
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

/// Value of `--tune` without names.
pub(crate) const ALL_LEVERS: &str = "all";

/// Names that `--tune` takes.
fn lever_names() -> PossibleValuesParser {
    PossibleValuesParser::new([ALL_LEVERS].into_iter().chain(OF_LEVERS.map(|(name, _)| name)))
}
