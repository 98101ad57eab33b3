//! Options for changing the size of a program; each has a default.

use option_table::{ArgumentError, Interval, OptionTable, interval, one_of, positive, time};
use resize_api::{Spawn, Strategy};
use std::path::{Path, PathBuf};
use std::time::Duration;

/// Options for changing the size of a program.
///
/// ```
/// use malleable::Options;
///
/// let words = ["--sizes", "2:8", "--schedule", "10:4", "matrix.mtx"];
/// let (options, others) = Options::parse(words.map(str::to_owned));
/// assert_eq!(options, Options::new().sizes(2, 8).schedule([(10, 4)]));
/// assert_eq!(others, ["matrix.mtx"]);
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct Options {
    pub(crate) sizes: Option<(u32, u32)>,
    pub(crate) preferred: Option<u32>,
    /// Iteration and size, by iteration.
    pub(crate) schedule: Vec<(u64, u32)>,
    /// Iterations between two checks for a resize; `None` to choose it from the time of an iteration.
    pub(crate) check_every: Option<u32>,
    pub(crate) method: MethodOptions,
    pub(crate) nodes: NodeOptions,
    pub(crate) model: Option<PathBuf>,
    pub(crate) n_iterations: Option<u64>,
    pub(crate) record: Option<PathBuf>,
    pub(crate) control: Option<PathBuf>,
    pub(crate) deadline: Duration,
    pub(crate) checkpoint: Option<PathBuf>,
    pub(crate) checkpoint_every: Interval,
    pub(crate) is_explaining: bool,
    /// First error in the arguments, which the start of the program returns.
    pub(crate) problem: Option<ArgumentError>,
}

/// Options for how the size is changed.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct MethodOptions {
    pub(crate) strategy: Strategy,
    /// How processes are started; `None` for the way that harms the program least.
    pub(crate) spawn: Option<Spawn>,
    pub(crate) is_foreground: bool,
    pub(crate) redistribution: Redistribution,
}

/// Options for the nodes of additional processes.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct NodeOptions {
    pub(crate) placement: Placement,
    pub(crate) hostfile: Option<PathBuf>,
    pub(crate) manager: ManagerKind,
}

/// Method of moving data.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Redistribution {
    /// The fastest one in a trial with the MPI library.
    #[default]
    Auto,
    /// One exchange among all ranks, while the program waits.
    Sync,
    /// In the background: constant data move while the program computes.
    Async,
    /// Messages only between ranks that share rows: constant data move while the program computes.
    PointToPoint,
    /// Targets fetch constant data while the program computes.
    Get,
}

/// Choice of the nodes on which processes are started.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Placement {
    /// Evenly over the nodes.
    #[default]
    Balance,
    /// Node after node.
    Fill,
    /// Near the data that they get.
    Nearest,
}

/// Source of nodes for additional processes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ManagerKind {
    /// None: the launcher's choice.
    None,
    /// A host file.
    Hosts,
    /// Slurm.
    Slurm,
    /// Slurm inside a Slurm job, else the host file if there is one, else none.
    #[default]
    Auto,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            sizes: None,
            preferred: None,
            schedule: Vec::new(),
            check_every: None,
            method: MethodOptions::default(),
            nodes: NodeOptions::default(),
            model: None,
            n_iterations: None,
            record: None,
            control: None,
            deadline: Duration::from_mins(1),
            checkpoint: None,
            checkpoint_every: Interval::Time(Duration::from_mins(5)),
            is_explaining: false,
            problem: None,
        }
    }
}

impl Options {
    /// Returns the default options.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Sets the smallest and largest number of ranks. By default only the sizes in the schedule are allowed.
    #[must_use]
    pub fn sizes(mut self, min: u32, max: u32) -> Self {
        let min = min.max(1);
        self.sizes = Some((min, max.max(min)));
        self
    }

    /// Sets sizes and the iterations from which the program has them; they are applied in order, none is skipped.
    #[must_use]
    pub fn schedule(mut self, sizes: impl IntoIterator<Item = (u64, u32)>) -> Self {
        self.schedule = sizes.into_iter().collect();
        self.schedule.sort_by_key(|(iteration, _)| *iteration);
        self
    }

