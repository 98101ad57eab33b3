//! `events.parquet`: all MPI calls of a traced run, one row each.
//!
//! # Invariants
//! - The rows of one thread are in the order of its calls; a row that continues a call
//!   ([`RecordKind::ReceiveHalf`], [`RecordKind::Requests`]) directly follows it in that order. Rows of
//!   different threads may be interleaved in any way.
//! - Operations are stored by name, so that a record stays valid when the numbers of the table change.

use crate::table::{TableReader, TableWriter, columns};
use events::{Event, OperationId, RecordKind};

columns! {
    Event = "event";
    growing: ["start_ns", "end_ns"];
    world: u32, rank: u32, thread: u32, start_ns: u64, end_ns: u64, operation: OperationId, call_site: Option<u32>,
    peer: i32, tag: i32, communicator: u32, bytes: u64, request: u64, more: u64, kind: RecordKind,
}

/// Writer of an event file.
pub type EventWriter = TableWriter<Event>;
/// Reader of an event file.
pub type EventReader = TableReader<Event>;
