//! Snapshot of the data about a run's processes, in a file that is replaced as a whole; it survives a killed analyzer.

use crate::measured::{MeasuredRun, NodeClock, RunFacts};
use crate::{SpoolReader, SpoolWriter};
use files::Draft;
use frame::FrameError;
use serde::{Deserialize, Serialize};
use std::path::Path;
use wire::{ProcessReport, ProcessSamples};

/// Extension of a snapshot's file.
pub const SUFFIX: &str = "reports";

/// Name of the file with the analyzer's data.
pub const ANALYZER: &str = "analyzer";

/// Entry of the file.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub enum SnapshotEntry {
    /// Launcher's facts.
    Facts(RunFacts),
    /// A node's clock.
    Clock(NodeClock),
    /// The last report of a process, as versions before usage of processors wrote it.
    EarlierProcess(Box<wire::earlier::ProcessReport>),
    /// Warning about something that could not be observed.
    Warning(String),
    /// Number of records lost in transit so far.
    RecordsLost(u64),
    /// The last report of a process.
    Process(Box<ProcessReport>),
    /// The last samples of a process.
    Samples(Box<ProcessSamples>),
}

impl SnapshotEntry {
    /// Returns an entry of these samples.
    #[must_use]
    pub fn of_samples(samples: &ProcessSamples) -> Self {
        Self::Samples(Box::new(samples.clone()))
    }
}

/// Reason why a snapshot could not be written or read.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum SnapshotError {
    /// The file could not be written or read.
    #[error(transparent)]
    Spool(#[from] crate::spool::SpoolError),
    /// An entry could not be encoded or decoded.
    #[error(transparent)]
    Message(#[from] FrameError),
    /// The file could not be put in place.
    #[error("cannot replace `{path}`; check that its folder is writable")]
    Replace {
        /// Path of the file.
        path: std::path::PathBuf,
        /// Reason.
        source: std::io::Error,
    },
}

/// Writes `entries` to `path`, replacing the previous file only when all of them are written.
///
/// # Errors
/// The disk is full or the folder is not writable; the previous file is then still there.
pub fn write(
    path: &Path,
    entries: impl Iterator<Item = SnapshotEntry>,
) -> Result<(), SnapshotError> {
    let draft = Draft::of(path);
    // A killed writer may have left a file behind.
    std::fs::remove_file(draft.place()).ok();
    let mut file = SpoolWriter::create(draft.place())?;
    for entry in entries {
        file.append(&[&wire::to_bytes(&entry)?])?;
    }
    draft.publish().map_err(|source| SnapshotError::Replace { path: path.into(), source })
}

/// Returns all data at the end of a run as entries.
pub fn entries(measured: &MeasuredRun, facts: &RunFacts) -> impl Iterator<Item = SnapshotEntry> {
    let processes = measured.processes.iter().cloned();
    processes
        .map(|report| SnapshotEntry::Process(Box::new(report)))
        .chain(measured.nodes.iter().cloned().map(SnapshotEntry::Clock))
        .chain(measured.warnings.iter().cloned().map(SnapshotEntry::Warning))
        .chain(measured.samples.iter().map(SnapshotEntry::of_samples))
        .chain([
            SnapshotEntry::RecordsLost(measured.n_records_lost),
            SnapshotEntry::Facts(facts.clone()),
        ])
}

/// Contents of a snapshot.
#[derive(Debug, Default)]
pub struct SnapshotContents {
    /// All entries that could be read.
    pub entries: Vec<SnapshotEntry>,
    /// Sentence about entries that could not be read.
    pub problem: Option<String>,
}

/// Reads the entries of `path`, up to the first damaged one.
///
/// # Errors
/// The file cannot be read, or another version wrote it.
pub fn read(path: &Path) -> Result<SnapshotContents, SnapshotError> {
    let mut file = SpoolReader::open(path)?;
    let (mut contents, mut bytes) = (SnapshotContents::default(), Vec::new());
    let (mut n_unknown, name) = (0, path.display());
    while file.next_frame(&mut bytes)? {
        match wire::decode(&bytes) {
            Ok(entry) => contents.entries.push(entry),
            Err(_) => n_unknown += 1,
        }
    }
    if let Some(problem) = file.problem() {
        let (at, n_bytes) = (problem.at_byte, problem.n_bytes_lost);
        contents.problem = Some(format!(
            "`{name}` is damaged at byte {at}: the process reports in its last {n_bytes} bytes are lost"
        ));
    } else if n_unknown != 0 {
        contents.problem = Some(format!("{n_unknown} messages in `{name}` are not understood"));
    }
    Ok(contents)
}
