//! How a program changes its size; everything has a default.

mod arguments;

use resized::{Spawn, Strategy};
use std::path::{Path, PathBuf};
use std::time::Duration;

/// How a program changes its size.
///
/// ```
/// use malleable::Options;
///
/// let words = ["--sizes", "2:8", "--schedule", "10:4", "matrix.mtx"];
/// let (options, others) = Options::parse(words.map(str::to_owned))?;
/// assert_eq!(options, Options::new().sizes(2, 8).schedule([(10, 4)]));
/// assert_eq!(others, ["matrix.mtx"]);
/// # Ok::<(), malleable::OptionsError>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct Options {
    pub(crate) sizes: Option<(u32, u32)>,
    pub(crate) preferred: Option<u32>,
    /// Iteration and size, by iteration.
    pub(crate) schedule: Vec<(u64, u32)>,
    /// Iterations between two resize points that look; as time demands if nothing is said.
    pub(crate) check_every: Option<u32>,
    pub(crate) strategy: Strategy,
    pub(crate) spawn: Spawn,
    pub(crate) is_foreground: bool,
    pub(crate) redistribution: Redistribution,
    pub(crate) placement: Placement,
    pub(crate) hosts: Option<PathBuf>,
    pub(crate) manager: ManagerKind,
    pub(crate) model: Option<PathBuf>,
    pub(crate) n_iterations: Option<u64>,
    pub(crate) record: Option<PathBuf>,
    pub(crate) control: Option<PathBuf>,
    pub(crate) deadline: Duration,
    pub(crate) checkpoint: Option<PathBuf>,
    pub(crate) checkpoint_every: Duration,
    pub(crate) is_explaining: bool,
}

/// How data travel.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Redistribution {
    /// As is fastest in a trial of the library.
    #[default]
    Auto,
    /// All together, while the program waits.
    Sync,
    /// Constant data while the program computes.
    Async,
    /// Messages between those that share rows only, while the program waits.
    PointToPoint,
    /// Targets fetch constant data while the program computes.
    Get,
}

/// On which nodes processes are started.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Placement {
    /// As many on each node.
    #[default]
    Balance,
    /// Node after node.
    Fill,
    /// Where the data are that they get.
    Nearest,
}

/// Who has nodes for further processes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ManagerKind {
    /// Nobody: the launcher's choice.
    None,
    /// A file of hosts.
    Hosts,
    /// Slurm.
    Slurm,
    /// Slurm inside of a Slurm job, else a file of hosts if there is one, else nobody.
    #[default]
    Auto,
}

/// Why options cannot be used.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum OptionsError {
    /// An option lacks its value.
    #[error("`{option}` has no value; write `{option} {expected}`")]
    NoValue {
        /// The option.
        option: String,
        /// What it takes.
        expected: &'static str,
    },
    /// The value of an option is none.
    #[error("`{option} {value}` is not understood; write `{option} {expected}`")]
    Value {
        /// The option.
        option: String,
        /// Its value.
        value: String,
        /// What it takes.
        expected: &'static str,
    },
}

/// From one checkpoint to the next one.
const CHECKPOINT_EVERY: Duration = Duration::from_mins(5);
/// Every phase of a resize may take so long.
const DEADLINE: Duration = Duration::from_secs(60);

impl Default for Options {
    fn default() -> Self {
        Self {
            sizes: None,
            preferred: None,
            schedule: Vec::new(),
            check_every: None,
            strategy: Strategy::Merge,
            spawn: Spawn::Tree,
            is_foreground: false,
            redistribution: Redistribution::Auto,
            placement: Placement::Balance,
            hosts: None,
            manager: ManagerKind::Auto,
            model: None,
            n_iterations: None,
            record: None,
            control: None,
            deadline: DEADLINE,
            checkpoint: None,
            checkpoint_every: CHECKPOINT_EVERY,
            is_explaining: false,
        }
    }
}

impl Options {
    /// The defaults.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Fewest and most ranks. If nothing is said, the program keeps those sizes only that its schedule names.
    #[must_use]
    pub fn sizes(mut self, min: u32, max: u32) -> Self {
        let min = min.max(1);
        self.sizes = Some((min, max.max(min)));
        self
    }

    /// Where the program runs best.
    #[must_use]
    pub fn preferred(mut self, n_ranks: u32) -> Self {
        self.preferred = Some(n_ranks);
        self
    }

    /// From which iteration on it wants which size; one after the other, none is left out.
    #[must_use]
    pub fn schedule(mut self, sizes: impl IntoIterator<Item = (u64, u32)>) -> Self {
        self.schedule = sizes.into_iter().collect();
        self.schedule.sort_by_key(|(iteration, _)| *iteration);
        self
    }

