//! Individual calls of a traced run: from spool files into the event file, and through the model of an ideal network.
//!
//! # Invariants
//! - One pass over the spools; memory is bounded by one frame per file, the event writer's group, and
//!   [`N_ROWS_MAX`] rows for the model.
//! - Function events go to their own table, those of `--probe` only with `--trace`; without `--trace` no
//!   event file is written.
//! - The events of a thread are written once, in the order of its calls.

mod functions;
mod lanes;
mod spools;

use super::roster::{RankProcess, Roster};
use super::sites::{AddressBook, Sites};
use super::sums::StoredSums;
use events::{CallRecord, OperationId, ProcessKey, RecordKind, Ticks};
use functions::{FunctionTable, is_function};
use lanes::Lanes;
use models::delays::Delays;
use models::ideal_network::Split;
use run_record::measured::{MeasuredRun, RunFacts};
use run_record::{Event, EventWriter, RunRecord, TableError};
use spools::Merge;
use std::collections::{BTreeSet, HashMap};
use wire::{ProcessSum, Records};

/// Maximum number of rows for which serialization and transfer are separated: the model holds the whole run.
const N_ROWS_MAX: u64 = 10_000_000;

/// Number after the last record of each thread, by node, process and index of the thread.
type ThreadEnds<'a> = HashMap<(&'a str, ProcessKey, u32), u64>;

/// Result of writing a trace.
#[derive(Debug, Default, PartialEq)]
pub(super) struct Traced {
    pub(super) n_events: u64,
    /// Rows in the table of function events.
    pub(super) n_function_events: u64,
    /// Individual passages of functions chosen with `--probe`: rank, event and their sum.
    pub(super) passages: Vec<(usize, u32, ProcessSum)>,
    /// Records that were written to rings but are in no spool.
    pub(super) n_missing: u64,
    /// Serialization and transfer efficiency of each world.
    pub(super) splits: Vec<Option<Split>>,
    /// Causes of waiting in each world.
    pub(super) delays: Vec<Option<Delays>>,
    /// Sentences about data that could not be read or computed.
    pub(super) warnings: Vec<String>,
}

/// Writes all records of the spools as events.
pub(super) fn write(
    measured: &MeasuredRun,
    (roster, sites, sums): (&Roster<'_>, &Sites, &StoredSums),
    (record, facts): (&RunRecord, &RunFacts),
) -> Result<Traced, TableError> {
    let mut traced = Traced::default();
    let mut writer = if facts.traced { Some(record.event_writer()?) } else { None };
    let mut functions = FunctionTable::new(roster, record, facts);
    let mut lanes = Lanes::new(roster, N_ROWS_MAX);
    let mut conversion = Conversion::new(roster, sites);
    let mut ends = ThreadEnds::new();
    let nodes: BTreeSet<&str> = measured.spools.iter().map(|spool| spool.node.as_str()).collect();
    for node in nodes {
        // All records of a process are in the spools of its node.
        let spools: Vec<_> = measured.spools.iter().filter(|spool| spool.node == node).collect();
        let mut merge = Merge::open(&spools, sums.covered(node));
        while let Some(records) = merge.next() {
            let Some((rank, events)) = conversion.events(node, &records) else { continue };
            lanes.push(rank, events);
            append(&mut writer, record, events)?;
            functions.write(rank, &records)?;
        }
        let merged = merge.finish();
        traced.warnings.extend(merged.warnings);
        let ends_here = merged.ends.into_iter();
        ends.extend(ends_here.map(|((process, thread), end)| ((node, process, thread), end)));
        traced.n_missing += merged.n_missing;
    }
    traced.n_events = writer.map_or(Ok(0), EventWriter::finish)?;
    functions.finish(&mut traced)?;
    traced.n_missing += never_arrived(roster, &ends, sums);
    traced.warnings.extend(conversion.finish());
    lanes.finish(&measured.nodes, &mut traced);
    Ok(traced)
}

/// Appends events, creating the file if there is none.
fn append(
    writer: &mut Option<EventWriter>,
    record: &RunRecord,
    events: &[Event],
) -> Result<(), TableError> {
    if events.is_empty() {
        return Ok(());
    }
    let open = match writer.take() {
        Some(open) => open,
        None => record.event_writer()?,
    };
    writer.insert(open).append(events)
}

/// Returns the number of records after the last one that arrived from each thread.
fn never_arrived(roster: &Roster<'_>, ends: &ThreadEnds<'_>, sums: &StoredSums) -> u64 {
    let threads = roster.ranks.iter().flat_map(|rank| {
        let threads = rank.report.threads.iter();
        threads.map(move |thread| (rank.report, thread.idx, thread.n_written))
    });
    let missing = threads.map(|(report, thread, n_written)| {
        let end = ends.get(&(&*report.node, report.key, thread)).copied();
        let end = end.unwrap_or(0);
        let covered = sums.covered(&report.node);
        let n_in_sums = covered.n_within(report.key, thread, (end, n_written));
        n_written.saturating_sub(end).saturating_sub(n_in_sums)
    });
    missing.sum()
}

/// State needed to convert the records of any process.
#[derive(Debug)]
struct Conversion<'a> {
    roster: &'a Roster<'a>,
    sites: &'a Sites,
    /// Events of the current batch; the buffer is reused.
    events: Vec<Event>,
    n_unknown_process: u64,
    n_unknown_kind: u64,
}

