//! Exit codes: what scripts may rely on. `sintonia --help` lists them.

use run_record::{RecordError, TableError};
use std::process::ExitCode;

/// Wrong option; clap uses this code, too.
const WRONG_OPTION: u8 = 2;
/// Something else failed; the message says what.
const FAILED: u8 = 100;
/// The record is not there, damaged, or of a newer version.
const NO_RECORD: u8 = 101;
/// A result could not be written.
const NOT_WRITTEN: u8 = 102;
/// The description of the application, or a tunlet, is wrong.
pub(crate) const BAD_DESCRIPTION: u8 = 103;
/// The running program cannot be attached to.
const NOT_ATTACHED: u8 = 104;
/// Measurements or models are not there, damaged, or of a newer version.
const NOT_READ: u8 = 105;
/// A program was not resized.
const NOT_RESIZED: u8 = 106;
/// There is no such job.
const NO_JOB: u8 = 107;
/// No daemon answers.
const NO_DAEMON: u8 = 108;
/// The daemon refuses what was asked.
const REFUSED: u8 = 109;
/// Bug in this program.
pub(crate) const INTERNAL_ERROR: u8 = 110;
/// The command is there but cannot be started; shells use this code, too.
pub(crate) const NOT_EXECUTABLE: u8 = 126;
/// There is no such command; shells use this code, too.
pub(crate) const NOT_FOUND: u8 = 127;

/// Exit codes for `--help`.
pub(crate) const HELP: &str = "\
Exit codes:
  of `run`   the command's own; 128 + N when signal N ended it;
             126 when it cannot be started, 127 when there is none,
  0          done; of `attach`: the program ended, or was left as it was
  2          an option is wrong
  100        failed; the message says what
  101        the run record is not there or cannot be read
  102        the result could not be written
  103        `run` or `attach` did not begin: `--app`, `--tunlet` or `--probe` is wrong
  104        `attach` changed nothing: a rank cannot be attached to; the message names the
             setting that forbids it
  105        of `fit`, `predict` and `validate`: measurements or models cannot be read; the message
             names file and line
  106        of `resize`: the program keeps its size; the message says why
  107        of `resize`: there is no such job, or it has ended
  108        of `submit`, `nodes`, `tasks`, `cancel`, `explain`, `node`: no daemon answers, or it
             cannot start
  109        of the same: the daemon refuses; the message says why
             of `submit --wait` and `tasks --wait`: the task's own code, 128 + N when signal N ended
             it, 127 when it could not be started, 130 when it was canceled; of an array 0 when all
             ended with 0, else 1
  110        internal error; the message says where";

/// Marks a result that could not be written to its place.
#[derive(Debug)]
pub(crate) struct NotWritten;

impl std::fmt::Display for NotWritten {
    fn fmt(&self, to: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        to.write_str("the result could not be written")
    }
}

/// Marks options that do not go together.
#[derive(Debug)]
pub(crate) struct BadOption;

impl std::fmt::Display for BadOption {
    fn fmt(&self, to: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        to.write_str("an option is wrong")
    }
}

/// Measurements or models cannot be read: names the file and the reason.
#[derive(Debug)]
pub(crate) struct NotRead(String);

impl NotRead {
    /// Makes the error for this file and reason.
    pub(crate) fn of(name: &str, why: impl std::fmt::Display) -> Self {
        Self(format!("{name}: {why}"))
    }
}

impl std::fmt::Display for NotRead {
    fn fmt(&self, to: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        to.write_str(&self.0)
    }
}

impl std::error::Error for NotRead {}

/// A program was not resized: the reason.
#[derive(Debug)]
pub(crate) struct NotResized(String);

impl NotResized {
    /// Makes the error for this reason.
    pub(crate) fn because(why: String) -> Self {
        Self(why)
    }
}

impl std::fmt::Display for NotResized {
    fn fmt(&self, to: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        to.write_str(&self.0)
    }
}

impl std::error::Error for NotResized {}

/// There is no such job: the reason.
#[derive(Debug)]
pub(crate) struct NoJob(String);

impl NoJob {
    /// Makes the error for this reason.
    pub(crate) fn because(why: String) -> Self {
        Self(why)
    }
}

impl std::fmt::Display for NoJob {
    fn fmt(&self, to: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        to.write_str(&self.0)
    }
}

impl std::error::Error for NoJob {}

/// No daemon answers, or none can be started: the reason, and what to do.
#[derive(Debug)]
pub(crate) struct NoDaemon(String);

impl NoDaemon {
    /// Makes the error for this reason.
    pub(crate) fn because(why: String) -> Self {
        Self(why)
    }
}

impl std::fmt::Display for NoDaemon {
    fn fmt(&self, to: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        to.write_str(&self.0)
    }
}

impl std::error::Error for NoDaemon {}

/// The daemon refuses what was asked: the reason.
#[derive(Debug)]
pub(crate) struct Refused(String);

impl Refused {
    /// Makes the error for this reason.
    pub(crate) fn because(why: String) -> Self {
        Self(why)
    }
}

impl std::fmt::Display for Refused {
    fn fmt(&self, to: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        to.write_str(&self.0)
    }
}

impl std::error::Error for Refused {}

/// Marks a program that cannot be attached to.
#[derive(Debug)]
pub(crate) struct NotAttached;

impl std::fmt::Display for NotAttached {
    fn fmt(&self, to: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        to.write_str("nothing is attached")
    }
}

/// Marks a program that cannot be tuned as was asked.
#[derive(Debug)]
pub(crate) struct BadDescription;

impl std::fmt::Display for BadDescription {
    fn fmt(&self, to: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        to.write_str("nothing is attached")
    }
}

/// Returns whether a record, or a file of it, cannot be read.
fn is_of_record(cause: &(dyn std::error::Error + 'static)) -> bool {
    use export::ExportError::{Events, Record};
    let in_export = cause.downcast_ref::<export::ExportError>();
    cause.is::<RecordError>()
        || cause.is::<TableError>()
        || matches!(in_export, Some(Record(_) | Events(_)))
}

fn is_of_output(cause: &(dyn std::error::Error + 'static)) -> bool {
    use export::ExportError::{File, Write};
    matches!(cause.downcast_ref(), Some(Write(_) | File(_)))
}

/// Exit code for an error of this program.
pub(crate) fn code_of(error: &anyhow::Error) -> ExitCode {
    ExitCode::from(if error.is::<NotWritten>() || error.chain().any(is_of_output) {
        NOT_WRITTEN
    } else if error.is::<BadOption>() {
        WRONG_OPTION
    } else if error.is::<BadDescription>() {
        BAD_DESCRIPTION
    } else if error.is::<NotAttached>() {
        NOT_ATTACHED
    } else if error.is::<NotRead>() {
        NOT_READ
    } else if error.is::<NotResized>() {
        NOT_RESIZED
    } else if error.is::<NoJob>() {
        NO_JOB
    } else if error.is::<NoDaemon>() {
        NO_DAEMON
    } else if error.is::<Refused>() {
        REFUSED
    } else if error.chain().any(is_of_record) {
        NO_RECORD
    } else {
        FAILED
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// An export to a full disk ended with the code for any failure.
    #[test]
    fn an_export_that_cannot_be_written_has_its_code() {
        let full = export::ExportError::from(std::io::Error::other("full"));
        assert_eq!(code_of(&anyhow::Error::new(full).context("`run.json`")), NOT_WRITTEN.into());
    }
}
