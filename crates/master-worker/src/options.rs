//! How a run is done; everything has a default.

mod arguments;

use chunking::UnknownPolicy;
use node_list::NodeListError;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

/// How a run is done.
///
/// ```
/// use master_worker::{Options, Workers};
///
/// let options = Options::new().policy("gss").threads(4).workers(Workers::Tuned);
/// assert_ne!(options, Options::from_args());
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct Options {
    pub(crate) policy: String,
    pub(crate) prefetch: Prefetch,
    pub(crate) is_synchronous: bool,
    pub(crate) is_master_working: bool,
    pub(crate) workers: Workers,
    pub(crate) n_workers_first: Option<u32>,
    pub(crate) n_workers_max: Option<u32>,
    pub(crate) hosts: Vec<String>,
    pub(crate) n_iterations_to_come: Option<u64>,
    pub(crate) n_threads: Option<u32>,
    pub(crate) n_attempts: u32,
    pub(crate) patience: Duration,
    pub(crate) checkpoint: Option<PathBuf>,
    pub(crate) n_between_checkpoints: u64,
    pub(crate) is_resumed: bool,
    pub(crate) network: Option<PathBuf>,
    pub(crate) n_history: usize,
    pub(crate) talk: Talk,
    pub(crate) report: Option<PathBuf>,
    pub(crate) cancel: Cancel,
    /// What was wrong with the arguments; the run says it.
    pub(crate) problem: Option<OptionsError>,
}

/// When the next chunk is sent to a worker that has one.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Prefetch {
    /// After the results of the present one: every chunk costs the worker a round trip.
    Off,
    /// Just before the expected end of the present one: no worker waits, and few tasks wait for one
    /// that is late.
    #[default]
    Late,
    /// At once: for tasks shorter than a message takes.
    Always,
}

/// How many of the workers there are get work.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Workers {
    /// All.
    #[default]
    All,
    /// So many at most.
    Fixed(u32),
    /// As many as make iterations shortest, by the model of `worker-count`; starting with those that are there.
    Tuned,
}

/// What the master says on standard error.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Talk {
    /// Nothing.
    #[default]
    Nothing,
    /// Where the run stands: on a terminal one line that is replaced, elsewhere a line every few seconds.
    Progress,
    /// After each iteration why workers were idle and why there were so many, and in the end a table.
    Explain,
}

/// Stops a run from another thread, or from within; clones stop the same run.
#[derive(Clone, Debug, Default)]
pub struct Cancel(Arc<AtomicBool>);

impl Cancel {
    /// Stops the run: the master deals nothing more and ends with [`Error::Canceled`](crate::Error::Canceled).
    pub fn cancel(&self) {
        self.0.store(true, Ordering::Release);
    }

    /// Whether somebody stopped it.
    pub fn is_canceled(&self) -> bool {
        self.0.load(Ordering::Acquire)
    }
}

impl PartialEq for Cancel {
    fn eq(&self, other: &Self) -> bool {
        self.is_canceled() == other.is_canceled()
    }
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
    /// The hosts are not written as they should be.
    #[error("`--hosts` is wrong")]
    Hosts(#[from] NodeListError),
    /// There is no such policy.
    #[error("`--policy` is wrong")]
    Policy(#[from] UnknownPolicy),
    /// A checkpoint is asked for that the program does not write.
    #[error(
        "the program has no checkpoints; implement `save` and `restore`, or leave out `{option}`"
    )]
    NoCheckpoints {
        /// The option.
        option: &'static str,
    },
    /// There is nothing to go on from.
    #[error("`--resume` needs `--checkpoint FILE`, the file to go on from")]
    NoFile,
}

/// A silent worker is missed after this, and the time that its chunk takes.
const PATIENCE: Duration = Duration::from_secs(600);

impl Default for Options {
    fn default() -> Self {
        Self {
            policy: "best".to_owned(),
            prefetch: Prefetch::Late,
            is_synchronous: false,
            is_master_working: false,
            workers: Workers::All,
            n_workers_first: None,
            n_workers_max: None,
            hosts: Vec::new(),
            n_iterations_to_come: None,
            n_threads: None,
            n_attempts: 2,
            patience: PATIENCE,
            checkpoint: None,
            n_between_checkpoints: 1,
            is_resumed: false,
            network: None,
            n_history: 100,
            talk: Talk::Nothing,
            report: None,
            cancel: Cancel::default(),
            problem: None,
        }
    }
}

impl Options {
    /// The defaults.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// How chunks are sized: a name that [`chunking::all`] lists; `best` if nothing is said.
    #[must_use]
    pub fn policy(mut self, name: &str) -> Self {
        name.clone_into(&mut self.policy);
        self
    }

    /// When the next chunk is sent.
    #[must_use]
    pub fn prefetch(mut self, prefetch: Prefetch) -> Self {
        self.prefetch = prefetch;
        self
    }

    /// The master waits after each chunk until the worker has it.
    #[must_use]
    pub fn synchronous(mut self) -> Self {
        self.is_synchronous = true;
        self
    }

