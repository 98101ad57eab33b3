//! Table of function events from records of functions and actions, and sums of passages of `--probe`.

use super::super::roster::{RankProcess, Roster};
use super::super::sums::without_duration;
use super::Traced;
use events::decoding::{DecodedRecord, Decoder};
use events::{CallRecord, FunctionKind, ProbePoint, ProcessKey, Ticks};
use run_record::measured::RunFacts;
use run_record::{FunctionEvent, FunctionWriter, RunRecord, TableError};
use std::collections::{HashMap, HashSet};
use std::sync::Arc;
use wire::facts::{EventFacts, shapes};
use wire::sum_builder::{BatchPositions, Calls, SumBatchBuilder, SumRequest, ThreadInput};
use wire::{ProcessSum, Records};

/// Returns whether a record belongs to a function, an action or the tuner, not to an MPI call of the trace.
pub(super) fn is_function(record: &CallRecord) -> bool {
    let is_watched = record.kind == FunctionKind::Watched as u16;
    let kinds = FunctionKind::Event as u16..=FunctionKind::Action as u16;
    is_watched || kinds.contains(&record.kind)
}

/// Table of function events, created with its first row.
#[derive(Debug)]
pub(super) struct FunctionTable<'a> {
    roster: &'a Roster<'a>,
    record: &'a RunRecord,
    facts: &'a [EventFacts],
    passages: Passages,
    /// Name of the event and of its function, by event.
    names: Vec<(Arc<str>, Arc<str>)>,
    decoder: Decoder<(usize, u32)>,
    writer: Option<FunctionWriter>,
}

impl<'a> FunctionTable<'a> {
    pub(super) fn new(roster: &'a Roster<'a>, record: &'a RunRecord, facts: &'a RunFacts) -> Self {
        let passages = Passages::new(facts);
        let facts = &*facts.functions;
        let names =
            |event: &EventFacts| (event.name.as_str().into(), event.function.as_str().into());
        let names = facts.iter().map(names).collect();
        let decoder = Decoder::new(facts.iter().map(EventFacts::kinds).collect());
        Self { roster, record, facts, passages, names, decoder, writer: None }
    }

    /// Writes the function records among `records`, which belong to the rank at this position.
    pub(super) fn write(&mut self, rank: usize, records: &Records) -> Result<(), TableError> {
        let process = self.roster.ranks[rank];
        let thread = process.thread_number(records.thread);
        self.passages.read(rank, records);
        for record in records.records.iter().filter(|record| is_function(record)) {
            let Some(decoded) = self.decoder.read(&(rank, thread), record) else { continue };
            if let DecodedRecord::Passed(passage) = &decoded
                && self.passages.is_only_summed(passage.event)
            {
                continue;
            }
            let row = self.row(&process, thread, decoded);
            let writer = match self.writer.take() {
                Some(writer) => writer,
                None => self.record.function_writer()?,
            };
            self.writer.insert(writer).append(&[row])?;
        }
        Ok(())
    }

    fn row(&self, process: &RankProcess<'_>, thread: u32, decoded: DecodedRecord) -> FunctionEvent {
        let ((event, function), place, hit, ticks, values) = match decoded {
            DecodedRecord::Passed(passage) => {
                let values = passage.values.iter().map(|value| value.as_f64()).collect();
                let (names, place) =
                    (self.names[passage.event].clone(), self.facts[passage.event].place);
                (names, place, passage.hit, passage.ticks, values)
            }
            DecodedRecord::Did(action) => {
                let (names, place) = ((FunctionEvent::ACTION.into(), "".into()), ProbePoint::Entry);
                let values = vec![action.action as f64, action.failure.into()];
                (names, place, action.hit, action.ticks, values)
            }
        };
        FunctionEvent {
            world: u32::try_from(process.world).unwrap_or(u32::MAX),
            rank: process.report.rank.0,
            thread,
            time_ns: process.clock.ns_at(Ticks(ticks)).max(0).cast_unsigned(),
            event,
            place,
            function,
            hit,
            values,
        }
    }

    /// Finishes the table, if there is one, and adds what was found to the result.
    pub(super) fn finish(mut self, traced: &mut Traced) -> Result<(), TableError> {
        traced.passages = self.passages.take(&mut traced.warnings);
        traced.n_function_events = self.writer.map_or(Ok(0), FunctionWriter::finish)?;
        let n_unknown = self.decoder.n_unknown;
        if n_unknown != 0 {
            traced.warnings.push(format!(
                "{n_unknown} function records belong to unknown events and were skipped."
            ));
        }
        Ok(())
    }
}

/// Passages summed so far.
#[derive(Debug)]
pub(super) struct Passages {
    builder: SumBatchBuilder,
    request: SumRequest,
    events: HashSet<u32>,
    /// True if every passage was requested.
    is_traced: bool,
    threads: HashMap<(usize, u32), Calls>,
    ranks: HashMap<usize, BatchPositions>,
}

impl Passages {
    pub(super) fn new(facts: &RunFacts) -> Self {
        let shapes = shapes(&facts.functions, &facts.probed);
        let events: Vec<u32> = facts.probed.iter().flat_map(|it| it.events()).collect();
        let request = SumRequest::new(&shapes, &events);
        let mut builder = SumBatchBuilder::default();
        builder.set_shapes(shapes);
        Self {
            builder,
            request,
            events: events.into_iter().collect(),
            is_traced: facts.traced,
            threads: HashMap::new(),
            ranks: HashMap::new(),
        }
    }

    /// Returns whether the passages of an event get no rows of their own.
    fn is_only_summed(&self, event: usize) -> bool {
        !self.is_traced && u32::try_from(event).is_ok_and(|event| self.events.contains(&event))
    }

    /// Adds records of the rank at this position.
    pub(super) fn read(&mut self, rank: usize, records: &Records) {
        if self.events.is_empty() {
            return;
        }
        let input = ThreadInput {
            process: process(rank),
            thread: records.thread,
            request: &self.request,
            calls: self.threads.entry((rank, records.thread)).or_default(),
            passed: self.ranks.entry(rank).or_default(),
            is_ended: true,
            n_records_long: u64::MAX,
        };
        self.builder.read(input, records.first, &records.records);
    }

    /// Removes and returns all sums by rank and event.
    pub(super) fn take(&mut self, warnings: &mut Vec<String>) -> Vec<(usize, u32, ProcessSum)> {
        let Some(batch) = self.builder.take() else { return Vec::new() };
        if batch.n_unmatched != 0 {
            warnings.push(without_duration(batch.n_unmatched));
        }
        let events = batch.events.into_iter();
        let sums = events.flat_map(|event| {
            let number = event.event;
            event.processes.into_iter().map(move |sum| (rank(&sum), number, sum))
        });
        sums.collect()
    }
}

/// Processes of different nodes may have the same key; therefore the key here holds the rank's position.
fn process(rank: usize) -> ProcessKey {
    ProcessKey { pid: 0, started: rank as u64 }
}

fn rank(sum: &ProcessSum) -> usize {
    usize::try_from(sum.process.started).unwrap_or(usize::MAX)
}
