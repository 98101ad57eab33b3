//! Failures that scripts distinguish by their exit codes, and these codes. `sintonia --help` lists them.
//!
//! # Not here
//! Errors of records and exports, which have codes, too (`exit` of `cli`).

use std::fmt::{Display, Formatter};
use std::process::ExitCode;

pub use Failure::{
    BadDescription, BadOption, Internal, NoDaemon, NoJob, NoRecord, NotAttached, NotExecutable,
    NotFound, NotRead, NotResized, NotWritten, Refused,
};

/// Exit codes for `--help`.
pub const HELP: &str = "\
Exit codes:
  of `run`   the command's own; 128 + N when signal N ended it;
             126 when it cannot be started, 127 when there is none,
  0          done; of `attach`: the program ended, or was left as it was
  2          an option is wrong
  100        failed; the message says what
  101        the run record, or of `learnt` the profile, is not there or cannot be read
  102        the result could not be written
  103        `run` or `attach` did not begin: `--app`, `--tunlet` or `--probe` is wrong
  104        `attach` changed nothing: a rank cannot be attached to; the message names the
             setting that forbids it
  105        of `fit`, `predict` and `validate`: measurements or models cannot be read; the message
             names file and line
  106        of `resize`: the program keeps its size; the message says why
  107        of `resize`: there is no such job, or it has ended
  108        of `submit`, `nodes`, `tasks`, `cancel`, `rerun`, `explain`, `node`: no daemon answers,
             or it cannot start
  109        of the same: the daemon refuses; the message says why
             of `submit`, `rerun` and `tasks` with `--wait`: the task's own code, 128 + N when signal
             N ended it, 127 when it could not be started, 130 when it was canceled; of an array 0
             when all ended with 0, else 1
  110        internal error; the message says where";

/// Kind of a failure, with its exit code: the context of an error, or an error together with its reason.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum Failure {
    /// Options that are wrong, or do not go together; clap uses this code, too.
    BadOption = 2,
    /// Any other failure; the message names it.
    Other = 100,
    /// The record is not there, damaged, or of a newer version.
    NoRecord = 101,
    /// A result could not be written.
    NotWritten = 102,
    /// The description of the application, or a tunlet, is wrong.
    BadDescription = 103,
    /// The running program cannot be attached to.
    NotAttached = 104,
    /// Measurements or models are not there, damaged, or of a newer version.
    NotRead = 105,
    /// A program was not resized.
    NotResized = 106,
    /// There is no such job.
    NoJob = 107,
    /// No daemon answers, or none can be started.
    NoDaemon = 108,
    /// The daemon refuses what was asked.
    Refused = 109,
    /// Bug in this program.
    Internal = 110,
    /// The command is there but cannot be started; shells use this code, too.
    NotExecutable = 126,
    /// There is no such command; shells use this code, too.
    NotFound = 127,
}

impl Failure {
    /// Error of this kind with its reason.
    pub fn because(self, why: impl Into<String>) -> Explained {
        Explained { failure: self, why: why.into() }
    }

    /// Kind of an error, if it names one.
    #[must_use]
    pub fn of(error: &anyhow::Error) -> Option<Self> {
        let explained = || error.downcast_ref().map(|explained: &Explained| explained.failure);
        error.downcast_ref().copied().or_else(explained)
    }

    /// Exit code.
    #[must_use]
    pub fn code(self) -> u8 {
        self as u8
    }
}

impl From<Failure> for ExitCode {
    fn from(failure: Failure) -> Self {
        Self::from(failure.code())
    }
}

/// Sentence that begins the message of an error of which this is the context.
impl Display for Failure {
    fn fmt(&self, to: &mut Formatter<'_>) -> std::fmt::Result {
        to.write_str(match self {
            BadOption => "an option is wrong",
            NotWritten => "the result could not be written",
            NotAttached | BadDescription => "nothing is attached",
            _ => "failed",
        })
    }
}

/// Reason of a failure, and its kind.
#[derive(Debug)]
pub struct Explained {
    failure: Failure,
    why: String,
}

impl Display for Explained {
    fn fmt(&self, to: &mut Formatter<'_>) -> std::fmt::Result {
        to.write_str(&self.why)
    }
}

impl std::error::Error for Explained {}

/// Error for options that are wrong, or do not go together, with the reason.
pub fn bad_option(why: impl Display) -> anyhow::Error {
    anyhow::anyhow!("{why}").context(BadOption)
}

/// Returns the error [`crate::exit::bad_option`] with a formatted reason unless a condition holds.
#[macro_export]
macro_rules! ensure_option {
    ($holds:expr, $($why:tt)+) => {
        if !$holds {
            return Err($crate::exit::bad_option(format_args!($($why)+)));
        }
    };
}

/// Error for measurements or models that cannot be read: the name of the file and the reason.
pub fn not_read(name: &str, why: impl Display) -> Explained {
    NotRead.because(format!("{name}: {why}"))
}
