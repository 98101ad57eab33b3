//! Sums of a node's function events.
//!
//! Records of a thread are read in order; events that are wanted as a summary are added to the open batch, all
//! other records are handed back. An exit is matched with the innermost open entry of its function.
//!
//! # Invariants
//! - A batch holds the sums of an event once, however often it was passed, and one range per thread.
//! - An event is added together with all its attributes, or left for the next read.
//!
//! # Not here
//! Rings and acknowledgments (`collector`), the analyzer's side (`server`).

mod calls;

pub use calls::Calls;

use crate::{EventShape, EventSummary, ProcessSum, SummaryBatch, ThreadRange};
use events::{CallRecord, EventRecord, FunctionKind, Moments, ProbePoint, ProcessKey};
use std::ops::Range;

/// Number of per-process sums from which on a batch is long.
const N_SUMS_LONG: usize = 50_000;

/// Events of a process that are wanted as sums.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SumRequest {
    /// True for each event that is summed.
    summed: Vec<bool>,
    /// True for each function whose exits are summed, so that its entries must be remembered.
    timed: Vec<bool>,
}

impl SumRequest {
    /// Requests sums of `events`; events without a shape are ignored.
    pub fn new(shapes: &[EventShape], events: &[u32]) -> Self {
        let mut request = Self { summed: vec![false; shapes.len()], timed: Vec::new() };
        for event in events {
            let Some(shape) = shapes.get(*event as usize) else { continue };
            request.summed[*event as usize] = true;
            if shape.place == ProbePoint::Exit {
                let function = shape.function as usize;
                // Functions are numbered by their events, so no number exceeds the number of events.
                if function < shapes.len() {
                    request.timed.resize(request.timed.len().max(function + 1), false);
                    request.timed[function] = true;
                }
            }
        }
        request
    }

    /// Returns whether no event is summed.
    pub fn is_empty(&self) -> bool {
        !self.summed.contains(&true)
    }

    fn sums(&self, event: u32) -> bool {
        self.summed.get(event as usize).copied().unwrap_or(false)
    }

    fn times(&self, function: u32) -> bool {
        self.timed.get(function as usize).copied().unwrap_or(false)
    }
}

/// Thread whose records are read, with its state.
#[derive(Debug)]
pub struct ThreadInput<'a> {
    /// Its process.
    pub process: ProcessKey,
    /// Index of the thread in its process's segment.
    pub thread: u32,
    /// Events that are summed.
    pub request: &'a SumRequest,
    /// Its open calls.
    pub calls: &'a mut Calls,
    /// Batches in which the process passed each event.
    pub passed: &'a mut BatchPositions,
    /// True if the process writes no more, so that incomplete events stay incomplete.
    pub is_ended: bool,
    /// Number of the thread's records from which on a batch is long.
    pub n_records_long: u64,
}

/// By event: the last batch in which a process passed it, and its position among that batch's processes.
pub type BatchPositions = Vec<(u64, usize)>;

/// Result of reading records.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct ReadResult {
    /// Number of records dealt with.
    pub n_read: usize,
    /// True if the thread has a range in the open batch that ends after the last of them.
    pub is_in_batch: bool,
    /// Positions of the records to be sent individually.
    pub kept: Vec<Range<usize>>,
}

/// Batch of sums that is being filled.
#[derive(Debug, Default)]
pub struct SumBatchBuilder {
    shapes: Vec<EventShape>,
    /// Sums by event.
    sums: Vec<EventSummary>,
    /// Events with passages in this batch.
    passed: Vec<u32>,
    ranges: Vec<ThreadRange>,
    n_unmatched: u64,
    /// Number of batches taken so far.
    n_taken: u64,
    /// Number of per-process sums in the batch.
    n_sums: usize,
    is_long: bool,
}

impl SumBatchBuilder {
    /// Sets the shapes of the events; the open batch must be empty.
    pub fn set_shapes(&mut self, shapes: Vec<EventShape>) {
        self.sums = vec![EventSummary::default(); shapes.len()];
        self.shapes = shapes;
    }

    /// Returns the shapes of the events.
    pub fn shapes(&self) -> &[EventShape] {
        &self.shapes
    }

    /// Returns whether the open batch is empty.
    pub fn is_empty(&self) -> bool {
        self.ranges.is_empty()
    }

    /// Returns whether the open batch should be sent early, because rings wait for it to be safe or it is large.
    pub fn is_long(&self) -> bool {
        self.is_long
    }

    /// Removes and returns the open batch, if it is not empty.
    pub fn take(&mut self) -> Option<SummaryBatch> {
        if self.is_empty() {
            return None;
        }
        let take = |event: u32| {
            let mut sum = std::mem::take(&mut self.sums[event as usize]);
            for process in &sum.processes {
                sum.duration_ticks.merge(&process.duration_ticks);
            }
            sum
        };
        let events = self.passed.drain(..).map(take).collect();
        (self.n_sums, self.is_long) = (0, false);
        let ranges = std::mem::take(&mut self.ranges);
        let number = self.number();
        self.n_taken += 1;
        let n_unmatched = std::mem::take(&mut self.n_unmatched);
        Some(SummaryBatch { number, events, ranges, n_unmatched })
    }

    /// Returns the number of the open batch; threads that have no range yet store 0.
    fn number(&self) -> u64 {
        self.n_taken + 1
    }