    /// The master computes as well while nobody needs it. It does so anyway when there is nobody else.
    #[must_use]
    pub fn master_works(mut self) -> Self {
        self.is_master_working = true;
        self
    }

    /// How many workers get work.
    #[must_use]
    pub fn workers(mut self, workers: Workers) -> Self {
        self.workers = workers;
        self
    }

    /// How many workers take part in the first iteration when their number is tuned; all that are there if nothing
    /// is said. Others join as soon as it is seen that they help.
    #[must_use]
    pub fn workers_first(mut self, n_workers: u32) -> Self {
        self.n_workers_first = Some(n_workers.max(1));
        self
    }

    /// How many workers there may be in use: further ones are started when [`workers`](Self::workers), its model or a tool
    /// outside asks for more than there are, if the library can. If nothing is said, as many as the allocation
    /// has room for; on threads, no more than there are.
    #[must_use]
    pub fn workers_max(mut self, n_workers: u32) -> Self {
        self.n_workers_max = Some(n_workers.max(1));
        self
    }

    /// Where workers are started: names of hosts, each with its number of workers after a colon if it is not that
    /// of its cores; `rack[1-2]n[01-03]:4` are six. If nothing is said, the nodes of the Slurm job, or the launcher's
    /// choice.
    #[must_use]
    pub fn hosts<H: Into<String>>(mut self, hosts: impl IntoIterator<Item = H>) -> Self {
        self.hosts = hosts.into_iter().map(Into::into).collect();
        self
    }

    /// How many iterations will come: the model starts workers when they gain more in these than starting them
    /// costs. If nothing is said, as many as were done so far, and ten at least.
    #[must_use]
    pub fn iterations_to_come(mut self, n_iterations: u64) -> Self {
        self.n_iterations_to_come = Some(n_iterations);
        self
    }

    /// Ranks, the master included, when the program was not started by an MPI launcher; one more than there are
    /// cores if nothing is said.
    #[must_use]
    pub fn threads(mut self, n_threads: u32) -> Self {
        self.n_threads = Some(n_threads.max(1));
        self
    }

    /// How often a task that panics is tried, each time elsewhere if there is somebody; twice if
    /// nothing is said.
    #[must_use]
    pub fn attempts(mut self, n_attempts: u32) -> Self {
        self.n_attempts = n_attempts.max(1);
        self
    }

    /// How long a worker may be silent, beyond ten times the time that its chunk should take, before its
    /// work is dealt again; 600 s if nothing is said. A worker waits a hundred times as long for the master.
    ///
    /// A worker that never comes back does not keep a run on ranks from its end: see
    /// [`missing`](crate::Report::missing). A thread cannot be ended from outside: on threads the run waits for it.
    #[must_use]
    pub fn patience(mut self, patience: Duration) -> Self {
        self.patience = patience;
        self
    }

    /// Writes this file after each iteration.
    #[must_use]
    pub fn checkpoint(mut self, file: impl AsRef<Path>) -> Self {
        self.checkpoint = Some(file.as_ref().to_owned());
        self
    }

    /// Writes it after every `n`-th iteration only.
    #[must_use]
    pub fn checkpoint_every(mut self, n_iterations: u64) -> Self {
        self.n_between_checkpoints = n_iterations.max(1);
        self
    }

    /// Goes on from the checkpoint when there is one, else begins.
    #[must_use]
    pub fn resume(mut self) -> Self {
        self.is_resumed = true;
        self
    }

    /// Begins with the latency and cost per byte of a file that `sintonia netbench --json` wrote. They are
    /// followed in any case; see [`Network`](crate::Network).
    #[must_use]
    pub fn network(mut self, file: impl AsRef<Path>) -> Self {
        self.network = Some(file.as_ref().to_owned());
        self
    }

    /// How many iterations the report keeps; 100 if nothing is said.
    #[must_use]
    pub fn history(mut self, n_iterations: usize) -> Self {
        self.n_history = n_iterations;
        self
    }

    /// What the master says on standard error.
    #[must_use]
    pub fn talk(mut self, talk: Talk) -> Self {
        self.talk = talk;
        self
    }

    /// Writes what became of the work into this file, as JSON; `sintonia report FILE` shows it.
    #[must_use]
    pub fn report(mut self, file: impl AsRef<Path>) -> Self {
        self.report = Some(file.as_ref().to_owned());
        self
    }

    /// What stops the run.
    #[must_use]
    pub fn cancel(mut self, cancel: &Cancel) -> Self {
        self.cancel = cancel.clone();
        self
    }

    /// When the next chunk is sent, all in all: a worker that computes gives no receipt.
    pub(crate) fn prefetch_now(&self) -> Prefetch {
        if self.is_synchronous { Prefetch::Off } else { self.prefetch }
    }

    /// Checks what can be checked before a run.
    pub(crate) fn check(&self) -> Result<(), OptionsError> {
        chunking::by_name(&self.policy)?;
        self.hosts.iter().try_for_each(|host| node_list::hosts(host).map(drop))?;
        if self.is_resumed && self.checkpoint.is_none() {
            return Err(OptionsError::NoFile);
        }
        self.problem.clone().map_or(Ok(()), Err)
    }
}
