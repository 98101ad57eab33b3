//! Reasons why a part of a run could not be put into its record, and remedies.

use assemble::AssembleError;
use run_record::{RecordError, TableError};
use std::path::Path;

/// Reason why a part of a run is in the spool and nowhere else. Of several, the last one is to be removed first, since
/// it may be the cause of the others.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum IncompleteReason {
    /// The record already holds more.
    WouldLoseInformation,
    /// A file cannot be written, though there is room.
    Unwritable,
    /// No room is left on the disk.
    DiskFull,
}

impl IncompleteReason {
    pub(super) fn of_table(error: &AssembleError) -> Self {
        match error.table() {
            TableError::HoldsMore { .. } => Self::WouldLoseInformation,
            error if error.is_storage_full() => Self::DiskFull,
            _ => Self::Unwritable,
        }
    }

    pub(super) fn of_record(error: &RecordError) -> Self {
        match error {
            RecordError::WouldLoseInformation { .. } => Self::WouldLoseInformation,
            RecordError::File(file) if file.is_storage_full() => Self::DiskFull,
            _ => Self::Unwritable,
        }
    }

    /// Sentence that says how the record in the folder `record` can be completed.
    pub(super) fn remedy(self, record: &Path) -> String {
        let record = record.display();
        match self {
            Self::WouldLoseInformation => format!(
                "the remaining data is in `{record}/spool`: restore any missing files, then complete the record with `sintonia report {record}`"
            ),
            Self::Unwritable => format!(
                "when the files named above can be written, complete the record with `sintonia report {record}`"
            ),
            Self::DiskFull => {
                format!(
                    "free room on its disk, then complete the record with `sintonia report {record}`"
                )
            }
        }
    }
}
