//! Where the collector's reports and records go: to the analyzer, or to files.

use super::link::Connection;
use super::plan::{self, Milestone};
use super::process::Observed;
use super::{Collector, fit};
use std::time::{Duration, Instant};
use wire::{ProcessReport, ToAnalyzer};

/// Fill of a ring above which records go to a file while the analyzer is looked for.
const FILL_TO_SPILL: f64 = 0.5;

/// Time between reports in a file, while processes go on without an analyzer.
const SPILL_REPORTS_EVERY: Duration = Duration::from_secs(5);

impl Collector {
    /// Reports and records for the analyzer, as many as the connection takes.
    pub(super) fn hand_over(&mut self, now: Instant) {
        let fill = self.processes.iter_mut().map(Observed::fill).fold(0.0, f64::max);
        let Some(connection) = self.link.connection() else {
            if FILL_TO_SPILL < fill {
                self.spill_records();
            }
            return;
        };
        for process in &mut self.processes {
            let interval = plan::report_interval(self.report_every, now - process.first_seen);
            let is_due = process.last_report.is_none_or(|last| interval <= now - last);
            let wants = process.stage.is_news() || is_due && process.stage.kept < Milestone::Gone;
            if wants && connection.has_room() {
                send_report(connection, process.report(&self.node, now));
            }
        }
        for process in &mut self.processes {
            process.control.send_answers(&process.segment, process.key, connection);
        }
        if self.next_drain <= now || self.finishing {
            self.pace.after(fill);
            let is_all_sent = self.send_records();
            // What found the connection full goes on as soon as there is room.
            self.next_drain = if is_all_sent { now + self.drain_interval() } else { now };
        }
        if let Some(connection) = self.link.connection() {
            // A failure shows at the next look.
            connection.flush().ok();
        }
    }

    fn drain_interval(&self) -> Duration {
        self.pace.interval_when(self.processes.iter().any(Observed::is_tuned))
    }

    /// A batch per process in turn, until nothing is left; false when the connection is full before.
    fn send_records(&mut self) -> bool {
        let n_processes = self.processes.len();
        let mut n_idle = 0;
        while n_idle < n_processes {
            let Some(connection) = self.link.connection().filter(|link| link.has_room()) else {
                return false;
            };
            self.turn = (self.turn + 1) % n_processes;
            match self.processes[self.turn].next_records() {
                Some(records) => {
                    n_idle = 0;
                    connection.send(&ToAnalyzer::Records(records)).ok();
                    connection.flush().ok();
                }
                None => n_idle += 1,
            }
        }
        true
    }

    fn spill_records(&mut self) {
        for process in &mut self.processes {
            while let Some(records) = process.next_records() {
                self.spill.keep_records(&records);
                // Lost or kept, the room is needed for what comes.
                process.acknowledge(records.thread, records.end());
            }
        }
    }

    /// Nobody listens any more: everything goes to files.
    pub(super) fn spill_all(&mut self, now: Instant) {
        self.processes.iter_mut().for_each(|process| process.stage.rewind());
        if self.next_drain <= now {
            let fill = self.processes.iter_mut().map(Observed::fill).fold(0.0, f64::max);
            self.pace.after(fill);
            self.next_drain = now + self.pace.interval();
            self.spill_records();
        }
        let is_news = self.processes.iter().any(|process| process.stage.is_news());
        let is_due = self.next_spilled_reports <= now || is_news && !self.spill.is_full();
        if self.processes.is_empty() || !is_due {
            return;
        }
        self.next_spilled_reports = now + SPILL_REPORTS_EVERY;
        let reports = self.processes.iter_mut().map(|p| p.whole_report(&self.node, now)).collect();
        if self.spill.keep_reports(reports) {
            for process in &mut self.processes {
                process.stage.kept = process.stage.reported;
            }
        }
    }

    pub(super) fn next_report(&self, process: &Observed, now: Instant) -> Instant {
        let interval = plan::report_interval(self.report_every, now - process.first_seen);
        process.last_report.map_or(now, |last| last + interval)
    }
}

/// Sends a report, shortened when it is longer than a message may be.
fn send_report(connection: &mut Connection, mut report: ProcessReport) {
    let mut n_kept = report.threads.iter().map(|thread| thread.regions.len()).max().unwrap_or(0);
    loop {
        let message = ToAnalyzer::Process(Box::new(report));
        if connection.send(&message).is_ok() || n_kept == 0 {
            return;
        }
        let ToAnalyzer::Process(too_long) = message else { return };
        report = *too_long;
        n_kept /= 2;
        fit::shorten(&mut report, n_kept);
    }
}
