//! Export for Paraver: `NAME.prv` (records), `NAME.pcf` (names), `NAME.row` (labels).
//!
//! A world is an application, a rank a task. Each thread runs on a processor of its own. Between calls it is
//! in state `Running`, inside a call in the state that Extrae assigns to that call; a call is also a pair of
//! events under Extrae's numbers, so that Paraver's own configurations work; a message is a communication.
//! Times are in nanoseconds since the start of the run.
//!
//! Source: "Paraver Trace File Description" (BSC); states, types and values as Extrae 5.1 writes them.
//!
//! # Invariants
//! - The records are in chronological order.

mod layout;
mod operations;
mod records;

use crate::error::ExportError;
use crate::format::{ExportFormat, ExportWriter};
use crate::lanes::{Lanes, Trace, call_site_texts};
use crate::messages::MessageEnds;
use layout::Layout;
use records::{CALL_SITE, Records, States};
use run_record::{FileError, RunRecord};
use std::collections::HashMap;
use std::fs::File;
use std::io::{self, BufWriter, Write};
use std::path::Path;

/// Entry of the registry.
pub(crate) const FORMAT: ExportFormat = ExportFormat {
    name: "paraver",
    sentence: "Paraver: `.prv`, `.pcf` and `.row`",
    writer: ExportWriter::Files(paraver),
};

/// Writes `NAME.prv`, `NAME.pcf` and `NAME.row` into a folder; returns sentences about what they could not hold.
///
/// # Errors
/// The record cannot be read, has no events, or a file cannot be written.
pub fn paraver(record: &RunRecord, dir: &Path, name: &str) -> Result<Vec<String>, ExportError> {
    let trace = Trace::open(record)?;
    let lanes = Lanes::of(&trace)?;
    let layout = Layout::of(&trace, &lanes);
    let messages = MessageEnds::of(&trace, &lanes)?;
    let records = Records::of(&trace, &lanes)?;
    let started_s = trace.summary.started_s;
    write_file(&dir.join(format!("{name}.prv")), |out| {
        writeln!(out, "{}", layout.header(started_s, records.end_ns()))?;
        records.write(&messages, &layout, out)
    })?;
    let places = call_site_texts(&trace.summary);
    write_file(&dir.join(format!("{name}.pcf")), |out| write_names(&records, &places, out))?;
    write_file(&dir.join(format!("{name}.row")), |out| layout.write_labels(out))?;
    Ok(messages.unmatched_note().into_iter().collect())
}

/// Writes a file through a buffer.
pub(crate) fn write_file(
    path: &Path,
    write: impl FnOnce(&mut BufWriter<File>) -> io::Result<()>,
) -> Result<(), FileError> {
    let create = || {
        let mut out = BufWriter::new(File::create(path)?);
        write(&mut out)?;
        out.flush()
    };
    create().map_err(|e| FileError::new(path, e))
}

/// Writes the names of states, event types and values.
fn write_names(
    records: &Records,
    places: &HashMap<u32, String>,
    out: &mut impl Write,
) -> io::Result<()> {
    writeln!(out, "DEFAULT_OPTIONS\n\nLEVEL               THREAD\nUNITS               NANOSEC\n")?;
    writeln!(out, "DEFAULT_SEMANTIC\n\nTHREAD_FUNC          State As Is\n\nSTATES")?;
    for (state, name, _) in States::ALL {
        writeln!(out, "{state}    {name}")?;
    }
    writeln!(out, "\nSTATES_COLOR")?;
    for (state, _, [red, green, blue]) in States::ALL {
        writeln!(out, "{state}    {{{red},{green},{blue}}}")?;
    }
    for (kind, name, _) in operations::KINDS {
        writeln!(out, "\nEVENT_TYPE\n9    {kind}    {name}\nVALUES\n0    Outside MPI")?;
        for (encoded, name) in records.operations().filter(|(encoded, _)| encoded.kind == kind) {
            writeln!(out, "{}    {name}", encoded.value)?;
        }
    }
    writeln!(out, "\nEVENT_TYPE\n9    {CALL_SITE}    MPI call site\nVALUES\n0    Outside MPI")?;
    let mut sites: Vec<_> = places.iter().collect();
    sites.sort_unstable();
    for (site, text) in sites {
        writeln!(out, "{}    {text}", site + 1)?;
    }
    Ok(())
}
