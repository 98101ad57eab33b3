//! Sampled process: its threads, its modules, and its call paths.

use crate::pace::Pace;
use crate::paths::Paths;
use crate::perf::{PerfError, RawSample, SAMPLES_PER_S, ThreadEvent};
use crate::sections::SectionCache;
use crate::unwind::ProcessUnwinder;
use events::ProcessKey;
use ring::samples::SampleReader;
use std::collections::BTreeMap;
use std::time::{Duration, Instant};
use wire::samples::ProcessSamples;

/// Minimum time between two readings of a process's mappings.
const READ_MODULES_EVERY: Duration = Duration::from_secs(1);
/// Maximum number of threads that are sampled in a process.
const N_THREADS_MAX: usize = 1024;

/// Process that is sampled.
#[derive(Debug)]
pub(crate) struct SampledProcess {
    key: ProcessKey,
    threads: BTreeMap<i32, ThreadEvent>,
    /// Samples that the process takes of itself.
    own: Option<SampleReader>,
    unwinder: ProcessUnwinder,
    paths: Paths,
    pace: Pace,
    /// Number of periods that a sample of the present interval stands for.
    n_periods: u64,
    modules_read: Option<Instant>,
    /// Samples without room, of threads that have ended.
    n_lost: u64,
    /// Processor time spent on it here.
    pub(crate) cost: Duration,
    problem: String,
    is_refused: bool,
    /// Number of samples that were handed on, and when.
    handed_on: (u64, Instant),
}

impl SampledProcess {
    pub(crate) fn new(key: ProcessKey, own: Option<SampleReader>, now: Instant) -> Self {
        Self {
            key,
            threads: BTreeMap::new(),
            own,
            unwinder: ProcessUnwinder::new(),
            paths: Paths::default(),
            pace: Pace::default(),
            n_periods: 1,
            modules_read: None,
            n_lost: 0,
            cost: Duration::ZERO,
            problem: String::new(),
            is_refused: false,
            handed_on: (0, now),
        }
    }

    /// Starts to sample new threads, and forgets those that have ended.
    fn scan_threads(&mut self) {
        if let Some(own) = &self.own {
            self.problem = own.refusal().map(|it| it.words().to_owned()).unwrap_or_default();
            return;
        }
        let living = thread_ids(self.key.pid);
        let ended = self.threads.extract_if(.., |tid, _| !living.contains(tid));
        self.n_lost += ended.map(|(_, event)| event.n_lost).sum::<u64>();
        for tid in living {
            if self.threads.contains_key(&tid) || N_THREADS_MAX <= self.threads.len() {
                continue;
            }
            match ThreadEvent::open(tid) {
                Ok(event) => drop(self.threads.insert(tid, event)),
                Err(PerfError::Ended) => {}
                Err(error) => {
                    self.problem = error.to_string();
                    self.is_refused = self.threads.is_empty();
                    break;
                }
            }
        }
    }

    /// Counts the samples of the last interval, and begins the next one; `is_scan` says that threads may be new.
    pub(crate) fn next_interval(&mut self, files: &mut SectionCache, now: Instant, is_scan: bool) {
        self.read(files, now);
        if self.own.is_some() {
            if is_scan {
                self.scan_threads();
            }
            return;
        }
        if is_scan || self.pace.is_new() {
            self.pace.adapt(self.key.pid, &thread_ids(self.key.pid));
        }
        let is_sampled = self.pace.begin_interval();
        if !is_sampled {
            let ended = std::mem::take(&mut self.threads);
            self.n_lost += ended.into_values().map(|event| event.n_lost).sum::<u64>();
        } else if is_scan || self.threads.is_empty() {
            self.scan_threads();
        }
        self.n_periods = self.pace.n_periods();
    }

    /// Returns whether it is of no use to look at the process again.
    pub(crate) fn is_refused(&self) -> bool {
        self.is_refused
    }

    /// Counts the samples that have arrived.
    pub(crate) fn read(&mut self, files: &mut SectionCache, now: Instant) {
        if self.modules_read.is_none() {
            self.read_modules(now);
        }
        let Self { threads, own, unwinder, paths, n_periods, .. } = self;
        let mut is_outside = false;
        let mut take = |sample: &RawSample<'_>| {
            let path = unwinder.path(sample, files);
            is_outside |= path.is_outside;
            paths.add(path.addresses, path.is_cut, *n_periods);
        };
        threads.values_mut().for_each(|event| event.read(&mut take));
        if let Some(own) = own {
            own.read(|registers, stack| take(&RawSample { registers: *registers, stack }));
        }
        // A library may have been loaded; the next samples profit from it.
        if is_outside {
            self.read_modules(now);
        }
    }

    fn read_modules(&mut self, now: Instant) {
        if self.modules_read.is_some_and(|at| now.duration_since(at) < READ_MODULES_EVERY) {
            return;
        }
        self.modules_read = Some(now);
        if let Ok(maps) = std::fs::read(format!("/proc/{}/maps", self.key.pid)) {
            self.unwinder.add_modules(&String::from_utf8_lossy(&maps));
        }
    }

    /// Returns all samples so far, if there are new ones since at least `interval`.
    pub(crate) fn hand_on(&mut self, interval: Duration, now: Instant) -> Option<ProcessSamples> {
        let (n_known, at) = self.handed_on;
        let is_due = interval <= now.duration_since(at);
        let is_news = n_known < self.paths.n_samples || n_known == 0 && !self.problem.is_empty();
        if !is_due || !is_news {
            return None;
        }
        self.handed_on = (self.paths.n_samples.max(1), now);
        Some(ProcessSamples {
            process: self.key,
            node: String::new(),
            period_ns: 1_000_000_000 / SAMPLES_PER_S,
            samples: self.paths.n_samples,
            lost: self.n_lost
                + self.own.as_ref().map_or(0, SampleReader::n_lost)
                + self.threads.values().map(|event| event.n_lost).sum::<u64>(),
            cut: self.paths.n_cut,
            cost_ns: u64::try_from(self.cost.as_nanos()).unwrap_or(u64::MAX),
            problem: self.problem.clone(),
            modules: self.unwinder.modules.clone(),
            nodes: self.paths.nodes().to_vec(),
        })
    }
}

fn thread_ids(pid: u32) -> Vec<i32> {
    let Ok(entries) = std::fs::read_dir(format!("/proc/{pid}/task")) else { return Vec::new() };
    entries.flatten().filter_map(|entry| entry.file_name().to_str()?.parse().ok()).collect()
}
