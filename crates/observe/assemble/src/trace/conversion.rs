//! Conversion of call records to events: ticks to times, addresses to call sites, processes to ranks.

use super::super::roster::{RankProcess, Roster};
use super::super::sites::{AddressBook, Sites};
use super::functions::is_function;
use events::{CallRecord, OperationId, ProcessKey, RecordKind, Ticks};
use run_record::Event;
use std::collections::HashMap;
use wire::Records;

/// State needed to convert the records of any process.
#[derive(Debug)]
pub(super) struct Conversion<'a> {
    roster: &'a Roster<'a>,
    sites: &'a Sites,
    /// Positions in [`Roster::ranks`] by node and process.
    ranks: HashMap<(&'a str, ProcessKey), usize>,
    /// Events of the current batch; the buffer is reused.
    events: Vec<Event>,
    n_unknown_process: u64,
    n_unknown_kind: u64,
}

impl<'a> Conversion<'a> {
    pub(super) fn new(roster: &'a Roster<'a>, sites: &'a Sites) -> Self {
        let key = |rank: &RankProcess<'a>| (rank.report.node.as_str(), rank.report.key);
        let ranks = roster.ranks.iter().enumerate().map(|(idx, rank)| (key(rank), idx)).collect();
        Self { roster, sites, ranks, events: Vec::new(), n_unknown_process: 0, n_unknown_kind: 0 }
    }

    /// Returns the rank's position and its events; `None` if the process is unknown.
    pub(super) fn events(&mut self, node: &str, records: &Records) -> Option<(usize, &[Event])> {
        self.events.clear();
        let Some(idx) = self.ranks.get(&(node, records.process)).copied() else {
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
    pub(super) fn finish(self) -> Vec<String> {
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
