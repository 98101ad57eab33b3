//! Exit code of an error.

use run_record::{RecordError, TableError};
use std::error::Error;
use std::process::ExitCode;
use user_io::exit::{Failure, NoRecord, NotWritten};

/// Returns whether a record, or a file of it, cannot be read.
fn is_of_record(cause: &(dyn Error + 'static)) -> bool {
    use export::ExportError::{Events, Record};
    let in_export = cause.downcast_ref::<export::ExportError>();
    cause.is::<RecordError>()
        || cause.is::<TableError>()
        || matches!(in_export, Some(Record(_) | Events(_)))
}

fn is_of_output(cause: &(dyn Error + 'static)) -> bool {
    use export::ExportError::{File, Write};
    matches!(cause.downcast_ref(), Some(Write(_) | File(_)))
}

/// Exit code for an error of this program.
pub(crate) fn code_of(error: &anyhow::Error) -> ExitCode {
    let by_cause = || match () {
        () if error.chain().any(is_of_output) => NotWritten,
        () if error.chain().any(is_of_record) => NoRecord,
        () => Failure::Other,
    };
    Failure::of(error).unwrap_or_else(by_cause).into()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// An export to a full disk ended with the code for any failure.
    #[test]
    fn an_export_that_cannot_be_written_has_its_code() {
        let full = export::ExportError::from(std::io::Error::other("full"));
        assert_eq!(code_of(&anyhow::Error::new(full).context("`run.json`")), NotWritten.into());
    }
}