    option_table::setters! {
        /// Sets the number of ranks with which the program runs best.
        preferred(n_ranks: u32) => preferred = Some(n_ranks);
        /// Sets the number of iterations between two checks for a resize; by default about one every 10 ms.
        check_every(n_iterations: u32) => check_every = Some(n_iterations.max(1));
        /// Sets which ranks continue after a resize.
        strategy(strategy: Strategy) => method.strategy = strategy;
        /// Sets how processes are started. By default MPICH starts them by launchers of their own outside of Slurm; else
        /// it is a tree.
        spawn(spawn: Spawn) => method.spawn = Some(spawn);
        /// Makes the program wait while processes are started, and until processes that leave are gone.
        foreground() => method.is_foreground = true;
        /// Sets how data move.
        redistribution(redistribution: Redistribution) => method.redistribution = redistribution;
        /// Sets on which nodes processes are started.
        placement(placement: Placement) => nodes.placement = placement;
        /// Sets the host file for additional processes.
        hostfile(file: impl AsRef<Path>) => nodes.hostfile = Some(file.as_ref().to_owned());
        /// Sets the source of nodes for additional processes.
        manager(manager: ManagerKind) => nodes.manager = manager;
        /// Sets how the program chooses its size: by `auto`, from measurements at the sizes that it has had, of which it
        /// tries some; by a model file of its time, too, as `FILE:NAME=VALUE,...` where it has parameters beside the
        /// number of processes; or by `none`, not at all. By default it is `auto` outside of Slurm, where there is no
        /// schedule, until somebody else requests a size.
        model(file: impl AsRef<Path>) => model = Some(file.as_ref().to_owned());
        /// Sets the total number of iterations. Where it is not known, as many are taken to be left as were done.
        iterations(n_iterations: u64) => n_iterations = Some(n_iterations);
        /// Sets the folder in which `resizes.jsonl` is written.
        record(folder: impl AsRef<Path>) => record = Some(folder.as_ref().to_owned());
        /// Sets the folder of the status and of resize requests; `$HOME/.sintonia/jobs` by default.
        control(folder: impl AsRef<Path>) => control = Some(folder.as_ref().to_owned());
        /// Sets how long each phase of a resize may take; 60 s by default.
        deadline(deadline: Duration) => deadline = deadline;
        /// Sets the file to which the state is written from time to time. If it exists at the start of the program, the
        /// program continues from it, with any number of ranks; when the program is done, the file is removed. Choose a
        /// place where every rank 0 can write: another process may become rank 0. A file of constant data lies beside it.
        checkpoint(file: impl AsRef<Path>) => checkpoint = Some(file.as_ref().to_owned());
        /// Sets after how many iterations or how long the next checkpoint is due; 5 minutes by default.
        checkpoint_every(interval: Interval) => checkpoint_every = interval;
        /// Prints a line for each resize, on standard error of rank 0.
        explain() => is_explaining = true;
    }

    /// Returns the number set by [`iterations`](Self::iterations) or by its argument, as the program may need it, too.
    #[must_use]
    pub const fn n_iterations(&self) -> Option<u64> {
        self.n_iterations
    }

    /// Returns whether the program keeps the ranks with which it is launched.
    pub(crate) fn is_fixed(&self) -> bool {
        self.sizes.is_none() && self.schedule.is_empty()
    }

    /// Returns the sizes that may be requested: those set, else from the smallest to the largest of the schedule and
    /// `n_ranks`.
    pub(crate) fn sizes_with(&self, n_ranks: u32) -> (u32, u32) {
        self.sizes.unwrap_or_else(|| {
            let named = self.schedule.iter().map(|(_, size)| *size);
            named.fold((n_ranks, n_ranks), |(min, max), size| (min.min(size), max.max(size)))
        })
    }
}

/// Variable with further arguments, which are read first.
const VARIABLE: &str = "SINTONIA_MALLEABLE";

/// The options as arguments.
const TABLE: OptionTable = OptionTable {
    help: "\
Options of a malleable program:
  --sizes MIN:MAX             smallest and largest number of ranks
  --preferred N               preferred number of ranks
  --schedule ITERATION:SIZE,...  iterations from which the program has another size
  --check-every K|auto        iterations between two resize points that check for requests (default: auto)
  --strategy merge|baseline   ranks that continue: all that can (default), or only new processes
  --spawn tree|one|per-node|sequential|companion  how processes are started (default: companion with MPICH outside of Slurm, else tree)
  --foreground                the program waits while they are started
  --redistribution auto|sync|async|p2p|get  how data are moved (default: auto)
  --placement balance|fill|nearest  on which nodes processes are started (default: balance)
  --hostfile FILE             nodes for further processes
  --manager none|hosts|slurm|auto  source of further nodes (default: auto)
  --model auto|none|FILE[:NAME=VALUE,...]  how the program chooses its size: by what it measures, not at all, or by a
                              model, too (default: auto outside of Slurm, until others request a size)
  --iterations N              total number of iterations, by which it judges what a change is worth
  --record DIR                write the outcome of each resize to DIR/resizes.jsonl
  --control DIR               folder of the status and of resize requests (default: $HOME/.sintonia/jobs)
  --deadline SECONDS          longest time of each phase of a resize (default: 60)
  --checkpoint FILE           write the state to this file, and continue from it if it exists
  --checkpoint-every 10it|30s  after so many iterations, or so long (default: 5min)
  --explain                   a line on standard error for each resize
`--option=value` does as well; what stands after `--` is the program's own.
",
    former: &[("--hosts", "--hostfile")],
};

