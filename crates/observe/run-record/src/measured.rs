//! Measurements of a run before aggregation.

use crate::summary::CommandOutcome;
use serde::{Deserialize, Serialize};
use std::path::PathBuf;
use wire::facts::{EventFacts, ProbedFunction};
use wire::{ProcessReport, ProcessSamples};

/// Extension of a file of call records.
pub const RECORDS_SUFFIX: &str = "spool";
/// Extension of a file of sums of function events.
pub const SUMS_SUFFIX: &str = "sums";

/// All data delivered by the collectors, from which `assemble` makes a run record.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct MeasuredRun {
    /// Last report of every process, with `modules` filled in; unordered.
    pub processes: Vec<ProcessReport>,
    /// Clocks of the nodes that had processes.
    pub nodes: Vec<NodeClock>,
    /// Files of call records.
    pub spools: Vec<Spool>,
    /// Number of records lost between ring and disk (no room on the disk).
    pub n_records_lost: u64,
    /// Sentences about what could not be observed, with advice.
    pub warnings: Vec<String>,
    /// Last samples of every process that was sampled; unordered.
    pub samples: Vec<ProcessSamples>,
}

/// File of call records of one node, written by `crate::SpoolWriter`.
///
/// Each frame is `wire::decode::<wire::Records>`. A node may have several files, and after a lost connection a
/// record may be in two of them, or twice in one (same process, thread and number).
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Spool {
    /// [`ProcessReport::node`] of its processes.
    pub node: String,
    /// Path of the file.
    pub path: PathBuf,
}

/// Offset of a node's clock from the analyzer's.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct NodeClock {
    /// [`ProcessReport::node`].
    pub node: String,
    /// Offset in ns to add to a time of this node to get the analyzer's time.
    pub offset_ns: i64,
    /// Round trip in ns; the offset is accurate to half of it.
    pub round_trip_ns: u64,
}

/// Facts about a run that the launcher knows.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct RunFacts {
    /// Version of Sintonia that ran the program.
    pub sintonia_version: String,
    /// Number of the run, 16 hexadecimal digits.
    pub run: String,
    /// The command after `--`, as it was typed.
    pub command: Vec<String>,
    /// Start time of the command, in seconds since 1970.
    pub started_s: f64,
    /// Elapsed time of the command in s; 0 while unknown.
    pub wall_s: f64,
    /// Outcome of the command.
    pub outcome: CommandOutcome,
    /// True if events were requested (`--trace`).
    pub traced: bool,
    /// True if a signal asked this program or the command to end; not in a snapshot, whose run has not ended.
    #[serde(skip)]
    pub interrupted: bool,
    /// True if the program ran already when it was watched (`sintonia attach`); not in a snapshot, as earlier versions
    /// have none there.
    #[serde(skip)]
    pub attached: bool,
    /// Folder of shared memory on the launching node, for data that remain there after a crash.
    pub shm_dir: PathBuf,
    /// Events of functions, by their numbers in records.
    pub functions: Vec<EventFacts>,
    /// Functions chosen with `--probe`.
    pub probed: Vec<ProbedFunction>,
}
