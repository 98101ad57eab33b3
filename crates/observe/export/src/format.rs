//! Registry of the formats of other tools.

use crate::error::ExportError;
use run_record::RunRecord;
use std::io::Write;
use std::path::Path;

/// Result of an export: sentences about what the format could not hold.
type Exported = Result<Vec<String>, ExportError>;

/// All formats.
pub const FORMATS: &[ExportFormat] = &[
    // A line each, in the order of `--help`.
    crate::chrome::FORMAT,
    crate::paraver::FORMAT,
    crate::simgrid::FORMAT,
    crate::speedscope::FORMAT,
];

/// Format of another tool.
#[derive(Clone, Copy, Debug)]
pub struct ExportFormat {
    /// Name on the command line.
    pub name: &'static str,
    /// Description for users, without a period.
    pub sentence: &'static str,
    /// Writer.
    pub writer: ExportWriter,
}

/// Writer of a format, by what it writes.
#[derive(Clone, Copy, Debug)]
pub enum ExportWriter {
    /// One file.
    File(fn(&RunRecord, &mut dyn Write) -> Exported),
    /// Files of one name with several extensions, in a folder that exists.
    Files(fn(&RunRecord, &Path, &str) -> Exported),
    /// A folder that exists, for the world of this number.
    Folder(fn(&RunRecord, &Path, u32) -> Exported),
}