impl<'a> Conversion<'a> {
    fn new(roster: &'a Roster<'a>, sites: &'a Sites) -> Self {
        Self { roster, sites, events: Vec::new(), n_unknown_process: 0, n_unknown_kind: 0 }
    }

    /// Returns the rank's position and its events; `None` if the process is unknown.
    fn events(&mut self, node: &str, records: &Records) -> Option<(usize, &[Event])> {
        self.events.clear();
        let Some(idx) = self.roster.position(node, records.process) else {
            self.n_unknown_process += records.records.len() as u64;
            return None;
        };
        let (rank, book) = (&self.roster.ranks[idx], &self.sites.books[idx]);
        let thread = rank.thread_number(records.thread);
        for record in records.records.iter().filter(|record| !is_function(record)) {
            match event(rank, book, thread, record) {
                Some(event) => self.events.push(event),
                None => self.n_unknown_kind += 1,
            }
        }
        Some((idx, &self.events))
    }

    /// Returns sentences about records that were left out.
    fn finish(self) -> Vec<String> {
        let left_out = [
            (self.n_unknown_process, "no report of their process arrived"),
            (
                self.n_unknown_kind,
                "this version does not know their kind: use one version of Sintonia on all nodes",
            ),
        ];
        let left_out = left_out.iter().filter(|(n_records, _)| *n_records != 0);
        left_out.map(|(n, why)| format!("{n} records are not in the trace: {why}.")).collect()
    }
}

fn event(
    rank: &RankProcess<'_>,
    book: &AddressBook,
    thread: u32,
    record: &CallRecord,
) -> Option<Event> {
    // Clock differences between nodes may put the first calls slightly before the start of the run.
    let ns = |ticks: u64| rank.clock.ns_at(Ticks(ticks)).max(0).cast_unsigned();
    let site = book.site(record.address, record.operation).filter(|_| record.address != 0);
    let start_ns = ns(record.enter_ticks);
    Some(Event {
        world: u32::try_from(rank.world).ok()?,
        rank: rank.report.rank.0,
        thread,
        start_ns,
        end_ns: ns(record.exit_ticks).max(start_ns),
        operation: OperationId(record.operation),
        call_site: site.and_then(|site| u32::try_from(site).ok()),
        peer: record.peer,
        tag: record.tag,
        communicator: record.communicator,
        bytes: record.bytes,
        request: record.request,
        more: record.more,
        kind: RecordKind::from_number(record.kind)?,
    })
}

#[cfg(test)]
mod tests;
