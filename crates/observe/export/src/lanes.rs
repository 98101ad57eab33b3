//! Threads, rows and call sites of a trace.

use crate::error::ExportError;
use events::RecordKind;
use mpi_abi::Operation;
use run_record::{Event, EventReader, RunRecord, Summary};
use std::collections::{BTreeMap, HashMap};

/// Thread of a rank in a world.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) struct LaneKey {
    pub(crate) world: u32,
    pub(crate) rank: u32,
    pub(crate) thread: u32,
}

impl LaneKey {
    pub(crate) fn of(event: &Event) -> Self {
        Self { world: event.world, rank: event.rank, thread: event.thread }
    }
}

/// Sorted threads of a trace, with their positions.
#[derive(Clone, Debug, Default)]
pub(crate) struct Lanes {
    pub(crate) keys: Vec<LaneKey>,
    positions: HashMap<LaneKey, usize>,
}

impl Lanes {
    pub(crate) fn of(trace: &Trace) -> Result<Self, ExportError> {
        let mut positions = HashMap::new();
        trace.each(|event| {
            positions.insert(LaneKey::of(event), 0);
        })?;
        let mut keys: Vec<LaneKey> = positions.keys().copied().collect();
        keys.sort_unstable();
        for (position, key) in keys.iter().enumerate() {
            positions.insert(*key, position);
        }
        Ok(Self { keys, positions })
    }

    /// Returns the position of the event's thread.
    pub(crate) fn position(&self, event: &Event) -> usize {
        self.positions.get(&LaneKey::of(event)).copied().unwrap_or_default()
    }
}

/// A traced run.
pub(crate) struct Trace {
    pub(crate) summary: Summary,
    events: EventReader,
}

impl Trace {
    pub(crate) fn open(record: &RunRecord) -> Result<Self, ExportError> {
        let not_traced = || ExportError::NotTraced(record.dir().to_owned());
        let events = record.events()?.ok_or_else(not_traced)?;
        Ok(Self { summary: record.read_summary()?, events })
    }

    /// Calls `see` for every row, in the order of the file.
    pub(crate) fn each(&self, mut see: impl FnMut(&Event)) -> Result<(), ExportError> {
        self.try_each(|event| {
            see(event);
            Ok(())
        })
    }

    /// Calls `see` for every row, in the order of the file, until it fails.
    pub(crate) fn try_each(
        &self,
        mut see: impl FnMut(&Event) -> Result<(), ExportError>,
    ) -> Result<(), ExportError> {
        for batch in self.events.batches() {
            batch?.iter().try_for_each(&mut see)?;
        }
        Ok(())
    }

    /// Returns the node on which a rank ran; empty if unknown.
    pub(crate) fn node(&self, world: u32, rank: u32) -> &str {
        let ranks = &self.summary.ranks;
        let found = ranks.iter().find(|r| r.world == world as usize && r.rank == rank);
        found.map_or("", |r| r.node.as_str())
    }
}

/// Returns the number of ranks of each world of the trace, whether they were seen or not.
pub(crate) fn n_ranks(trace: &Trace, lanes: &Lanes) -> BTreeMap<u32, u32> {
    let mut n_ranks: BTreeMap<u32, u32> = BTreeMap::new();
    for key in &lanes.keys {
        let known = trace.summary.worlds.get(key.world as usize).map_or(0, |world| world.size);
        let n = n_ranks.entry(key.world).or_insert(u32::try_from(known).unwrap_or(0));
        *n = (*n).max(key.rank.saturating_add(1));
    }
    n_ranks
}

/// Returns whether the row is a call, not the continuation of one.
pub(crate) fn is_call(event: &Event) -> bool {
    event.kind == RecordKind::Call
}

/// Returns the operation; `None` if this version does not know it.
pub(crate) fn operation(event: &Event) -> Option<&'static Operation> {
    mpi_abi::operation(event.operation)
}

/// Returns the start of each world: from the summary, or its first call where the summary's start is later.
pub(crate) fn starts_ns(trace: &Trace) -> Result<BTreeMap<u32, u64>, ExportError> {
    let mut starts_ns: BTreeMap<u32, u64> = BTreeMap::new();
    trace.each(|event| {
        let start_ns = starts_ns.entry(event.world).or_insert(event.start_ns);
        *start_ns = (*start_ns).min(event.start_ns);
    })?;
    for (world, first_ns) in &mut starts_ns {
        let known = trace.summary.worlds.get(*world as usize).map(|w| nanoseconds(w.start_s));
        *first_ns = known.filter(|start_ns| start_ns < first_ns).unwrap_or(*first_ns);
    }
    Ok(starts_ns)
}

#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "the cast saturates")]
fn nanoseconds(seconds: f64) -> u64 {
    (seconds * 1e9).round() as u64
}

/// Returns the text of every call site by its number: `solve (cg.c:120)`.
pub(crate) fn call_site_texts(summary: &Summary) -> HashMap<u32, String> {
    let text = |site: &run_record::summary::CallSite| {
        let place = &site.place;
        let function = if place.function.is_empty() { "?" } else { &place.function };
        let file = place.file.rsplit('/').next().unwrap_or_default();
        let text = match (file.is_empty(), place.line) {
            (false, line) => format!("{function} ({file}:{line})"),
            (true, _) if place.module.is_empty() => function.to_owned(),
            (true, _) => format!("{function} ({}+{:#x})", place.module, place.offset),
        };
        Some((u32::try_from(site.id).ok()?, text))
    };
    summary.call_sites.iter().filter_map(text).collect()
}
