//! What is known of a run's processes, in a file that is replaced as a whole: what a killed analyzer leaves.

use crate::measured::{Measured, NodeClock, RunFacts};
use run_record::{SpoolReader, SpoolWriter};
use serde::{Deserialize, Serialize};
use std::path::Path;
use wire::{ProcessReport, WireError};

/// Ending of a snapshot's file name.
pub const SUFFIX: &str = "reports";

/// Name of the file that holds what the analyzer knows.
pub(crate) const ANALYZER: &str = "analyzer";

/// One line of the file.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub enum Entry {
    /// What the launcher knows.
    Facts(RunFacts),
    /// A node's clock.
    Clock(NodeClock),
    /// The last report of a process.
    Process(Box<ProcessReport>),
    /// Something that could not be observed.
    Warning(String),
    /// Records lost on the way so far.
    RecordsLost(u64),
}

/// Why a snapshot could not be written or read.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum SnapshotError {
    /// The file.
    #[error(transparent)]
    Spool(#[from] run_record::spool::SpoolError),
    /// Its content.
    #[error(transparent)]
    Wire(#[from] WireError),
    /// It could not be put in place.
    #[error("cannot replace `{path}`; check that its folder is writable")]
    Replace {
        /// The file.
        path: std::path::PathBuf,
        /// Why not.
        source: std::io::Error,
    },
}

/// Writes `entries` to `path`, replacing what was there only when all of them are written.
///
/// # Errors
/// When the disk is full or the folder not writable; the file before it is then still there.
pub fn write(path: &Path, entries: impl Iterator<Item = Entry>) -> Result<(), SnapshotError> {
    let fresh = path.with_extension("fresh");
    // What a killed writer left behind.
    std::fs::remove_file(&fresh).ok();
    let written = write_new(&fresh, entries).and_then(|()| {
        std::fs::rename(&fresh, path)
            .map_err(|source| SnapshotError::Replace { path: path.into(), source })
    });
    if written.is_err() {
        std::fs::remove_file(&fresh).ok();
    }
    written
}

/// Everything that is known at the end of a run.
pub(crate) fn entries(measured: &Measured, facts: &RunFacts) -> impl Iterator<Item = Entry> {
    let processes = measured.processes.iter().cloned();
    processes
        .map(|report| Entry::Process(Box::new(report)))
        .chain(measured.nodes.iter().cloned().map(Entry::Clock))
        .chain(measured.warnings.iter().cloned().map(Entry::Warning))
        .chain([Entry::RecordsLost(measured.n_records_lost), Entry::Facts(facts.clone())])
}

fn write_new(path: &Path, entries: impl Iterator<Item = Entry>) -> Result<(), SnapshotError> {
    let mut file = SpoolWriter::create(path)?;
    for entry in entries {
        file.append(&[&wire::to_bytes(&entry)?])?;
    }
    Ok(())
}

/// What a snapshot holds.
#[derive(Debug, Default)]
pub struct Found {
    /// All entries that could be read.
    pub entries: Vec<Entry>,
    /// A sentence about those that could not.
    pub problem: Option<String>,
}

/// Reads the entries of `path`, up to the first damaged one.
///
/// # Errors
/// When the file cannot be read or another version wrote it.
pub fn read(path: &Path) -> Result<Found, SnapshotError> {
    let mut file = SpoolReader::open(path)?;
    let (mut found, mut bytes) = (Found::default(), Vec::new());
    let (mut n_unknown, name) = (0, path.display());
    while file.next_frame(&mut bytes)? {
        match wire::decode(&bytes) {
            Ok(entry) => found.entries.push(entry),
            Err(_) => n_unknown += 1,
        }
    }
    if let Some(problem) = file.problem() {
        let (at, n_bytes) = (problem.at_byte, problem.n_bytes_lost);
        found.problem = Some(format!(
            "`{name}` is damaged at byte {at}: what its last {n_bytes} bytes said of processes is lost"
        ));
    } else if n_unknown != 0 {
        found.problem = Some(format!("{n_unknown} messages in `{name}` are not understood"));
    }
    Ok(found)
}
