//! `run.json`: what a record is, whatever became of its run.

use crate::checksum::Checksum;
use crate::summary::FORMAT_VERSION;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// What is known of a run when it starts.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct RunStart {
    /// The command after `--`, as it was typed.
    pub command: Vec<String>,
    /// When the command is started, in seconds since 1970.
    pub started_s: f64,
    /// The host on which the record is written.
    pub host: String,
    /// The process that writes it.
    pub pid: u32,
    /// The name by which collectors and analyzer know the run.
    pub run_id: String,
}

/// `run.json`: what a record is, whatever became of its run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct RunHeader {
    /// [`FORMAT_VERSION`] of the writer.
    pub format_version: u32,
    /// Version of Sintonia that wrote the record.
    pub sintonia_version: String,
    /// The name by which collectors and analyzer know the run.
    pub run_id: String,
    /// The command after `--`, as it was typed.
    pub command: Vec<String>,
    /// When the command was started, in seconds since 1970.
    pub started_s: f64,
    /// The host on which the record was written.
    pub host: String,
    /// The process that wrote it.
    pub pid: u32,
    /// Whether the record is whole.
    pub state: RunState,
    /// What its files were when it became whole, by name; none in records of versions before that.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub checksums: BTreeMap<String, Checksum>,
}

/// Whether a record is whole.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum RunState {
    /// The run goes on, or the process that wrote the record ended before it: the measurements are in
    /// `spool/`, and `summary.json`, if there is one, is an early one.
    Running,
    /// Everything is assembled.
    Finished,
}

/// Only the field that tells whether the rest can be read.
#[derive(Deserialize)]
pub(crate) struct Version {
    pub(crate) format_version: u32,
}

impl From<RunStart> for RunHeader {
    /// That of a run that begins.
    fn from(start: RunStart) -> Self {
        Self {
            format_version: FORMAT_VERSION,
            sintonia_version: env!("CARGO_PKG_VERSION").to_owned(),
            run_id: start.run_id,
            command: start.command,
            started_s: start.started_s,
            host: start.host,
            pid: start.pid,
            state: RunState::Running,
            checksums: BTreeMap::new(),
        }
    }
}
