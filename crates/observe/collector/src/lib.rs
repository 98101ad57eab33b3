//! Collector of a node: forwards what ranks wrote into shared memory to the analyzer.
//!
//! One process per node and run, separate from the ranks, so that the end of a rank loses no records. It sleeps
//! until a rank rings the doorbell, a process ends, the analyzer sends something, or rings are due to be read;
//! while awake it never blocks.
//!
//! # Invariants
//! - Ring space is released only for records that the analyzer acknowledged or a file holds; a segment is removed
//!   only when the last report of its process is saved as well.
//! - At most 1 MiB waits to be written (plus the message being added); further records stay in the rings,
//!   which count dropped ones.
//! - Without an analyzer, the collector continues and writes files.
//! - Whichever process of the tool is killed, the data in shared memory reach the record: [`recover`] looks in all
//!   places where they may be.
//!
//! # Not here
//! Writing to shared memory (`probe`), the format of messages (`wire`), the analyzer's side (`server`), the meaning of
//! the numbers (`assemble`).

mod control;
mod delivery;
mod ends;
mod fit;
pub mod handshake;
pub mod leftovers;
mod link;
mod messages;
mod modules;
mod node;
pub mod place;
mod plan;
mod process;
pub mod recover;
mod sleep;
mod spill;
mod sums;

pub use place::{EnvironmentError, RunEnvironment};

use crate::place::{STARTED_BY_ATTACHER, STARTED_BY_LAUNCHER, node_name};
use ends::Ends;
use events::ProcessKey;
use link::Link;
use node::NodeFolder;
use plan::{AnalyzerState, DrainPace, Milestone};
use process::Observed;
use ring::SegmentError;
use rustix::process::{Resource, getrlimit, setrlimit};
use sleep::WakeUps;
use spill::Spill;
use std::collections::{HashMap, HashSet};
use std::path::PathBuf;
use std::time::{Duration, Instant};
use sums::SumSender;
use wire::ToAnalyzer;

/// Shortest time between scans of the folder while the doorbell rings.
const RING_PAUSE: Duration = Duration::from_millis(2);

/// Maximum number of sentences kept about overwritten segments.
const N_DAMAGES_MAX: usize = 10;

/// Options of a collector.
#[derive(Clone, Copy, Debug)]
pub struct CollectorOptions {
    /// Time for which a lost analyzer is retried before it is given up.
    pub patience: Duration,
    /// Time between scans of the folder when the doorbell does not ring.
    pub scan_every: Duration,
    /// Time for the last bytes to be sent.
    pub farewell: Duration,
}

impl Default for CollectorOptions {
    fn default() -> Self {
        Self {
            patience: Duration::from_secs(5),
            scan_every: Duration::from_secs(1),
            farewell: Duration::from_secs(5),
        }
    }
}

/// Reason why a node has no collector.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum CollectorError {
    /// The node's folder cannot be used.
    #[error("cannot use the folder `{path}` in shared memory; check that it is writable")]
    Folder {
        /// Path of the folder.
        path: PathBuf,
        /// Reason.
        source: std::io::Error,
    },
}

/// Collector of one node.
#[derive(Debug)]
#[expect(
    clippy::struct_excessive_bools,
    reason = "each says something of its own about what is due"
)]
pub struct Collector {
    options: CollectorOptions,
    node: String,
    folder: NodeFolder,
    link: Link,
    spill: Spill,
    processes: Vec<Observed>,
    /// Position of each process in `processes`.
    index: HashMap<ProcessKey, usize>,
    paths: HashSet<PathBuf>,
    ends: Ends,
    sums: SumSender,
    /// Segments that cannot be read, with the reason.
    refused: HashMap<PathBuf, String>,
    /// Sentences about segments that the program has overwritten.
    damages: Vec<String>,
    pace: DrainPace,
    /// Pace of draining rings of processes whose events are only summed.
    sum_pace: DrainPace,
    report_every: Duration,
    finishing: bool,
    leaving: bool,
    /// True if it was started by the launcher or attacher, which runs on this node.
    is_launchers: bool,
    /// True if the processes existed before this tool attached, and must be left as they were.
    is_attached: bool,
    last_scan: Instant,
    next_scan: Instant,
    next_drain: Instant,
    next_sum_drain: Instant,
    next_reports: Instant,
    next_spilled_reports: Instant,
    /// True if the records of some process are waited for.
    is_prompt: bool,
    orders_wait: bool,
    answers_wait: bool,
    /// Position of the process that last sent records; they take turns.
    turn: usize,
    wake_ups: WakeUps,
}