    /// Iterations between two resize points that look for news; about every 10 ms if nothing is said.
    #[must_use]
    pub fn check_every(mut self, n_iterations: u32) -> Self {
        self.check_every = Some(n_iterations.max(1));
        self
    }

    /// Who goes on.
    #[must_use]
    pub fn strategy(mut self, strategy: Strategy) -> Self {
        self.strategy = strategy;
        self
    }

    /// How processes are started.
    #[must_use]
    pub fn spawn(mut self, spawn: Spawn) -> Self {
        self.spawn = spawn;
        self
    }

    /// The program waits while processes are started, and until those that leave are gone.
    #[must_use]
    pub fn foreground(mut self) -> Self {
        self.is_foreground = true;
        self
    }

    /// How data travel.
    #[must_use]
    pub fn redistribution(mut self, redistribution: Redistribution) -> Self {
        self.redistribution = redistribution;
        self
    }

    /// On which nodes processes are started.
    #[must_use]
    pub fn placement(mut self, placement: Placement) -> Self {
        self.placement = placement;
        self
    }

    /// A file of hosts for further processes.
    #[must_use]
    pub fn hosts(mut self, file: impl AsRef<Path>) -> Self {
        self.hosts = Some(file.as_ref().to_owned());
        self
    }

    /// Who has nodes for further processes.
    #[must_use]
    pub fn manager(mut self, manager: ManagerKind) -> Self {
        self.manager = manager;
        self
    }

    /// By what it is judged whether a resize pays: a model file of the program's time, `FILE:NAME=VALUE,...` where it has
    /// parameters beside the number of processes; or `learn`, by what was seen of the sizes that it has had; or `explore`,
    /// which tries sizes, too. The program then changes its size by itself.
    #[must_use]
    pub fn model(mut self, file: impl AsRef<Path>) -> Self {
        self.model = Some(file.as_ref().to_owned());
        self
    }

    /// How many iterations there will be in all.
    #[must_use]
    pub fn iterations(mut self, n_iterations: u64) -> Self {
        self.n_iterations = Some(n_iterations);
        self
    }

    /// What [`iterations`](Self::iterations) said, or the argument of this name: the program may want to know it, too.
    #[must_use]
    pub const fn n_iterations(&self) -> Option<u64> {
        self.n_iterations
    }

    /// A folder in which `resizes.jsonl` is written.
    #[must_use]
    pub fn record(mut self, folder: impl AsRef<Path>) -> Self {
        self.record = Some(folder.as_ref().to_owned());
        self
    }

    /// The folder of status and wishes; `$HOME/.sintonia/jobs` if nothing is said.
    #[must_use]
    pub fn control(mut self, folder: impl AsRef<Path>) -> Self {
        self.control = Some(folder.as_ref().to_owned());
        self
    }

    /// How long each phase of a resize may take; 60 s if nothing is said.
    #[must_use]
    pub fn deadline(mut self, deadline: Duration) -> Self {
        self.deadline = deadline;
        self
    }

    /// The file that the state is written to from time to time. When it is there at the start of the program, that goes on from
    /// it, with any number of ranks; when the program is done, it is removed. It lies where every rank 0 can write: another
    /// process may become rank 0. Beside it lies a file of constant data.
    #[must_use]
    pub fn checkpoint(mut self, file: impl AsRef<Path>) -> Self {
        self.checkpoint = Some(file.as_ref().to_owned());
        self
    }

    /// From one checkpoint to the next one; 5 minutes if nothing is said.
    #[must_use]
    pub fn checkpoint_every(mut self, every: Duration) -> Self {
        self.checkpoint_every = every;
        self
    }

    /// A line on standard error of rank 0 for each resize.
    #[must_use]
    pub fn explain(mut self) -> Self {
        self.is_explaining = true;
        self
    }

    /// Whether the program keeps the ranks with which it is launched, however many these are.
    pub(crate) fn is_fixed(&self) -> bool {
        self.sizes.is_none() && self.schedule.is_empty()
    }

    /// Sizes that may be wished for: what was said, else from the least to the most in the schedule and `n_ranks`.
    pub(crate) fn sizes_with(&self, n_ranks: u32) -> (u32, u32) {
        self.sizes.unwrap_or_else(|| {
            let named = self.schedule.iter().map(|(_, size)| *size);
            named.fold((n_ranks, n_ranks), |(min, max), size| (min.min(size), max.max(size)))
        })
    }
}
