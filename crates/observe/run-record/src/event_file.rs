//! `events.parquet`: all MPI calls of a traced run, one row each.
//!
//! # Invariants
//! - The rows of one thread are in the order of its calls; a row that continues a call
//!   ([`RecordKind::ReceiveHalf`], [`RecordKind::Requests`]) directly follows it in that order. Rows of
//!   different threads may be interleaved in any way.
//! - Operations are stored by name, so that a record stays valid when the numbers of the table change.
//!
//! # Not here
//! Formats of other tools (`export`).

use crate::table::{GroupReader, Layout, TableError, TableReader, TableWriter};
use events::{OperationId, RecordKind};
use std::path::Path;

/// Number of rows that are written, and read, together.
const GROUP_ROWS: usize = 100_000;

const LAYOUT: Layout = Layout {
    schema: "message event {
        required int32 world (INTEGER(32,false));
        required int32 rank (INTEGER(32,false));
        required int32 thread (INTEGER(32,false));
        required int64 start_ns (INTEGER(64,false));
        required int64 end_ns (INTEGER(64,false));
        required binary operation (STRING);
        optional int32 call_site (INTEGER(32,false));
        required int32 peer;
        required int32 tag;
        required int32 communicator (INTEGER(32,false));
        required int64 bytes (INTEGER(64,false));
        required int64 request (INTEGER(64,false));
        required int64 more (INTEGER(64,false));
        required binary kind (STRING);
    }",
    growing: &["start_ns", "end_ns"],
};

/// One MPI call of one thread, or the continuation of the call before it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Event {
    /// Index in [`Summary::worlds`](crate::Summary::worlds).
    pub world: u32,
    /// Rank in the world.
    pub rank: u32,
    /// Thread of the rank; 0 is the thread that initialized MPI.
    pub thread: u32,
    /// Start of the call, in ns since [`Summary::started_s`](crate::Summary::started_s).
    pub start_ns: u64,
    /// Return of the call, in ns since the same time.
    pub end_ns: u64,
    /// The operation.
    pub operation: OperationId,
    /// [`CallSite::id`](crate::summary::CallSite::id) of the caller, if known.
    pub call_site: Option<u32>,
    /// World rank of the other side or of the root; [`events::call::NO_PEER`] or
    /// [`events::call::OUTSIDE_WORLD`].
    pub peer: i32,
    /// Message tag; -1 where the operation has none.
    pub tag: i32,
    /// [`events::CommunicatorId`] as a number; 0 is `MPI_COMM_WORLD`.
    pub communicator: u32,
    /// Bytes moved.
    pub bytes: u64,
    /// Handle of the request started or completed; 0 for none.
    pub request: u64,
    /// Handle of one more completed request (kind `Requests`), or 0.
    pub more: u64,
    /// Kind of the row.
    pub kind: RecordKind,
}

/// Writer of an event file, which appears under its name when it is complete.
#[derive(Debug)]
pub struct EventWriter {
    table: TableWriter,
    waiting: Vec<Event>,
    n_events: u64,
}

impl EventWriter {
    /// Starts a file; it appears at `path` when [`EventWriter::finish`] is called.
    ///
    /// # Errors
    /// When the file cannot be written.
    pub fn create(path: &Path) -> Result<Self, TableError> {
        Ok(Self { table: TableWriter::create(path, &LAYOUT)?, waiting: Vec::new(), n_events: 0 })
    }

    /// Appends events; at most one group of rows waits in memory.
    ///
    /// # Errors
    /// When the file cannot be written; it is then unusable, and the spool still holds the events.
    pub fn append(&mut self, events: &[Event]) -> Result<(), TableError> {
        self.n_events += events.len() as u64;
        let mut rest = events;
        while GROUP_ROWS <= self.waiting.len() + rest.len() {
            let (fitting, later) = rest.split_at(GROUP_ROWS - self.waiting.len());
            self.waiting.extend_from_slice(fitting);
            self.write_group()?;
            rest = later;
        }
        self.waiting.extend_from_slice(rest);
        Ok(())
    }

    /// Completes the file and gives it its name; returns its number of events.
    ///
    /// # Errors
    /// When the file cannot be written.
    pub fn finish(mut self) -> Result<u64, TableError> {
        if !self.waiting.is_empty() {
            self.write_group()?;
        }
        self.table.finish()?;
        Ok(self.n_events)
    }

