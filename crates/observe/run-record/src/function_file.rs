//! `function-events.parquet`: all passages of measurement points, one row each.
//!
//! # Invariants
//! - The rows of one thread are in order of time; rows of different threads may be interleaved in any way.
//! - Values are floating-point numbers: integers above 2^53 are rounded.

use crate::table::{GroupReader, Layout, TableError, TableReader, TableWriter};
use events::ProbePoint;
use std::path::Path;
use std::sync::Arc;

/// Number of rows that are written, and read, together.
const GROUP_ROWS: usize = 100_000;

/// Path of the values' column inside its list.
const VALUES: &str = "values.list.element";

const LAYOUT: Layout = Layout {
    schema: "message function_event {
        required int32 world (INTEGER(32,false));
        required int32 rank (INTEGER(32,false));
        required int32 thread (INTEGER(32,false));
        required int64 time_ns (INTEGER(64,false));
        required binary event (STRING);
        required binary place (STRING);
        required binary function (STRING);
        required int32 hit (INTEGER(32,false));
        required group values (LIST) { repeated group list { required double element; } }
    }",
    growing: &["time_ns"],
};

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

/// Writer of a file of function events, which appears under its name when it is complete.
#[derive(Debug)]
pub struct FunctionWriter {
    table: TableWriter,
    waiting: Vec<FunctionEvent>,
    n_events: u64,
}

impl FunctionWriter {
    /// Starts a file; it appears at `path` when [`FunctionWriter::finish`] is called.
    ///
    /// # Errors
    /// When the file cannot be written.
    pub fn create(path: &Path) -> Result<Self, TableError> {
        Ok(Self { table: TableWriter::create(path, &LAYOUT)?, waiting: Vec::new(), n_events: 0 })
    }

    /// Appends an event; at most one group of rows waits in memory.
    ///
    /// # Errors
    /// When the file cannot be written; it is then unusable, and the spool still holds the events.
    pub fn append(&mut self, event: FunctionEvent) -> Result<(), TableError> {
        self.n_events += 1;
        self.waiting.push(event);
        if GROUP_ROWS <= self.waiting.len() { self.write_group() } else { Ok(()) }
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
            group.u64(rows.iter().map(|e| e.time_ns))?;
            group.texts(rows.iter().map(|e| &*e.event))?;
            group.words(rows.iter().map(|e| place_name(e.place)))?;
            group.texts(rows.iter().map(|e| &*e.function))?;
            group.u32(rows.iter().map(|e| e.hit))?;
            group.lists(rows.iter().map(|e| e.values.as_slice()))
        })?;
        self.waiting.clear();
        Ok(())
    }
}

/// Reader of a file of function events, in batches.
#[derive(Debug)]
pub struct FunctionReader {
    table: TableReader,
}

impl FunctionReader {
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
    pub fn batches(&self) -> impl Iterator<Item = Result<Vec<FunctionEvent>, TableError>> {
        (0..self.table.n_groups()).map(|group| read_group(&self.table.group(group)?))
    }
}

fn read_group(group: &GroupReader<'_>) -> Result<Vec<FunctionEvent>, TableError> {
    let world = group.u32("world")?;
    let rank = group.u32("rank")?;
    let thread = group.u32("thread")?;
    let time_ns = group.u64("time_ns")?;
    let event = group.words("event")?;
    let place = group.words("place")?;
    let function = group.words("function")?;
    let hit = group.u32("hit")?;
    let mut values = group.lists(VALUES)?.into_iter();
    let text = |bytes: &[u8]| Arc::from(String::from_utf8_lossy(bytes));
    let row = |i: usize| FunctionEvent {
        world: world[i],
        rank: rank[i],
        thread: thread[i],
        time_ns: time_ns[i],
        event: text(event[i].data()),
        place: if place[i].data() == EXIT.as_bytes() {
            ProbePoint::Exit
        } else {
            ProbePoint::Entry
        },
        function: text(function[i].data()),
        hit: hit[i],
        values: values.next().unwrap_or_default(),
    };
    Ok((0..world.len()).map(row).collect())
}

const EXIT: &str = "exit";

fn place_name(place: ProbePoint) -> &'static str {
    match place {
        ProbePoint::Entry => "entry",
        ProbePoint::Exit => EXIT,
    }
}
