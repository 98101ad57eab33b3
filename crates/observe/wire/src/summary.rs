//! Function events summed on a node, and the range of records that the sums cover.
//!
//! The collector reads the records of a thread in order. Records of summarized events are summed on the
//! node and never sent one by one; a batch states for every thread which records it covers. Records whose
//! sums were not sent yet, or were lost on the way, are still in the rings: a collector that connects
//! (again) learns from [`crate::ToCollector::Resume`] how far the analyzer's sums reach, and sums the rest
//! again. So every passage counts in exactly one batch.

use events::{Moments, ProbePoint, ProcessKey, ValueType};
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, HashMap};

/// Maximum number of open calls reported per thread: the outermost ones.
pub const N_OPEN_MAX: usize = 64;

/// Layout and meaning of an event's records.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct EventShape {
    /// Entry or exit.
    pub place: ProbePoint,
    /// Number of the function, shared by its entry and exit.
    pub function: u32,
    /// Types of the attributes.
    pub kinds: Vec<ValueType>,
    /// Whether sums per process are reported, too.
    pub by_process: bool,
}

/// Passages of measurement points on one node.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct SummaryBatch {
    /// Number of the batch on this connection, repeated in the acknowledgment.
    pub number: u64,
    /// Sums of the events that occurred.
    pub events: Vec<EventSummary>,
    /// Records covered, by thread.
    pub ranges: Vec<ThreadRange>,
    /// Exits without their entry, and entries not kept because calls were nested too deeply.
    pub n_unmatched: u64,
}

/// Passages of one measurement point.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct EventSummary {
    /// Number of the event.
    pub event: u32,
    /// Passages.
    pub n: u64,
    /// Processes that passed the point.
    pub n_ranks: u32,
    /// Ticks of the first passage.
    pub first_ticks: u64,
    /// Ticks of the last passage.
    pub last_ticks: u64,
    /// Statistics of each attribute.
    pub attributes: Vec<Moments>,
    /// Ticks from the entry to the exit of the same function on the same thread, for an exit.
    pub duration_ticks: Moments,
    /// Sums by process, sorted by key; only for events reported by process.
    pub processes: Vec<ProcessSum>,
}

/// Passages of one measurement point in one process.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct ProcessSum {
    /// Process on the sender's node.
    pub process: ProcessKey,
    /// Passages.
    pub n: u64,
    /// See [`EventSummary::duration_ticks`].
    pub duration_ticks: Moments,
    /// Ticks in calls that are not inside another call of the same function, so that no time counts twice.
    pub outer_ticks: u64,
}

/// Range of a thread's records that a batch covers.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ThreadRange {
    /// Process on the sender's node.
    pub process: ProcessKey,
    /// Index of the thread in the process's segment.
    pub thread: u32,
    /// Number of the first record.
    pub first: u64,
    /// Number of the record after the last one.
    pub end: u64,
    /// Calls still open after the last record, outermost first: function and ticks of the entry.
    pub open: Vec<(u32, u64)>,
}

/// Batches of a node added up.
#[derive(Clone, Debug, Default)]
pub struct BatchTotals {
    /// Sums by event.
    pub events: BTreeMap<u32, EventSummary>,
    /// Records covered, by process and thread.
    pub threads: HashMap<(ProcessKey, u32), CoveredRecords>,
    /// See [`SummaryBatch::n_unmatched`].
    pub n_unmatched: u64,
}

/// Records of a thread that are covered by sums.
#[derive(Clone, Debug, Default)]
pub struct CoveredRecords {
    /// Covered records in order, from first to before end.
    pub spans: Vec<(u64, u64)>,
    /// Calls open after the last of them, as in [`ThreadRange::open`].
    pub open: Vec<(u32, u64)>,
}

impl BatchTotals {
    /// Adds a batch, whose records are not covered yet.
    pub fn add(&mut self, batch: &SummaryBatch) {
        for event in &batch.events {
            let sum = self.events.entry(event.event);
            sum.or_insert_with(|| EventSummary { event: event.event, ..EventSummary::default() })
                .merge(event);
        }
        for range in &batch.ranges {
            let covered = self.threads.entry((range.process, range.thread)).or_default();
            match covered.spans.last_mut() {
                Some((_, end)) if *end == range.first => *end = range.end,
                _ => covered.spans.push((range.first, range.end)),
            }
            covered.open.clone_from(&range.open);
        }
        self.n_unmatched += batch.n_unmatched;
    }
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
    /// Returns empty sums of `process`.
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
