//! `function-events.parquet`: every passage of a measurement point, one row each.
//!
//! # Invariants
//! - The rows of one thread stand in the order in which they happened; the threads may be mixed in any way.
//! - Values are floating-point numbers: integers above 2^53 are rounded.

use crate::table::{GroupReader, Layout, TableError, TableReader, TableWriter};
use events::Place;
use std::path::Path;
use std::sync::Arc;

/// Rows that are written, and read, together.
const GROUP_ROWS: usize = 100_000;

/// Column of the values inside its list.
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

/// A passage of a measurement point, or an action that was carried out.
#[derive(Clone, Debug, PartialEq)]
pub struct FunctionEvent {
    /// Position in [`Summary::worlds`](crate::Summary::worlds).
    pub world: u32,
    /// Rank in its world.
    pub rank: u32,
    /// Thread of the rank, 0 for the one that initialized MPI.
    pub thread: u32,
    /// When, since [`Summary::started_s`](crate::Summary::started_s).
    pub time_ns: u64,
    /// Name of the event; [`FunctionEvent::ACTION`] for an action.
    pub event: Arc<str>,
    /// Entry or exit.
    pub place: Place,
    /// The function, as its source calls it; empty for an action.
    pub function: Arc<str>,
    /// How often the place was passed in its process, where that was counted; else 0.
    pub hit: u32,
    /// Attributes in the order of the description; of an action its number, and an error number of the
    /// system or 0.
    pub values: Vec<f64>,
}

impl FunctionEvent {
    /// Name in [`FunctionEvent::event`] of what is no event but an action.
    pub const ACTION: &str = "(action)";
}

/// Appends events to a file that appears when it is finished.
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
    /// When the file cannot take them: it is then of no use, and the spool still holds them.
    pub fn append(&mut self, event: FunctionEvent) -> Result<(), TableError> {
        self.n_events += 1;
        self.waiting.push(event);
        if GROUP_ROWS <= self.waiting.len() { self.write_group() } else { Ok(()) }
    }

    /// Ends the file and gives it its name; returns how many events it holds.
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

/// Reads the events of a file, in batches.
#[derive(Debug)]
pub struct FunctionReader {
    table: TableReader,
}

impl FunctionReader {
    /// Opens a file.
    ///
    /// # Errors
    /// When it is not there, or not a Parquet file.
    pub fn open(path: &Path) -> Result<Self, TableError> {
        Ok(Self { table: TableReader::open(path)? })
    }

    /// Events in the file.
    pub fn n_events(&self) -> u64 {
        self.table.n_rows()
    }

    /// All events in the order of the file, as often as one likes.
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
        place: if place[i].data() == EXIT.as_bytes() { Place::Exit } else { Place::Entry },
        function: text(function[i].data()),
        hit: hit[i],
        values: values.next().unwrap_or_default(),
    };
    Ok((0..world.len()).map(row).collect())
}

const EXIT: &str = "exit";

fn place_name(place: Place) -> &'static str {
    match place {
        Place::Entry => "entry",
        Place::Exit => EXIT,
    }
}