    /// Reads records of a thread, starting with number `first`.
    pub fn read(
        &mut self,
        mut input: ThreadInput<'_>,
        first: u64,
        records: &[CallRecord],
    ) -> ReadResult {
        let mut result = ReadResult::default();
        let n_known = input.calls.resumes_at.saturating_sub(first);
        let n_known = usize::try_from(n_known).unwrap_or(usize::MAX).min(records.len());
        let mut is_touched = false;
        let mut at = 0;
        while let Some(record) = records.get(at) {
            let event =
                EventRecord::of(record).filter(|_| record.kind == FunctionKind::Event as u16);
            let is_summed = event.is_some_and(|event| input.request.sums(event.event));
            let n_taken = match event {
                Some(event) if is_summed => {
                    let n_wanted = self.n_records(event.event);
                    let more = records[at + 1..].iter().take(n_wanted - 1);
                    let n_found = 1 + more.take_while(|next| is_more(next)).count();
                    if n_found < n_wanted && records.len() == at + n_found && !input.is_ended {
                        break;
                    }
                    if n_known <= at {
                        input.calls.go_on(first + at as u64, event.ticks);
                        self.add(&mut input, &event, &records[at + 1..at + n_found]);
                        is_touched = true;
                    }
                    n_found
                }
                _ => {
                    if let Some(event) = event.filter(|_| n_known <= at) {
                        input.calls.go_on(first + at as u64, event.ticks);
                        is_touched |= self.enter(&mut input, &event);
                    }
                    keep(&mut result.kept, at);
                    1
                }
            };
            at += n_taken;
        }
        result.n_read = at;
        if is_touched {
            self.extend_range(&mut input, first, first + at as u64);
            result.is_in_batch = true;
        }
        result
    }

    fn n_records(&self, event: u32) -> usize {
        let n_values = self.shapes.get(event as usize).map_or(0, |shape| shape.kinds.len());
        n_values.div_ceil(events::function::N_VALUES).max(1)
    }

    /// Remembers an entry; returns whether its exit is timed.
    fn enter(&mut self, input: &mut ThreadInput<'_>, event: &EventRecord) -> bool {
        let Some(shape) = self.shapes.get(event.event as usize) else { return false };
        if shape.place == ProbePoint::Exit || !input.request.times(shape.function) {
            return false;
        }
        if !input.calls.enter(shape.function, event.ticks) {
            self.n_unmatched += 1;
        }
        true
    }

    /// Adds a passage, with the records of its remaining attributes.
    fn add(&mut self, input: &mut ThreadInput<'_>, event: &EventRecord, more: &[CallRecord]) {
        self.enter(input, event);
        let (batch, number) = (self.number(), event.event as usize);
        let (shape, sum) = (&self.shapes[number], &mut self.sums[number]);
        if sum.n == 0 {
            self.passed.push(event.event);
            *sum = EventSummary { event: event.event, ..EventSummary::default() };
            sum.first_ticks = event.ticks;
            sum.attributes.resize(shape.kinds.len(), Moments::default());
        }
        sum.n += 1;
        sum.first_ticks = sum.first_ticks.min(event.ticks);
        sum.last_ticks = sum.last_ticks.max(event.ticks);
        if input.passed.len() <= number {
            input.passed.resize(number + 1, (0, 0));
        }
        let passed = &mut input.passed[number];
        if passed.0 != batch {
            *passed = (batch, sum.processes.len());
            sum.n_ranks += 1;
            if shape.by_process {
                sum.processes.push(ProcessSum::of(input.process));
                self.n_sums += 1;
                self.is_long |= N_SUMS_LONG <= self.n_sums;
            }
        }
        let mut own = sum.processes.get_mut(passed.1);
        if let Some(own) = &mut own {
            own.n += 1;
        }
        let more = more.iter().filter_map(EventRecord::of);
        let values = event.values().into_iter().chain(more.flat_map(|more| more.values()));
        for ((kind, moments), bits) in shape.kinds.iter().zip(&mut sum.attributes).zip(values) {
            let number = kind.value(bits).as_f64();
            // A value that is not finite would spoil the sums of all others.
            if number.is_finite() {
                moments.add(number);
            }
        }
        if shape.place == ProbePoint::Exit {
            let Some((ticks, is_outer)) = input.calls.leave(shape.function, event.ticks) else {
                self.n_unmatched += 1;
                return;
            };
            match own {
                Some(own) => {
                    own.duration_ticks.add(ticks as f64);
                    own.outer_ticks += if is_outer { ticks } else { 0 };
                }
                None => sum.duration_ticks.add(ticks as f64),
            }
        }
    }

    fn extend_range(&mut self, input: &mut ThreadInput<'_>, first: u64, end: u64) {
        let calls = &mut *input.calls;
        if calls.range.0 != self.number() {
            calls.range = (self.number(), self.ranges.len());
            let (process, thread) = (input.process, input.thread);
            // Records in between were sent individually: the ranges of a thread have no gaps.
            let first = calls.range_end.unwrap_or(first);
            self.ranges.push(ThreadRange { process, thread, first, end, open: Vec::new() });
        }
        let range = &mut self.ranges[calls.range.1];
        range.end = end;
        calls.range_end = Some(end);
        range.open.clear();
        range.open.extend(calls.outer());
        self.is_long |= input.n_records_long <= end.saturating_sub(range.first);
    }
}

fn is_more(record: &CallRecord) -> bool {
    record.kind == FunctionKind::MoreValues as u16
}

fn keep(kept: &mut Vec<Range<usize>>, at: usize) {
    match kept.last_mut() {
        Some(run) if run.end == at => run.end += 1,
        _ => kept.push(at..at + 1),
    }
}

#[cfg(test)]
mod tests;