impl Options {
    /// The options as arguments, one per line, as a program prints them with `--help`.
    pub const HELP: &'static str = TABLE.help;

    /// Reads the options from the variable `SINTONIA_MALLEABLE` and then from the arguments of the process, as
    /// [`HELP`](Self::HELP) lists them; `--option=value` works as well. Other arguments are left to the program.
    /// [`Malleable::begin`](crate::Malleable::begin) returns the error for a wrong value.
    #[must_use]
    pub fn from_args() -> Self {
        Self::from_args_and_rest().0
    }

    /// Like [`from_args`](Self::from_args); also returns the arguments left to the program.
    #[must_use]
    pub fn from_args_and_rest() -> (Self, Vec<String>) {
        let mut options = Self::default();
        options.read_variable();
        let others = options.read(std::env::args().skip(1));
        (options, others)
    }

    /// Reads the options from `words`; also returns the words that are none of these.
    pub fn parse(words: impl IntoIterator<Item = String>) -> (Self, Vec<String>) {
        let mut options = Self::default();
        let others = options.read(words);
        (options, others)
    }

    /// Changes the options that are in the variable `SINTONIA_MALLEABLE`; returns its words that are none of these.
    pub fn read_variable(&mut self) -> Vec<String> {
        let words = std::env::var(VARIABLE).unwrap_or_default();
        self.read(words.split_whitespace().map(str::to_owned))
    }

    /// Changes the options that are among `words`; returns the words that are none of these.
    pub fn read(&mut self, words: impl IntoIterator<Item = String>) -> Vec<String> {
        let (others, problem) = TABLE.read(words, |option, value| self.set_option(option, value));
        self.problem = self.problem.take().or(problem);
        others
    }

    /// Sets an option of the table; `None` if its value is not valid.
    fn set_option(&mut self, option: &str, value: &str) -> Option<()> {
        let duration = || time(value).map(Interval::Time);
        match option {
            "--sizes" => self.sizes = Some(sizes(value)?),
            "--preferred" => self.preferred = Some(positive(value)?),
            "--schedule" => self.schedule = schedule(value)?,
            "--check-every" if value == "auto" => self.check_every = None,
            "--check-every" => self.check_every = Some(positive(value)?),
            "--strategy" => self.method.strategy = one_of(value, &STRATEGIES)?,
            "--spawn" => self.method.spawn = Some(one_of(value, &SPAWNS)?),
            "--foreground" => self.method.is_foreground = true,
            "--redistribution" => self.method.redistribution = one_of(value, &REDISTRIBUTIONS)?,
            "--placement" => self.nodes.placement = one_of(value, &PLACEMENTS)?,
            "--hostfile" => self.nodes.hostfile = Some(value.into()),
            "--manager" => self.nodes.manager = one_of(value, &MANAGERS)?,
            "--model" => self.model = Some(value.into()),
            "--iterations" => self.n_iterations = Some(positive(value)?),
            "--record" => self.record = Some(value.into()),
            "--control" => self.control = Some(value.into()),
            "--deadline" => self.deadline = time(value)?,
            "--checkpoint" => self.checkpoint = Some(value.into()),
            // Before there were units, a number was one of seconds.
            "--checkpoint-every" => self.checkpoint_every = interval(value).or_else(duration)?,
            "--explain" => self.is_explaining = true,
            _ => return None,
        }
        Some(())
    }
}

const STRATEGIES: [(&str, Strategy); 2] =
    [("merge", Strategy::Merge), ("baseline", Strategy::Baseline)];

const SPAWNS: [(&str, Spawn); 5] = [
    ("tree", Spawn::Tree),
    ("one", Spawn::One),
    ("per-node", Spawn::PerNode),
    ("sequential", Spawn::Sequential),
    ("companion", Spawn::Companion),
];

