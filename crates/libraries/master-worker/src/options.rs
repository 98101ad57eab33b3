//! Options of a run; each has a default.

use chunking::UnknownPolicy;
use host_list::NodeListError;
use option_table::{ArgumentError, Interval, OptionTable, interval, one_of, positive, time};
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
    /// Multiple of its expected time after which a chunk is overdue.
    pub(crate) overdue: Option<f64>,
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

impl PoolOptions {
    /// Largest number of workers.
    pub(crate) fn n_allowed(&self) -> u32 {
        self.n_max.unwrap_or(u32::MAX)
    }
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
            overdue: Some(10.0),
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
        /// Sets after how many times its expected time a chunk is overdue, and its tasks go to workers that have nothing else
        /// to do; 10 times by default, `None` for never. The first answer counts, whichever worker gives it.
        ///
        /// No chunk is overdue within 10 s, within three times the longest that one has taken so far beyond what was
        /// expected of it, or before any chunk was measured.
        overdue(n_times: Option<f64>) => overdue = n_times.map(|n_times| n_times.max(1.0));
        /// Sets how long a worker may be silent, beyond ten times the expected time of its chunk, before it counts as
        /// missing, whatever is known of its chunk; 600 s by default. Without any other worker the master then does its
        /// tasks. A worker waits a hundred times as long for the master.
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
        /// during the run in any case; see [`WorkerNetwork`](crate::WorkerNetwork).
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

/// The options as arguments.
const TABLE: OptionTable = OptionTable {
    help: "\
Options of the run:
  --policy NAME               how chunks are sized: best (default), static, ss, gss, tss, fac2, ...
  --prefetch off|late|always  when the next chunk is sent to a worker that has one (default: late)
  --synchronous               the master waits after each chunk until the worker has it
  --master-works              the master computes too while no worker needs it
  --workers N|all|auto        how many workers get work (default: all); auto follows a performance model
  --first-workers N           how many take part in the first iteration with auto (default: all)
  --max-workers N             start further workers, up to N in all, where the MPI library can
  --hosts NAME[:N],...        hosts for these workers, and how many on each
  --horizon N                 iterations to come, in which starting a worker has to pay
  --threads N                 threads, the master included, when no MPI launcher started the program
  --attempts N                how often tasks that fail are tried (default: 2)
  --overdue N|never           multiple of its expected time after which a chunk goes to others too (default: 10)
  --deadline SECONDS          how long a worker may be silent before it is missing in any case (default: 600)
  --checkpoint FILE           write the state to this file
  --checkpoint-every 10it|30s  after so many iterations, or so long (default: 1it)
  --resume                    continue from the checkpoint if there is one
  --network FILE              begin with the latencies that `sintonia netbench --json` wrote
  --progress                  a line per iteration on standard error
  --explain                   and why workers were idle
  --record FILE               write the report on the work as JSON; `sintonia report FILE` shows it
`--option=value` does as well; what stands after `--` is the program's own.
",
    former: &[("--patience", "--deadline"), ("--report", "--record")],
};

impl Options {
    /// The options as arguments, one per line, as a program prints them with `--help`.
    pub const HELP: &'static str = TABLE.help;

    /// Reads the options from the arguments of the process, as [`HELP`](Self::HELP) lists them; `--option=value` works as
    /// well. Other arguments are left to the program. The run returns the error for a wrong value.
    #[must_use]
    pub fn from_args() -> Self {
        Self::parse(std::env::args().skip(1)).0
    }

    /// Reads the options from `arguments`; also returns the arguments that are none of these.
    pub fn parse(arguments: impl IntoIterator<Item = String>) -> (Self, Vec<String>) {
        let mut options = Self::default();
        let others = options.read(arguments);
        (options, others)
    }

    /// Changes the options that are among `arguments`; returns the arguments that are none of these.
    pub fn read(&mut self, arguments: impl IntoIterator<Item = String>) -> Vec<String> {
        let (others, problem) =
            TABLE.read(arguments, |option, value| self.set_option(option, value));
        self.problem = self.problem.take().or(problem.map(Into::into));
        others
    }

