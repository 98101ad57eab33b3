//! `run.json`: identity and state of a record, valid even if the run died.

use crate::checksum::Checksum;
use crate::summary::FORMAT_VERSION;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// Facts known when a run starts.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct RunStart {
    /// Name by which collectors and analyzer identify the run.
    pub run_id: String,
    /// Command after `--`, as typed.
    pub command: Vec<String>,
    /// Start time of the command, in seconds since 1970.
    pub started_s: f64,
    /// Host on which the record is written.
    pub host: String,
    /// Id of the process that writes the record.
    pub pid: u32,
}

/// Content of `run.json`: identity and state of a record.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct RunHeader {
    /// [`FORMAT_VERSION`] of the writer.
    pub format_version: u32,
    /// Version of Sintonia that wrote the record.
    pub sintonia_version: String,
    /// Facts known when the run started.
    #[serde(flatten)]
    pub start: RunStart,
    /// State of the record.
    pub state: RunState,
    /// Checksums of the files when the record became whole, by name; empty in records of versions before checksums.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub checksums: BTreeMap<String, Checksum>,
}

/// State of a record.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum RunState {
    /// The run continues, or the process that wrote the record died before the end of the run: the
    /// measurements are in `spool/`, and `summary.json`, if it exists, is preliminary.
    Running,
    /// All files are assembled.
    Finished,
}

/// The one field that tells whether the rest can be read.
#[derive(Deserialize)]
pub(crate) struct Version {
    pub(crate) format_version: u32,
}

impl From<RunStart> for RunHeader {
    /// Header of a run that begins.
    fn from(start: RunStart) -> Self {
        Self {
            format_version: FORMAT_VERSION,
            sintonia_version: env!("CARGO_PKG_VERSION").to_owned(),
            start,
            state: RunState::Running,
            checksums: BTreeMap::new(),
        }
    }
}
