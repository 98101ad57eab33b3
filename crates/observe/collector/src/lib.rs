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
//! Writing to shared memory (`probe`), the format of messages (`wire`), the analyzer (`server`, `assemble`).

mod delivery;
pub mod handshake;
pub mod leftovers;
mod link;
mod modules;
mod node;
pub mod place;
mod plan;
mod process;
mod processes;
pub mod recover;
mod sleep;
mod spill;
mod sums;
mod usage;

pub use place::{EnvironmentError, RunEnvironment};

use crate::place::{STARTED_BY_ATTACHER, STARTED_BY_LAUNCHER, node_name};
use link::Link;
use node::NodeFolder;
use plan::{AnalyzerState, DrainPace, Milestone};
use process::Observed;
use processes::Processes;
use rustix::process::{Resource, getrlimit, setrlimit};
use sleep::{Ends, WakeUps};
use spill::Spill;
use std::path::PathBuf;
use std::time::{Duration, Instant};
use sums::SumSender;
use wire::ToAnalyzer;

/// Shortest time between scans of the folder while the doorbell rings.
const RING_PAUSE: Duration = Duration::from_millis(2);

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

/// The node's folder in shared memory cannot be used.
#[derive(Debug, thiserror::Error)]
#[error("cannot use the folder `{path}` in shared memory; check that it is writable")]
pub struct CollectorError {
    path: PathBuf,
    source: std::io::Error,
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
    processes: Processes,
    ends: Ends,
    sums: SumSender,
    schedule: Schedule,
    finishing: bool,
    leaving: bool,
    /// True if it was started by the launcher or attacher, which runs on this node.
    is_launchers: bool,
    /// True if the processes existed before this tool attached, and must be left as they were.
    is_attached: bool,
    orders_wait: bool,
    answers_wait: bool,
    wake_ups: WakeUps,
}

/// Times at which something is due.
#[derive(Debug)]
struct Schedule {
    last_scan: Instant,
    next_scan: Instant,
    pace: DrainPace,
    next_drain: Instant,
    /// Pace of draining rings of processes whose events are only summed.
    sum_pace: DrainPace,
    next_sum_drain: Instant,
    /// True if the records of some process are waited for.
    is_prompt: bool,
    report_every: Duration,
    next_reports: Instant,
    next_spilled_reports: Instant,
}

impl Schedule {
    fn new(now: Instant) -> Self {
        Self {
            last_scan: now,
            next_scan: now,
            pace: DrainPace::default(),
            next_drain: now,
            sum_pace: DrainPace::of_sums(),
            next_sum_drain: now,
            is_prompt: true,
            report_every: Duration::from_secs(2),
            next_reports: now,
            next_spilled_reports: now,
        }
    }
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
        let fail = |source| CollectorError { path: environment.run_dir(), source };
        let Some(folder) = NodeFolder::take(environment, node).map_err(fail)? else {
            return Ok(None);
        };
        Ok(Some(Self {
            options,
            link: Link::new(environment, node, options.patience, now),
            spill: Spill::new(environment.out.as_deref(), environment.run, node),
            node: node.to_owned(),
            folder,
            processes: Processes::new(environment.sample),
            ends: Ends::new(),
            sums: SumSender::new(now),
            schedule: Schedule::new(now),
            finishing: false,
            leaving: false,
            is_launchers: [STARTED_BY_LAUNCHER, STARTED_BY_ATTACHER]
                .contains(&environment.started_by.as_str()),
            is_attached: environment.started_by == STARTED_BY_ATTACHER,
            orders_wait: false,
            answers_wait: true,
            wake_ups: WakeUps { by_doorbell: true, by_link: true, by_end: true },
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
            self.schedule.next_scan =
                self.schedule.next_scan.min(self.schedule.last_scan + RING_PAUSE);
        }
        if self.schedule.next_scan <= now {
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
            self.orders_wait = self.processes.iter().any(|process| process.control.has_orders());
        }
        match self.analyzer_state() {
            AnalyzerState::GivenUp => self.spill_all(now),
            AnalyzerState::Available | AnalyzerState::Finishing => self.hand_over(now),
        }
        self.forget_done();
    }

    /// Scans for new processes, changed states and ended processes.
    fn scan(&mut self, now: Instant) {
        self.schedule.last_scan = now;
        self.schedule.next_scan = now + self.options.scan_every;
        if self.folder.doorbell.is_none() {
            self.schedule.next_scan = now + self.options.scan_every / 10;
        }
        self.answers_wait = true;
        for path in node::segments(&self.folder.dir) {
            if let Some(process) = self.processes.open(&path, now) {
                self.follow(process, now);
            }
        }
        for process in self.processes.iter_mut() {
            process.watch_state();
            if process.stage.is_news() {
                self.schedule.next_reports = now;
            }
        }
    }

    fn follow(&mut self, mut process: Observed, now: Instant) {
        if let Some(pidfd) = &process.pidfd {
            self.ends.add(pidfd, process.key.pid);
        }
        process.set_request(self.sums.request(process.key));
        self.processes.follow(process);
        self.schedule.next_reports = now;
        (self.schedule.is_prompt, self.orders_wait) = (true, true);
    }

    fn see_ends(&mut self, now: Instant) {
        let ended = self.ends.told();
        if ended.is_empty() {
            return;
        }
        for process in self.processes.iter_mut() {
            if ended.contains(&process.key.pid.into()) {
                process.watch();
            }
        }
        self.schedule.next_reports = now;
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
        if self.processes.iter().any(is_ending) {
            self.processes.forget_done().into_iter().for_each(|key| self.sums.forget(key));
        }
    }

    /// Tells the analyzer that nothing is left, and waits until the message is sent.
    fn say_farewell(&mut self) {
        let n_lost = self.spill.n_lost();
        let warnings = self.processes.warnings();
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