    /// Sets an option of the table; `None` if its value is not valid.
    fn set_option(&mut self, option: &str, value: &str) -> Option<()> {
        let prefetches =
            [("off", Prefetch::Off), ("late", Prefetch::Late), ("always", Prefetch::Always)];
        let n_workers = || positive(value).map(Workers::Fixed);
        let iterations = || positive(value).map(Interval::Iterations);
        match option {
            "--policy" => value.clone_into(&mut self.policy),
            "--prefetch" => self.prefetch = one_of(value, &prefetches)?,
            "--synchronous" => self.is_synchronous = true,
            "--master-works" => self.is_master_working = true,
            "--workers" => {
                let words = [("all", Workers::All), ("auto", Workers::Tuned)];
                self.pool.workers = one_of(value, &words).or_else(n_workers)?;
            }
            "--first-workers" => self.pool.n_first = Some(positive(value)?),
            "--max-workers" => self.pool.n_max = Some(positive(value)?),
            "--hosts" => self.pool.hosts = hosts(value),
            "--horizon" => self.pool.n_iterations_to_come = Some(positive(value)?),
            "--threads" => self.n_threads = Some(positive(value)?),
            "--attempts" => self.n_attempts = positive(value)?,
            "--overdue" => {
                let times = || positive::<u32>(value).map(|n_times| Some(f64::from(n_times)));
                self.overdue = one_of(value, &[("never", None)]).or_else(times)?;
            }
            "--deadline" => self.deadline = time(value)?,
            "--checkpoint" => self.checkpoint.file = Some(value.into()),
            // Before there were units, a number was one of iterations.
            "--checkpoint-every" => {
                self.checkpoint.interval = interval(value).or_else(iterations)?;
            }
            "--resume" => self.checkpoint.is_resumed = true,
            "--network" => self.network = Some(value.into()),
            "--progress" => self.talk = Talk::Progress,
            "--explain" => self.talk = Talk::Explain,
            "--record" => self.record = Some(value.into()),
            _ => return None,
        }
        Some(())
    }
}

/// Splits a list of hosts; commas in brackets belong to a name. The run refuses a list that is malformed.
fn hosts(list: &str) -> Vec<String> {
    let words = host_list::words(list).unwrap_or_else(|_| vec![list]);
    words.into_iter().map(str::to_owned).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(line: &str) -> (Options, Vec<String>) {
        Options::parse(line.split_whitespace().map(str::to_owned))
    }

    #[track_caller]
    fn check(line: &str, expected: Options) {
        assert_eq!(parse(line), (expected, Vec::new()));
    }

    #[test]
    fn every_option_has_an_argument() {
        let new = Options::new;
        check("", new());
        check("--policy gss", new().policy("gss"));
        check("--policy=gss", new().policy("gss"));
        check("--prefetch always --synchronous", new().prefetch(Prefetch::Always).synchronous());
        check("--master-works --workers all", new().master_works());
        check("--workers 3", new().workers(Workers::Fixed(3)));
        check("--workers auto", new().workers(Workers::Tuned));
        check("--first-workers 2", new().workers_first(2));
        check("--max-workers 9 --horizon 40", new().workers_max(9).iterations_to_come(40));
        check("--hosts a,b:2", new().hosts(["a", "b:2"]));
        check("--hosts r[1,2]n[1-3]:2,b", new().hosts(["r[1,2]n[1-3]:2", "b"]));
        check("--threads 5 --attempts 1", new().threads(5).attempts(1));
        check("--deadline 0.5", new().deadline(Duration::from_millis(500)));
        check("--overdue 20", new().overdue(Some(20.0)));
        check("--overdue never", new().overdue(None));
        check("--patience 5min", new().deadline(Duration::from_mins(5)));
        let every = |interval| new().checkpoint("a.b").checkpoint_every(interval);
        let seven = every(Interval::Iterations(7));
        check("--checkpoint a.b --checkpoint-every 7it", seven.clone());
        check("--checkpoint a.b --checkpoint-every 7", seven);
        let time = Interval::Time(Duration::from_secs(7));
        check("--checkpoint a.b --checkpoint-every 7s", every(time));
        check("--checkpoint x --resume", new().checkpoint("x").resume());
        check("--network n.json", new().network("n.json"));
        check("--progress", new().talk(Talk::Progress));
        check("--explain", new().talk(Talk::Explain));
        check("--record r.json", new().record("r.json"));
        check("--report r.json", new().record("r.json"));
    }

    #[test]
    fn other_arguments_are_the_programs_own() {
        let (options, others) = parse("200 --threads 2 --bodies 7 -- --resume");
        assert_eq!(options, Options::new().threads(2));
        assert_eq!(others, ["200", "--bodies", "7", "--resume"]);
    }

    #[track_caller]
    fn check_wrong(line: &str, expected: &str) {
        assert_eq!(parse(line).0.check().unwrap_err().to_string(), expected);
    }

    #[test]
    fn wrong_values_are_told() {
        check_wrong("--threads", "`--threads` has no value; write `--threads N`");
        check_wrong(
            "--patience inf",
            "`--patience inf` is not understood; write `--patience SECONDS`",
        );
        check_wrong(
            "--checkpoint-every 0.5",
            "`--checkpoint-every 0.5` is not understood; write `--checkpoint-every 10it|30s`",
        );
        check_wrong(
            "--workers some",
            "`--workers some` is not understood; write `--workers N|all|auto`",
        );
        check_wrong("--hosts a,,b", "`--hosts` is wrong");
        check_wrong("--hosts a:none", "`--hosts` is wrong");
        check_wrong("--policy fastest", "`--policy` is wrong");
        check_wrong("--resume", "`--resume` needs `--checkpoint FILE`, the file to go on from");
    }
}