    fn write_group(&mut self) -> Result<(), TableError> {
        let rows = &self.waiting;
        self.table.group(|group| {
            group.u32(rows.iter().map(|e| e.world))?;
            group.u32(rows.iter().map(|e| e.rank))?;
            group.u32(rows.iter().map(|e| e.thread))?;
            group.u64(rows.iter().map(|e| e.start_ns))?;
            group.u64(rows.iter().map(|e| e.end_ns))?;
            group.words(rows.iter().map(|e| operation_name(e.operation)))?;
            group.optional_u32(rows.iter().map(|e| e.call_site))?;
            group.i32(rows.iter().map(|e| e.peer))?;
            group.i32(rows.iter().map(|e| e.tag))?;
            group.u32(rows.iter().map(|e| e.communicator))?;
            group.u64(rows.iter().map(|e| e.bytes))?;
            group.u64(rows.iter().map(|e| e.request))?;
            group.u64(rows.iter().map(|e| e.more))?;
            group.words(rows.iter().map(|e| kind_name(e.kind)))
        })?;
        self.waiting.clear();
        Ok(())
    }
}

/// Reader of an event file, in batches.
#[derive(Debug)]
pub struct EventReader {
    table: TableReader,
}

impl EventReader {
    /// Opens a file.
    ///
    /// # Errors
    /// When the file does not exist, or is not a Parquet file.
    pub fn open(path: &Path) -> Result<Self, TableError> {
        Ok(Self { table: TableReader::open(path)? })
    }

    /// Number of events in the file.
    pub fn n_events(&self) -> u64 {
        self.table.n_rows()
    }

    /// Returns all events in the order of the file; may be called repeatedly.
    ///
    /// Rows whose operation or kind this version does not know are skipped: the events returned are fewer
    /// than [`EventReader::n_events`] by their number.
    pub fn batches(&self) -> impl Iterator<Item = Result<Vec<Event>, TableError>> {
        (0..self.table.n_groups()).map(|group| read_group(&self.table.group(group)?))
    }
}

fn read_group(group: &GroupReader<'_>) -> Result<Vec<Event>, TableError> {
    let world = group.u32("world")?;
    let rank = group.u32("rank")?;
    let thread = group.u32("thread")?;
    let start_ns = group.u64("start_ns")?;
    let end_ns = group.u64("end_ns")?;
    let operation = group.words("operation")?;
    let call_site = group.optional_u32("call_site")?;
    let peer = group.i32("peer")?;
    let tag = group.i32("tag")?;
    let communicator = group.u32("communicator")?;
    let bytes = group.u64("bytes")?;
    let request = group.u64("request")?;
    let more = group.u64("more")?;
    let kind = group.words("kind")?;
    let row = |i: usize| {
        Some(Event {
            world: world[i],
            rank: rank[i],
            thread: thread[i],
            start_ns: start_ns[i],
            end_ns: end_ns[i],
            operation: operation_named(operation[i].data())?,
            call_site: call_site[i],
            peer: peer[i],
            tag: tag[i],
            communicator: communicator[i],
            bytes: bytes[i],
            request: request[i],
            more: more[i],
            kind: kind_named(kind[i].data())?,
        })
    };
    Ok((0..world.len()).filter_map(row).collect())
}

const UNKNOWN: &str = "unknown";

/// MPI name of an operation.
pub(crate) fn operation_name(id: OperationId) -> &'static str {
    mpi_abi::operation(id).map_or(UNKNOWN, |operation| operation.name.as_str())
}

/// Returns the operation with an MPI name.
pub(crate) fn operation_named(name: &[u8]) -> Option<OperationId> {
    mpi_abi::find(std::str::from_utf8(name).ok()?)
}

const KINDS: [(RecordKind, &str); 3] = [
    (RecordKind::Call, "call"),
    (RecordKind::ReceiveHalf, "receive-half"),
    (RecordKind::Requests, "requests"),
];

fn kind_name(kind: RecordKind) -> &'static str {
    KINDS.iter().find(|(known, _)| *known == kind).map_or(UNKNOWN, |(_, name)| name)
}

fn kind_named(name: &[u8]) -> Option<RecordKind> {
    KINDS.iter().find(|(_, known)| known.as_bytes() == name).map(|(kind, _)| *kind)
}
