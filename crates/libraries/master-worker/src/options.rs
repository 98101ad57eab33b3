//! Options of a run; each has a default.

mod arguments;

use chunking::UnknownPolicy;
use host_list::NodeListError;
use option_table::{ArgumentError, Interval};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

/// Options of a run.
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
    pub(crate) pool: PoolOptions,
    pub(crate) n_threads: Option<u32>,
    pub(crate) n_attempts: u32,
    pub(crate) deadline: Duration,
    pub(crate) checkpoint: CheckpointOptions,
    pub(crate) network: Option<PathBuf>,
    pub(crate) n_history: usize,
    pub(crate) talk: Talk,
    pub(crate) record: Option<PathBuf>,
    pub(crate) cancel: Cancel,
    /// First error in the arguments, which the run returns.
    pub(crate) problem: Option<OptionsError>,
}

/// Options for the number of workers.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct PoolOptions {
    pub(crate) workers: Workers,
    pub(crate) n_first: Option<u32>,
    pub(crate) n_max: Option<u32>,
    pub(crate) hosts: Vec<String>,
    pub(crate) n_iterations_to_come: Option<u64>,
}

/// Options for checkpoints.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct CheckpointOptions {
    pub(crate) file: Option<PathBuf>,
    pub(crate) interval: Interval,
    pub(crate) is_resumed: bool,
}

/// Time at which a worker that has a chunk is sent the next one.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Prefetch {
    /// After the results of the present chunk: every chunk costs the worker a round trip.
    Off,
    /// Just before the expected end of the present chunk: no worker waits, and few tasks are stuck behind a late one.
    #[default]
    Late,
    /// Immediately: for tasks that take less time than a message.
    Always,
}

/// Number of workers that get work.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Workers {
    /// All workers.
    #[default]
    All,
    /// At most this many.
    Fixed(u32),
    /// As many as make iterations shortest by the model of `worker-count`, starting with those present.
    Tuned,
}

/// Messages of the master on standard error.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Talk {
    /// No messages.
    #[default]
    Nothing,
    /// Progress of the run: on a terminal one line that is replaced, elsewhere a line every few seconds.
    Progress,
    /// After each iteration, why workers were idle and why their number was chosen; at the end, a table.
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

    /// Returns whether the run was stopped.
    pub fn is_canceled(&self) -> bool {
        self.0.load(Ordering::Acquire)
    }
}

impl PartialEq for Cancel {
    fn eq(&self, other: &Self) -> bool {
        self.is_canceled() == other.is_canceled()
    }
}