impl Collector {
    /// Takes this node; returns `None` if another collector has it.
    ///
    /// # Errors
    /// The folder in shared memory cannot be created.
    pub fn take(
        environment: &RunEnvironment,
        options: CollectorOptions,
    ) -> Result<Option<Self>, CollectorError> {
        Self::take_node(environment, &node_name(), options)
    }

    /// Takes a node with this name, for simulating several nodes on one machine.
    ///
    /// # Errors
    /// As [`Collector::take`].
    pub fn take_node(
        environment: &RunEnvironment,
        node: &str,
        options: CollectorOptions,
    ) -> Result<Option<Self>, CollectorError> {
        let now = Instant::now();
        // Each process needs a file handle, and the default limit is too low for a large node.
        let mut limit = getrlimit(Resource::Nofile);
        limit.current = limit.maximum;
        setrlimit(Resource::Nofile, limit).ok();
        let fail = |source| CollectorError::Folder { path: environment.run_dir(), source };
        let Some(folder) = NodeFolder::take(environment, node).map_err(fail)? else {
            return Ok(None);
        };
        Ok(Some(Self {
            options,
            link: Link::new(environment, node, options.patience, now),
            spill: Spill::new(environment.out.as_deref(), environment.run, node),
            node: node.to_owned(),
            folder,
            processes: Vec::new(),
            index: HashMap::new(),
            paths: HashSet::new(),
            ends: Ends::new(),
            sums: SumSender::new(now),
            refused: HashMap::new(),
            damages: Vec::new(),
            pace: DrainPace::default(),
            sum_pace: DrainPace::of_sums(),
            report_every: Duration::from_secs(2),
            finishing: false,
            leaving: false,
            is_launchers: [STARTED_BY_LAUNCHER, STARTED_BY_ATTACHER]
                .contains(&environment.started_by.as_str()),
            is_attached: environment.started_by == STARTED_BY_ATTACHER,
            last_scan: now,
            next_scan: now,
            next_drain: now,
            next_sum_drain: now,
            next_reports: now,
            next_spilled_reports: now,
            is_prompt: true,
            orders_wait: false,
            answers_wait: true,
            turn: 0,
            wake_ups: WakeUps::BY_ALL,
        }))
    }

    /// Collects until the collector is no longer needed.
    pub fn run(mut self) {
        loop {
            self.step(Instant::now());
            if self.is_over() {
                break;
            }
            self.sleep(Instant::now());
        }
        self.say_farewell();
        // The launcher of this node itself recovers what remains.
        if self.processes.is_empty() || !self.is_launchers {
            self.folder.remove();
        }
    }

    fn analyzer_state(&self) -> AnalyzerState {
        match () {
            () if self.link.is_given_up() => AnalyzerState::GivenUp,
            () if self.finishing => AnalyzerState::Finishing,
            () => AnalyzerState::Available,
        }
    }

    fn is_over(&self) -> bool {
        let is_gone = |process: &Observed| process.stage.reached == Milestone::Gone;
        // No disk takes the remaining data: it stays in shared memory, where `report` finds it.
        let is_stuck =
            self.link.is_given_up() && self.spill.is_full() && self.processes.iter().all(is_gone);
        self.leaving || is_stuck || plan::is_over(self.analyzer_state(), self.processes.len())
    }

