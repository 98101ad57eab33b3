//! `function-events.parquet`: all passages of measurement points, one row each.
//!
//! # Invariants
//! - The rows of one thread are in order of time; rows of different threads may be interleaved in any way.
//! - Values are floating-point numbers: integers above 2^53 are rounded.

use crate::table::{TableReader, TableWriter, columns};
use events::ProbePoint;
use std::sync::Arc;

/// Passage of a measurement point, or an action that was carried out.
#[derive(Clone, Debug, PartialEq)]
pub struct FunctionEvent {
    /// Index in [`Summary::worlds`](crate::Summary::worlds).
    pub world: u32,
    /// Rank in the world.
    pub rank: u32,
    /// Thread of the rank; 0 is the thread that initialized MPI.
    pub thread: u32,
    /// Time in ns since [`Summary::started_s`](crate::Summary::started_s).
    pub time_ns: u64,
    /// Name of the event; [`FunctionEvent::ACTION`] for an action.
    pub event: Arc<str>,
    /// Entry or exit.
    pub place: ProbePoint,
    /// Name of the function in the source; empty for an action.
    pub function: Arc<str>,
    /// Passages of the place in its process so far, this one included; 0 if not counted.
    pub hit: u32,
    /// Attributes in the order of the description; for an action, its number and a system error number or 0.
    pub values: Vec<f64>,
}

impl FunctionEvent {
    /// Value of [`FunctionEvent::event`] for an action.
    pub const ACTION: &str = "(action)";
}

columns! {
    FunctionEvent = "function_event";
    growing: ["time_ns"];
    world: u32, rank: u32, thread: u32, time_ns: u64, event: Arc<str>, place: ProbePoint, function: Arc<str>, hit: u32,
    values: Vec<f64>,
}

/// Writer of a file of function events.
pub type FunctionWriter = TableWriter<FunctionEvent>;
/// Reader of a file of function events.
pub type FunctionReader = TableReader<FunctionEvent>;
