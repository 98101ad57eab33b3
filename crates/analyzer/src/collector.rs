//! The collector of a node: brings what ranks wrote in shared memory to the analyzer.
//!
//! One per node and run, a process of its own, so that no rank's end takes records with it. It sleeps
//! until a rank rings, a process ends, the analyzer speaks, or rings are due; it never waits for anything
//! while it is awake.
//!
//! # Invariants
//! - A ring's room is given back only for records that the analyzer acknowledged or a file holds; a
//!   segment is removed only when the last report of its process is kept as well.
//! - At most 1 MiB waits to be written (and the message being added); what comes faster stays in the rings,
//!   which count what they drop.
//! - Without an analyzer it goes on, into files.
//!
//! # Not here
//! The decisions (`plan`), the analyzer's side (`server`), what the numbers mean (`assemble`).

mod control;
mod delivery;
mod fit;
mod link;
pub(crate) mod modules;
pub(crate) mod node;
mod plan;
pub(crate) mod process;
pub(crate) mod spill;

use crate::place::{Place, STARTED_BY_ATTACHER, STARTED_BY_LAUNCHER, node_name};
use link::{Link, News};
use node::NodeFolder;
use plan::{DrainPace, Listener, Milestone};
use process::Observed;
use ring::SegmentError;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use spill::Spill;
use std::collections::HashMap;
use std::path::PathBuf;
use std::time::{Duration, Instant};
use wire::{ToAnalyzer, ToCollector};

/// What may be chosen about a collector.
#[derive(Clone, Copy, Debug)]
pub struct CollectorOptions {
    /// How long a lost analyzer is looked for before it is given up.
    pub patience: Duration,
    /// Time between looks at the folder when nobody rings.
    pub scan_every: Duration,
    /// Time for the last bytes to leave.
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

/// Why a node has no collector.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum CollectorError {
    /// The node's folder cannot be used.
    #[error("cannot use the folder `{path}` in shared memory; check that it is writable")]
    Folder {
        /// The folder.
        path: PathBuf,
        /// Why not.
        source: std::io::Error,
    },
}

/// The collector of this node.
#[derive(Debug)]
pub struct Collector {
    options: CollectorOptions,
    node: String,
    folder: NodeFolder,
    link: Link,
    spill: Spill,
    processes: Vec<Observed>,
    /// Segments that cannot be read, and why.
    refused: HashMap<PathBuf, String>,
    pace: DrainPace,
    report_every: Duration,
    finishing: bool,
    leaving: bool,
    /// Started by the launcher, who lives on this node.
    is_launchers: bool,
    /// The processes were there before us, and are to be left as they were.
    is_attached: bool,
    next_scan: Instant,
    next_drain: Instant,
    next_spilled_reports: Instant,
    /// Whose turn it is to send records.
    turn: usize,
}

impl Collector {
    /// Takes this node; none when another collector has it.
    ///
    /// # Errors
    /// When the folder in shared memory cannot be made.
    pub fn take(place: &Place, options: CollectorOptions) -> Result<Option<Self>, CollectorError> {
        let node = node_name();
        let now = Instant::now();
        let fail = |source| CollectorError::Folder { path: place.run_dir(), source };
        let Some(folder) = NodeFolder::take(place, &node).map_err(fail)? else { return Ok(None) };
        Ok(Some(Self {
            options,
            link: Link::new(place, &node, options.patience, now),
            spill: Spill::new(place.out.as_deref(), place.run, &node),
            node,
            folder,
            processes: Vec::new(),
            refused: HashMap::new(),
            pace: DrainPace::default(),
            report_every: Duration::from_secs(2),
            finishing: false,
            leaving: false,
            is_launchers: [STARTED_BY_LAUNCHER, STARTED_BY_ATTACHER]
                .contains(&place.started_by.as_str()),
            is_attached: place.started_by == STARTED_BY_ATTACHER,
            next_scan: now,
            next_drain: now,
            next_spilled_reports: now,
            turn: 0,
        }))
    }

    /// Collects until nobody needs it any more.
    pub fn run(mut self) {
        loop {
            self.step(Instant::now());
            if self.is_over() {
                break;
            }
            self.sleep(Instant::now());
        }
        self.say_farewell();
        // The launcher of this node looks itself for what it had no time to wait for.
        if self.processes.is_empty() || !self.is_launchers {
            self.folder.remove();
        }
    }

    fn listener(&self) -> Listener {
        match () {
            () if self.link.is_given_up() => Listener::Gone,
            () if self.finishing => Listener::Finishing,
            () => Listener::There,
        }
    }

    fn is_over(&self) -> bool {
        let is_gone = |process: &Observed| process.stage.reached == Milestone::Gone;
        // No disk takes what is left: it stays in shared memory, where `report` finds it.
        let is_stuck =
            self.link.is_given_up() && self.spill.is_full() && self.processes.iter().all(is_gone);
        self.leaving || is_stuck || plan::is_over(self.listener(), self.processes.len())
    }