    /// Does everything that can be done at `now` without blocking.
    fn step(&mut self, now: Instant) {
        if self.wake_ups.by_doorbell && self.folder.has_rung() {
            self.next_scan = self.next_scan.min(self.last_scan + RING_PAUSE);
        }
        if self.next_scan <= now {
            self.scan(now);
        }
        if self.wake_ups.by_end {
            self.see_ends(now);
        }
        if self.wake_ups.by_link || self.link.connection().is_none() {
            let news = self.link.look(now);
            self.hear(news, now);
        }
        if self.link.is_given_up() {
            let let_go = if self.is_attached { Observed::let_go } else { Observed::let_begin };
            self.processes.iter_mut().for_each(let_go);
            self.orders_wait = true;
        }
        if self.orders_wait {
            self.processes.iter_mut().for_each(Observed::pass_orders);
            self.orders_wait = self.processes.iter().any(Observed::has_orders);
        }
        match self.analyzer_state() {
            AnalyzerState::GivenUp => self.spill_all(now),
            AnalyzerState::Available | AnalyzerState::Finishing => self.hand_over(now),
        }
        self.forget_done();
    }

    /// Scans for new processes, changed states and ended processes.
    fn scan(&mut self, now: Instant) {
        self.last_scan = now;
        self.next_scan = now + self.options.scan_every;
        if self.folder.doorbell().is_none() {
            self.next_scan = now + self.options.scan_every / 10;
        }
        self.answers_wait = true;
        for path in self.folder.segments() {
            if self.paths.contains(&path) {
                continue;
            }
            match Observed::open(&path, now) {
                Ok(process) => self.follow(process, now),
                // The segment is still being created; the rank rings the doorbell when it is ready.
                Err(SegmentError::NotASegment { .. }) => {}
                Err(error) => {
                    self.refused.insert(path, error.to_string());
                }
            }
        }
        for process in &mut self.processes {
            process.watch_state();
            if process.stage.is_news() {
                self.next_reports = now;
            }
        }
    }

    fn follow(&mut self, mut process: Observed, now: Instant) {
        if let Some(pidfd) = process.pidfd() {
            self.ends.add(pidfd, process.key.pid);
        }
        process.set_request(self.sums.request(process.key));
        self.paths.insert(process.path().to_owned());
        self.index.insert(process.key, self.processes.len());
        self.processes.push(process);
        self.next_reports = now;
        (self.is_prompt, self.orders_wait) = (true, true);
    }

    fn see_ends(&mut self, now: Instant) {
        let ended = self.ends.told();
        if ended.is_empty() {
            return;
        }
        for process in &mut self.processes {
            if ended.contains(&process.key.pid.into()) {
                process.watch();
            }
        }
        self.next_reports = now;
    }

    fn process(&mut self, key: ProcessKey) -> Option<&mut Observed> {
        self.processes.get_mut(*self.index.get(&key)?)
    }

    fn say(&mut self, message: &ToAnalyzer) {
        if let Some(connection) = self.link.connection() {
            // Only a report can be too long.
            connection.send(message).ok();
        }
    }

    /// Releases processes whose data are all saved.
    fn forget_done(&mut self) {
        let is_ending = |process: &Observed| process.stage.kept != Milestone::Running;
        if !self.processes.iter().any(is_ending) {
            return;
        }
        let n_before = self.processes.len();
        self.processes.retain_mut(|process| {
            process.release();
            let is_drained = process.stage.kept == Milestone::Gone && process.is_drained();
            let is_done = process.stage.is_done(is_drained);
            if is_done {
                self.damages
                    .extend(process.damage().filter(|_| self.damages.len() < N_DAMAGES_MAX));
                std::fs::remove_file(process.path()).ok();
                self.paths.remove(process.path());
                self.sums.forget(process.key);
            }
            !is_done
        });
        if self.processes.len() != n_before {
            let keys = self.processes.iter().map(|process| process.key);
            self.index = keys.zip(0..).collect();
        }
    }

    /// Tells the analyzer that nothing is left, and waits until the message is sent.
    fn say_farewell(&mut self) {
        let n_lost = self.spill.n_lost();
        let warnings = self.refused.values().chain(&self.damages).cloned().collect();
        self.say(&ToAnalyzer::Finished { n_lost, warnings });
        let deadline = Instant::now() + self.options.farewell;
        while let Some(connection) = self.link.connection()
            && connection.flush().is_ok()
            && connection.n_waiting() != 0
            && Instant::now() < deadline
        {
            self.sleep(Instant::now());
        }
    }
}