/// Error in the options.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum OptionsError {
    /// An argument is not valid.
    #[error(transparent)]
    Argument(#[from] ArgumentError),
    /// The list of hosts is malformed.
    #[error("`--hosts` is wrong")]
    Hosts(#[from] NodeListError),
    /// No policy has this name.
    #[error("`--policy` is wrong")]
    Policy(#[from] UnknownPolicy),
    /// A checkpoint is requested, but the program does not write checkpoints.
    #[error(
        "the program has no checkpoints; implement `save` and `restore`, or leave out `{option}`"
    )]
    NoCheckpoints {
        /// Option that needs checkpoints.
        option: &'static str,
    },
    /// `--resume` is given without a checkpoint file.
    #[error("`--resume` needs `--checkpoint FILE`, the file to go on from")]
    NoFile,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            policy: "best".to_owned(),
            prefetch: Prefetch::Late,
            is_synchronous: false,
            is_master_working: false,
            pool: PoolOptions::default(),
            n_threads: None,
            n_attempts: 2,
            deadline: Duration::from_mins(10),
            checkpoint: CheckpointOptions {
                file: None,
                interval: Interval::Iterations(1),
                is_resumed: false,
            },
            network: None,
            n_history: 100,
            talk: Talk::Nothing,
            record: None,
            cancel: Cancel::default(),
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

    option_table::setters! {
        /// Sets the policy that sizes the chunks: a name that [`chunking::all`] lists; `best` by default.
        policy(name: &str) => policy = name.to_owned();
        /// Sets when the next chunk is sent; [`Prefetch::Late`] by default.
        prefetch(prefetch: Prefetch) => prefetch = prefetch;
        /// Makes the master wait after each chunk until the worker confirms that it has it.
        synchronous() => is_synchronous = true;
        /// Makes the master compute as well while it has nothing else to do. Without any worker it does so anyway.
        master_works() => is_master_working = true;
        /// Sets how many workers get work; all by default.
        workers(workers: Workers) => pool.workers = workers;
        /// Sets how many workers take part in the first iteration when their number is tuned; all present ones by default.
        /// Others join as soon as measurements show that they help.
        workers_first(n_workers: u32) => pool.n_first = Some(n_workers.max(1));
        /// Sets the largest number of workers in use: further ones are started when [`workers`](Self::workers), its model
        /// or an outside tool asks for more than there are, if the MPI library can start processes. By default as many as
        /// the allocation has room for; on threads, those present.
        workers_max(n_workers: u32) => pool.n_max = Some(n_workers.max(1));
        /// Sets where workers are started: names of hosts, each followed by a colon and its number of workers unless that
        /// is its number of cores; `rack[1-2]n[01-03]:4` are six hosts. By default the nodes of the Slurm job, or the
        /// launcher's choice.
        hosts(hosts: impl IntoIterator<Item = impl Into<String>>) => pool.hosts = hosts.into_iter().map(Into::into).collect();
        /// Sets how many more iterations the model counts on: it starts workers when their gain over these iterations
        /// exceeds the cost of starting them. By default as many as were done so far, and at least ten.
        iterations_to_come(n_iterations: u64) => pool.n_iterations_to_come = Some(n_iterations);
        /// Sets the number of ranks, the master included, when the program was not started by an MPI launcher; by default
        /// one more than there are cores.
        threads(n_threads: u32) => n_threads = Some(n_threads.max(1));
        /// Sets how often a task that panics is tried, each time on another rank if there is one; twice by default.
        attempts(n_attempts: u32) => n_attempts = n_attempts.max(1);
        /// Sets how long a worker may be silent, beyond ten times the expected time of its chunk, before its work is dealt
        /// again; 600 s by default. A worker waits a hundred times as long for the master.
        ///
        /// A worker that never comes back does not keep a run on ranks from ending: see
        /// [`missing`](crate::Report::missing). A thread cannot be ended from outside: on threads the run waits for it.
        deadline(deadline: Duration) => deadline = deadline;
        /// Writes checkpoints to this file; after each iteration by default.
        checkpoint(file: impl AsRef<Path>) => checkpoint.file = Some(file.as_ref().to_owned());
        /// Sets after how many iterations or how long the next checkpoint is due; every iteration by default.
        checkpoint_every(interval: Interval) => checkpoint.interval = interval;
        /// Continues from the checkpoint if it exists, else begins anew.
        resume() => checkpoint.is_resumed = true;
        /// Starts from the latency and cost per byte of a file that `sintonia netbench --json` wrote. Both are measured
        /// during the run in any case; see [`Network`](crate::Network).
        network(file: impl AsRef<Path>) => network = Some(file.as_ref().to_owned());
        /// Sets how many iterations the report keeps; 100 by default.
        history(n_iterations: usize) => n_history = n_iterations;
        /// Sets what the master writes to standard error; nothing by default.
        talk(talk: Talk) => talk = talk;
        /// Writes the report of the run to this file, as JSON; `sintonia report FILE` shows it.
        record(file: impl AsRef<Path>) => record = Some(file.as_ref().to_owned());
        /// Sets the handle that stops the run.
        cancel(cancel: &Cancel) => cancel = cancel.clone();
    }

    /// Prefetch in effect: none for synchronous runs, as a worker that computes confirms nothing.
    pub(crate) fn prefetch_now(&self) -> Prefetch {
        if self.is_synchronous { Prefetch::Off } else { self.prefetch }
    }

    /// Checks what can be checked before a run.
    pub(crate) fn check(&self) -> Result<(), OptionsError> {
        chunking::by_name(&self.policy)?;
        self.pool.hosts.iter().try_for_each(|host| host_list::hosts(host).map(drop))?;
        if self.checkpoint.is_resumed && self.checkpoint.file.is_none() {
            return Err(OptionsError::NoFile);
        }
        self.problem.clone().map_or(Ok(()), Err)
    }
}