    /// Does everything that can be done at `now` without waiting.
    fn step(&mut self, now: Instant) {
        if self.folder.has_rung() || self.next_scan <= now {
            self.scan(now);
        }
        self.processes.iter_mut().for_each(Observed::watch);
        let news = self.link.look(now);
        self.hear(news);
        if self.is_attached && self.link.is_given_up() {
            self.processes.iter_mut().for_each(Observed::let_go);
        }
        self.processes.iter_mut().for_each(Observed::pass_orders);
        match self.listener() {
            Listener::Gone => self.spill_all(now),
            Listener::There | Listener::Finishing => self.hand_over(now),
        }
        self.processes.iter_mut().for_each(Observed::release);
        self.forget_done();
    }

    fn scan(&mut self, now: Instant) {
        self.next_scan = now + self.options.scan_every;
        if self.folder.doorbell().is_none() {
            self.next_scan = now + self.options.scan_every / 10;
        }
        for path in self.folder.segments() {
            if self.processes.iter().any(|process| process.path() == path) {
                continue;
            }
            match Observed::open(&path, now) {
                Ok(process) => self.processes.push(process),
                // In the making: the rank rings when it is ready.
                Err(SegmentError::NotASegment { .. }) => {}
                Err(error) => {
                    self.refused.insert(path, error.to_string());
                }
            }
        }
    }

    fn hear(&mut self, news: News) {
        if let Some(report_every_ms) = news.welcomed {
            self.report_every = Duration::from_millis(report_every_ms.into());
        }
        for message in news.messages {
            match message {
                ToCollector::Acknowledge { process, thread, up_to } => {
                    if let Some(process) = self.processes.iter_mut().find(|p| p.key == process) {
                        process.acknowledge(thread, up_to);
                    }
                }
                ToCollector::Kept { process, gone } => {
                    let kept = if gone { Milestone::Gone } else { Milestone::Finalizing };
                    if let Some(process) = self.processes.iter_mut().find(|p| p.key == process) {
                        process.stage.kept = process.stage.kept.max(kept);
                    }
                }
                ToCollector::ClockProbe { probe } => {
                    let (_, node_ns) = ring::clock::point();
                    self.say(&ToAnalyzer::ClockReply { probe, node_ns });
                }
                ToCollector::Finish => self.finishing = true,
                ToCollector::Leave => self.leaving = true,
                ToCollector::Order { process, order } => {
                    if let Some(process) = self.processes.iter_mut().find(|p| p.key == process) {
                        process.control.take_order(&order);
                    }
                }
                // Only before the connection is trusted.
                ToCollector::Challenge { .. }
                | ToCollector::Welcome { .. }
                | ToCollector::Refused { .. } => {}
            }
        }
        if news.lost {
            self.processes.iter_mut().for_each(Observed::rewind);
        }
    }

    fn say(&mut self, message: &ToAnalyzer) {
        if let Some(connection) = self.link.connection() {
            // Too long is only a report.
            connection.send(message).ok();
        }
    }

    fn forget_done(&mut self) {
        self.processes.retain_mut(|process| {
            let drained = process.is_drained();
            let is_done = process.stage.is_done(drained);
            if is_done {
                std::fs::remove_file(process.path()).ok();
            }
            !is_done
        });
    }

    /// Tells the analyzer that nothing is left, and waits until it heard.
    fn say_farewell(&mut self) {
        let n_lost = self.spill.n_lost();
        let warnings = self.refused.values().cloned().collect();
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

    /// Sleeps until something is to be done.
    fn sleep(&mut self, now: Instant) {
        let timeout = self.rest(now);
        let mut fds = Vec::with_capacity(self.processes.len() + 2);
        if let Some(doorbell) = self.folder.doorbell() {
            fds.push(PollFd::new(doorbell, PollFlags::IN));
        }
        if let Some(connection) = self.link.connection() {
            let writing =
                if connection.n_waiting() == 0 { PollFlags::empty() } else { PollFlags::OUT };
            fds.push(PollFd::new(connection.stream(), PollFlags::IN | writing));
        }
        let pidfds = self.processes.iter().filter_map(Observed::pidfd);
        fds.extend(pidfds.map(|pidfd| PollFd::new(pidfd, PollFlags::IN)));
        let timeout = Timespec::try_from(timeout).ok();
        // An interrupted sleep is a short one.
        poll(&mut fds, timeout.as_ref()).ok();
    }

    /// How long nothing is to be done unless somebody calls.
    fn rest(&mut self, now: Instant) -> Duration {
        let until = |at: Instant| at.saturating_duration_since(now);
        let mut rest = until(self.next_scan).min(self.link.rest(now));
        if self.processes.iter().any(Observed::is_traced) {
            rest = rest.min(until(self.next_drain));
        }
        if self.processes.iter().any(Observed::has_orders) {
            rest = rest.min(plan::TUNED_INTERVAL);
        }
        if self.link.is_given_up() && !self.processes.is_empty() {
            rest = rest.min(until(self.next_spilled_reports));
        } else if self.link.connection().is_some() {
            let unkept = self.processes.iter().filter(|it| it.stage.kept < Milestone::Gone);
            let reports = unkept.map(|process| until(self.next_report(process, now)));
            rest = reports.fold(rest, Duration::min);
        }
        // Whatever cannot be done yet is not tried without a pause.
        rest.max(Duration::from_millis(1))
    }
}
