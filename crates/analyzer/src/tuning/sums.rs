//! Sums of events that come one by one because somebody else wants every passage.

use super::directory::Key;
use super::plan::Plan;
use crate::collector::summaries::{Calls, Passed, Source, Summaries, Wish};
use crate::measured::shapes;
use std::collections::HashMap;
use std::time::{Duration, Instant};
use tunlets::conductor::Mode;
use wire::{EventShape, Records, SummaryBatch, ToCollector};

/// Time from one sum of an event to the next, here and in collectors.
const FLUSH_EVERY: Duration = Duration::from_millis(100);
/// The same in collectors when no tunlet hears of it.
const FLUSH_EVERY_UNHEARD: Duration = Duration::from_secs(1);
/// Time that an event may wait on its node when a tunlet decides by it.
const READ_EVERY: Duration = Duration::from_millis(10);
/// The same when nobody decides.
const READ_EVERY_OBSERVED: Duration = Duration::from_millis(100);

/// See the module.
#[derive(Debug)]
pub(super) struct Sums {
    shapes: Vec<EventShape>,
    processes: HashMap<Key, Process>,
    nodes: HashMap<String, Summaries>,
    next_flush: Instant,
}

#[derive(Debug, Default)]
struct Process {
    wish: Wish,
    passed: Passed,
    threads: HashMap<u32, Calls>,
}

impl Sums {
    /// Of the events of a plan.
    pub(super) fn new(plan: &Plan) -> Self {
        Self {
            shapes: shapes(&plan.events, &plan.probed),
            processes: HashMap::new(),
            nodes: HashMap::new(),
            next_flush: Instant::now(),
        }
    }

    /// What collectors have to know about events.
    pub(super) fn shapes(&self, mode: Mode, has_tunlets: bool) -> ToCollector {
        let milliseconds = |time: Duration| u32::try_from(time.as_millis()).unwrap_or(u32::MAX);
        let read_every = if mode == Mode::Observe { READ_EVERY_OBSERVED } else { READ_EVERY };
        let flush_every = if has_tunlets { FLUSH_EVERY } else { FLUSH_EVERY_UNHEARD };
        ToCollector::Events {
            shapes: self.shapes.clone(),
            flush_every_ms: milliseconds(flush_every),
            read_every_ms: milliseconds(read_every),
        }
    }

    /// `events` of a process are added up here.
    pub(super) fn ask(&mut self, key: &Key, events: &[u32]) {
        if !events.is_empty() {
            let wish = Wish::new(&self.shapes, events);
            self.processes.insert(key.clone(), Process { wish, ..Process::default() });
        }
    }

    /// Takes records that came one by one.
    pub(super) fn read(&mut self, key: &Key, records: &Records) {
        let Some(process) = self.processes.get_mut(key) else { return };
        if !self.nodes.contains_key(&key.0) {
            let mut summaries = Summaries::default();
            summaries.set_shapes(self.shapes.clone());
            self.nodes.insert(key.0.clone(), summaries);
        }
        let Some(summaries) = self.nodes.get_mut(&key.0) else { return };
        let source = Source {
            process: key.1,
            thread: records.thread,
            wish: &process.wish,
            calls: process.threads.entry(records.thread).or_default(),
            passed: &mut process.passed,
            // Events with many attributes come whole, but for those at the edge of a message.
            is_ended: true,
            n_records_long: u64::MAX,
        };
        summaries.read(source, records.first, &records.records);
    }

    /// What was added up, when its time has come.
    pub(super) fn flush(&mut self, now: Instant) -> Vec<(String, SummaryBatch)> {
        if now < self.next_flush || self.nodes.is_empty() {
            return Vec::new();
        }
        self.next_flush = now + FLUSH_EVERY;
        let nodes = self.nodes.iter_mut();
        nodes.filter_map(|(node, sums)| Some((node.clone(), sums.take()?))).collect()
    }
}