const REDISTRIBUTIONS: [(&str, Redistribution); 5] = [
    ("auto", Redistribution::Auto),
    ("sync", Redistribution::Sync),
    ("async", Redistribution::Async),
    ("p2p", Redistribution::PointToPoint),
    ("get", Redistribution::Get),
];

const PLACEMENTS: [(&str, Placement); 3] =
    [("balance", Placement::Balance), ("fill", Placement::Fill), ("nearest", Placement::Nearest)];

const MANAGERS: [(&str, ManagerKind); 4] = [
    ("none", ManagerKind::None),
    ("hosts", ManagerKind::Hosts),
    ("slurm", ManagerKind::Slurm),
    ("auto", ManagerKind::Auto),
];

fn sizes(text: &str) -> Option<(u32, u32)> {
    let (min, max) = text.split_once(':').unwrap_or((text, text));
    let (min, max) = (positive(min)?, positive(max)?);
    (min <= max).then_some((min, max))
}

fn schedule(text: &str) -> Option<Vec<(u64, u32)>> {
    let pair = |text: &str| {
        let (iteration, size) = text.split_once(':')?;
        Some((iteration.parse().ok()?, positive(size)?))
    };
    let mut pairs = text.split(',').map(pair).collect::<Option<Vec<_>>>()?;
    pairs.sort_by_key(|(iteration, _)| *iteration);
    Some(pairs)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(words: &str, expected: Options) {
        let words = words.split_whitespace().map(str::to_owned);
        assert_eq!(Options::parse(words), (expected, Vec::new()));
    }

    #[test]
    fn words_are_options() {
        let new = Options::new;
        check("", new());
        check("--sizes 2:8 --preferred 4", new().sizes(2, 8).preferred(4));
        check("--sizes=3", new().sizes(3, 3));
        check("--schedule 20:4,10:8", new().schedule([(10, 8), (20, 4)]));
        check("--check-every 5", new().check_every(5));
        check("--check-every auto", new());
        check(
            "--strategy baseline --spawn one",
            new().strategy(Strategy::Baseline).spawn(Spawn::One),
        );
        check("--spawn companion --foreground", new().spawn(Spawn::Companion).foreground());
        let p2p = new().redistribution(Redistribution::PointToPoint);
        check("--redistribution p2p", p2p);
        let hostfile = new().placement(Placement::Fill).hostfile("h");
        check("--placement fill --hostfile h", hostfile.clone());
        check("--placement fill --hosts h", hostfile);
        check("--manager slurm", new().manager(ManagerKind::Slurm));
        check("--model m --iterations 9", new().model("m").iterations(9));
        check("--record r --control c", new().record("r").control("c"));
        check("--deadline 0.5", new().deadline(Duration::from_millis(500)));
        let every = |interval| new().checkpoint_every(interval).explain();
        check("--checkpoint-every 3it --explain", every(Interval::Iterations(3)));
        let three = every(Interval::Time(Duration::from_secs(3)));
        check("--checkpoint-every 3s --explain", three.clone());
        check("--checkpoint-every 3 --checkpoint f --explain", three.checkpoint("f"));
    }

    #[test]
    fn other_words_are_the_programs_own() {
        let words = ["a.mtx", "--rows", "5", "--sizes", "1:2", "--", "--sizes"];
        let (options, others) = Options::parse(words.map(str::to_owned));
        assert_eq!(options, Options::new().sizes(1, 2));
        assert_eq!(others, ["a.mtx", "--rows", "5", "--sizes"]);
    }

    #[track_caller]
    fn check_refused(words: &str, part: &str) {
        let (options, _) = Options::parse(words.split_whitespace().map(str::to_owned));
        let refused = options.problem.unwrap();
        assert!(refused.to_string().contains(part), "{refused}");
    }

    #[test]
    fn wrong_words_are_refused() {
        check_refused("--sizes", "`--sizes MIN:MAX`");
        check_refused("--sizes 4:2", "`--sizes 4:2` is not understood");
        check_refused("--schedule 10:0", "ITERATION:SIZE");
        check_refused("--schedule 10", "ITERATION:SIZE");
        check_refused("--check-every 0", "`--check-every K|auto`");
        check_refused("--strategy best", "merge|baseline");
        check_refused("--deadline 0", "SECONDS");
    }

    #[test]
    fn sizes_are_those_of_the_schedule_where_none_are_given() {
        assert_eq!(Options::new().sizes_with(3), (3, 3));
        assert_eq!(Options::new().schedule([(1, 2), (2, 8)]).sizes_with(3), (2, 8));
        assert_eq!(Options::new().sizes(1, 4).schedule([(2, 8)]).sizes_with(3), (1, 4));
    }
}
