//! Function events added up on a node, and how far the sums go.
//!
//! The collector reads records of a thread in their order. Those of events that are wanted as a summary are
//! added up there and never sent one by one; a batch says of every thread which records it has dealt with.
//! What it did not send yet, or what was lost on the way, is still in the rings: a collector that comes
//! (back) hears in [`crate::ToCollector::Resume`] how far the analyzer is, and adds up the rest again. So
//! every passage is in one batch that counts.

use events::{Moments, Place, ProcessKey, ValueType};
use serde::{Deserialize, Serialize};

/// Open calls told of one thread at most: the outermost.
pub const N_OPEN_MAX: usize = 64;

/// How the records of an event are read.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct EventShape {
    /// Entry or exit.
    pub place: Place,
    /// Entry and exit of a function have the same number.
    pub function: u32,
    /// Types of its attributes.
    pub kinds: Vec<ValueType>,
    /// It is told of each process, too.
    pub by_process: bool,
}

/// Passages of measurement points on one node.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct SummaryBatch {
    /// Its number on this connection; comes back in the acknowledgment.
    pub number: u64,
    /// Events that were passed.
    pub events: Vec<EventSummary>,
    /// Threads that were read.
    pub ranges: Vec<ThreadRange>,
    /// Exits without their entry, and entries that were not kept because calls were too deep.
    pub n_unmatched: u64,
}

/// Passages of one measurement point.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct EventSummary {
    /// Its number.
    pub event: u32,
    /// Passages.
    pub n: u64,
    /// Processes that passed it.
    pub n_ranks: u32,
    /// Ticks of the first passage.
    pub first_ticks: u64,
    /// Ticks of the last one.
    pub last_ticks: u64,
    /// Each attribute.
    pub attributes: Vec<Moments>,
    /// Ticks from the entry to the exit of the same function on the same thread, for an exit.
    pub duration_ticks: Moments,
    /// Those of each process, by its key, of events of which that is told.
    pub processes: Vec<ProcessSum>,
}

/// Passages of one measurement point in one process.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct ProcessSum {
    /// The process on the sender's node.
    pub process: ProcessKey,
    /// Passages.
    pub n: u64,
    /// See [`EventSummary::duration_ticks`].
    pub duration_ticks: Moments,
    /// Ticks in calls that are not inside another call of the function: no time is in it twice.
    pub outer_ticks: u64,
}

/// Records of a thread that a batch has dealt with.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ThreadRange {
    /// The process on the sender's node.
    pub process: ProcessKey,
    /// Position of the thread in the process's segment.
    pub thread: u32,
    /// Number of the first record.
    pub first: u64,
    /// Number of the record after the last.
    pub end: u64,
    /// Calls that the thread is in after the last record, outermost first: function and ticks of the entry.
    pub open: Vec<(u32, u64)>,
}

impl EventSummary {
    /// Adds the passages of `other`, of the same event.
    pub fn merge(&mut self, other: &Self) {
        if self.n == 0 {
            self.first_ticks = other.first_ticks;
        }
        self.n += other.n;
        self.n_ranks = self.n_ranks.max(other.n_ranks);
        self.first_ticks = self.first_ticks.min(other.first_ticks);
        self.last_ticks = self.last_ticks.max(other.last_ticks);
        if self.attributes.len() < other.attributes.len() {
            self.attributes.resize(other.attributes.len(), Moments::default());
        }
        for (mine, theirs) in self.attributes.iter_mut().zip(&other.attributes) {
            mine.merge(theirs);
        }
        self.duration_ticks.merge(&other.duration_ticks);
        for theirs in &other.processes {
            let mine = self.processes.binary_search_by_key(&theirs.process, |mine| mine.process);
            match mine {
                Ok(at) => self.processes[at].merge(theirs),
                Err(at) => self.processes.insert(at, *theirs),
            }
        }
    }
}

impl ProcessSum {
    /// Nothing of `process` yet.
    pub fn of(process: ProcessKey) -> Self {
        Self { process, n: 0, duration_ticks: Moments::default(), outer_ticks: 0 }
    }

    /// Adds the passages of `other`, of the same event.
    pub fn merge(&mut self, other: &Self) {
        self.n += other.n;
        self.duration_ticks.merge(&other.duration_ticks);
        self.outer_ticks += other.outer_ticks;
    }
}
