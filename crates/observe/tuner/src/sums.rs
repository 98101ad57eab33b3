//! Sums of events that arrive individually because another tunlet wants every passage.

use super::directory::Key;
use super::plan::TuningPlan;
use events::tuning::TuningMode;
use std::collections::HashMap;
use std::time::Duration;
use wire::facts::shapes;
use wire::sum_builder::{BatchPositions, Calls, SumBatchBuilder, SumRequest, ThreadInput};
use wire::{EventShape, Records, SummaryBatch, ToCollector};

/// Time between two sums of an event, here and in collectors.
const FLUSH_EVERY: Duration = Duration::from_millis(100);
/// Time between two sums in collectors if no tunlet uses them.
const FLUSH_EVERY_UNHEARD: Duration = Duration::from_secs(1);
/// Time for which an event may wait on its node if a tunlet decides by it.
const READ_EVERY: Duration = Duration::from_millis(10);
/// The same where nothing is measured in the program: levers are decided by reports and by iterations of many calls.
const READ_EVERY_OF_LEVERS: Duration = Duration::from_millis(150);
/// Time for which an event may wait on its node if the tunlets only observe.
const READ_EVERY_OBSERVED: Duration = Duration::from_millis(100);

/// Sums computed in the analyzer; see the module documentation.
#[derive(Debug)]
pub(super) struct LocalSums {
    shapes: Vec<EventShape>,
    processes: HashMap<Key, Process>,
    nodes: HashMap<String, SumBatchBuilder>,
    /// Time of the next sums, in s.
    next_flush_s: f64,
}

#[derive(Debug, Default)]
struct Process {
    request: SumRequest,
    passed: BatchPositions,
    threads: HashMap<u32, Calls>,
}

impl LocalSums {
    /// Creates empty sums for the events of a plan.
    pub(super) fn new(plan: &TuningPlan) -> Self {
        Self {
            shapes: shapes(&plan.events, &plan.probed),
            processes: HashMap::new(),
            nodes: HashMap::new(),
            next_flush_s: 0.0,
        }
    }

    /// Returns the message that tells collectors about the events.
    pub(super) fn shapes(&self, mode: TuningMode, has_tunlets: bool) -> ToCollector {
        let milliseconds = |time: Duration| u32::try_from(time.as_millis()).unwrap_or(u32::MAX);
        let read_every = match mode {
            TuningMode::Observe => READ_EVERY_OBSERVED,
            _ if self.shapes.is_empty() => READ_EVERY_OF_LEVERS,
            _ => READ_EVERY,
        };
        let flush_every = if has_tunlets { FLUSH_EVERY } else { FLUSH_EVERY_UNHEARD };
        ToCollector::Events {
            shapes: self.shapes.clone(),
            flush_every_ms: milliseconds(flush_every),
            read_every_ms: milliseconds(read_every),
        }
    }

    /// Requests that `events` of a process are summed here.
    pub(super) fn ask(&mut self, key: &Key, events: &[u32]) {
        if !events.is_empty() {
            let request = SumRequest::new(&self.shapes, events);
            self.processes.insert(key.clone(), Process { request, ..Process::default() });
        }
    }

    /// Adds records that arrived individually.
    pub(super) fn read(&mut self, key: &Key, records: &Records) {
        let Some(process) = self.processes.get_mut(key) else { return };
        let builder = self.nodes.entry(key.0.clone()).or_insert_with(|| {
            let mut builder = SumBatchBuilder::default();
            builder.set_shapes(self.shapes.clone());
            builder
        });
        let input = ThreadInput {
            process: key.1,
            thread: records.thread,
            request: &process.request,
            calls: process.threads.entry(records.thread).or_default(),
            passed: &mut process.passed,
            // An event's records arrive together, except at the boundary of a message.
            is_ended: true,
            n_records_long: u64::MAX,
        };
        builder.read(input, records.first, &records.records);
    }

    /// Returns the sums by node, if they are due.
    pub(super) fn flush(&mut self, now_s: f64) -> Vec<(String, SummaryBatch)> {
        if now_s < self.next_flush_s || self.nodes.is_empty() {
            return Vec::new();
        }
        self.next_flush_s = now_s + FLUSH_EVERY.as_secs_f64();
        let nodes = self.nodes.iter_mut();
        nodes.filter_map(|(node, sums)| Some((node.clone(), sums.take()?))).collect()
    }
}
