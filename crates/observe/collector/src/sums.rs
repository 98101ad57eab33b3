//! Delivery of the sums of function events to the analyzer.
//!
//! # Invariants
//! - At most [`N_UNACKNOWLEDGED_MAX`] batches are in transit; further events go into the open one.
//! - Nothing is read before the analyzer has told from where, and nothing is kept when the connection is lost:
//!   unacknowledged records are still in the rings.

use super::Collector;
use super::plan::{Delivery, DrainPace, Milestone};
use super::process::Observed;
use events::ProcessKey;
use std::collections::{HashMap, VecDeque};
use std::time::{Duration, Instant};
use wire::sum_builder::{SumBatchBuilder, SumRequest};
use wire::{EventShape, ThreadRange, ToAnalyzer};

const N_UNACKNOWLEDGED_MAX: usize = 8;
/// Time between two batches, unless the analyzer sets another.
const FLUSH_EVERY: Duration = Duration::from_millis(100);

/// Process, thread, and the thread's first record that is not in a batch.
type ThreadEnd = (ProcessKey, u32, u64);

/// The sums of a node.
#[derive(Debug)]
pub(crate) struct SumSender {
    pub(super) builder: SumBatchBuilder,
    /// Events to sum by process; those under `None` apply to all other processes.
    requests: HashMap<Option<ProcessKey>, Vec<u32>>,
    unacknowledged: VecDeque<(u64, Vec<ThreadEnd>)>,
    flush_every: Duration,
    next_flush: Instant,
    /// True if the analyzer has told from where to resume.
    pub(super) is_resumed: bool,
}

impl SumSender {
    pub(super) fn new(now: Instant) -> Self {
        Self {
            builder: SumBatchBuilder::default(),
            requests: HashMap::new(),
            unacknowledged: VecDeque::new(),
            flush_every: FLUSH_EVERY,
            next_flush: now,
            is_resumed: false,
        }
    }

    /// Rewinds after a lost connection.
    pub(super) fn rewind(&mut self) {
        self.discard();
        self.is_resumed = false;
    }

    /// Discards the batches that are not safe, whose records will be read again.
    fn discard(&mut self) {
        self.builder.take();
        self.unacknowledged.clear();
    }

    /// Returns the events of a process that are wanted as sums.
    pub(super) fn request(&self, process: ProcessKey) -> SumRequest {
        let own = self.requests.get(&Some(process)).or_else(|| self.requests.get(&None));
        own.map(|events| SumRequest::new(self.builder.shapes(), events)).unwrap_or_default()
    }

    pub(super) fn forget(&mut self, process: ProcessKey) {
        self.requests.remove(&Some(process));
    }

    /// Returns the time at which the next batch is due, if any.
    pub(super) fn next_flush(&self) -> Option<Instant> {
        (!self.builder.is_empty()).then_some(self.next_flush)
    }
}

impl Collector {
    pub(super) fn take_shapes(&mut self, shapes: Vec<EventShape>, flush_every_ms: u32) {
        self.sums.flush_every = Duration::from_millis(flush_every_ms.into());
        if shapes != self.sums.builder.shapes() {
            // Events read with other shapes are read again.
            self.sums.discard();
            self.processes.iter_mut().for_each(Observed::reread);
            if shapes.iter().any(|shape| shape.by_process) {
                self.schedule.sum_pace = DrainPace::of_probes();
            }
            self.sums.builder.set_shapes(shapes);
        }
        self.renew_requests();
    }

    fn renew_requests(&mut self) {
        for process in self.processes.iter_mut() {
            process.set_request(self.sums.request(process.key));
        }
    }

    pub(super) fn take_wish(&mut self, process: Option<ProcessKey>, events: Vec<u32>) {
        self.sums.requests.insert(process, events);
        match process {
            Some(key) => {
                let request = self.sums.request(key);
                if let Some(process) = self.processes.get_mut(key) {
                    process.set_request(request);
                }
            }
            None => self.renew_requests(),
        }
    }

    pub(super) fn resume(&mut self, ranges: Vec<ThreadRange>) {
        for range in ranges {
            if let Some(process) = self.processes.get_mut(range.process) {
                process.resume(range.thread, range.end, range.open);
            }
        }
        self.sums.is_resumed = true;
    }

    /// Marks a batch and all before it as safe.
    pub(super) fn acknowledge_sums(&mut self, number: u64) {
        let batches = &mut self.sums.unacknowledged;
        let n_safe = batches.partition_point(|(other, _)| *other <= number);
        let safe: Vec<_> = batches.drain(..n_safe).collect();
        for (_, ranges) in safe {
            for (key, thread, end) in ranges {
                if let Some(process) = self.processes.get_mut(key) {
                    process.acknowledge(thread, Delivery::Summed, end);
                }
            }
        }
    }

    /// Sends the open batch if it is due.
    pub(super) fn flush_sums(&mut self, now: Instant) {
        let sums = &mut self.sums;
        if sums.builder.is_empty() || N_UNACKNOWLEDGED_MAX <= sums.unacknowledged.len() {
            return;
        }
        // A process that is ending waits until its last records are safe.
        let is_ending = |process: &Observed| process.stage.reached != Milestone::Running;
        let is_due = sums.next_flush <= now
            || sums.builder.is_long()
            || self.finishing
            || self.processes.iter().any(is_ending);
        let Some(connection) = self.link.connection().filter(|link| is_due && link.has_room())
        else {
            return;
        };
        sums.next_flush = now + sums.flush_every;
        let Some(batch) = sums.builder.take() else { return };
        let ranges = batch.ranges.iter();
        let ranges = ranges.map(|range| (range.process, range.thread, range.end)).collect();
        sums.unacknowledged.push_back((batch.number, ranges));
        // Far shorter than the maximum message size: the sums of an event are bounded by its attributes.
        connection.send(&ToAnalyzer::Summaries(batch)).ok();
    }
}
