//! Sums of individually recorded passages of functions chosen with `--probe`, computed as collectors do.

use super::super::sums::without_duration;
use events::ProcessKey;
use run_record::measured::RunFacts;
use std::collections::{HashMap, HashSet};
use wire::facts::shapes;
use wire::sum_builder::{BatchPositions, Calls, SumBatchBuilder, SumRequest, ThreadInput};
use wire::{ProcessSum, Records};

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
    pub(super) fn is_only_summed(&self, event: usize) -> bool {
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
