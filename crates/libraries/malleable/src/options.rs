//! Options for changing the size of a program; each has a default.

mod arguments;

use option_table::{ArgumentError, Interval};
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
    pub(crate) spawn: Spawn,
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

    /// Sets from which iteration on the program wants which size; sizes are applied in order, none is skipped.
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
        /// Sets how processes are started.
        spawn(spawn: Spawn) => method.spawn = spawn;
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
        /// Sets how to judge whether a resize pays: by a model file of the program's time, as `FILE:NAME=VALUE,...` where
        /// it has parameters beside the number of processes; by `learn`, from measurements at the sizes it has had; or by
        /// `explore`, which also tries sizes. The program then changes its size by itself.
        model(file: impl AsRef<Path>) => model = Some(file.as_ref().to_owned());
        /// Sets the total number of iterations.
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
