//! Delivery of the collector's reports and records: to the analyzer, or to files; and execution of the analyzer's
//! messages.

use super::Collector;
use super::link::{Connection, News};
use super::plan::{self, Delivery, Milestone};
use super::process::Observed;
use super::usage::NodeFiles;
use events::RegionCounters;
use sampler::Sampler;
use std::collections::BTreeMap;
use std::time::{Duration, Instant};
use wire::{ProcessReport, ProcessSamples, ToAnalyzer, ToCollector};

/// Fill level of a ring above which records go to a file while the connection is down.
const FILL_TO_SPILL: f64 = 0.5;

/// Part of the time between reports by which one may be early, so that processes report together.
const REPORTED_EARLY: u32 = 4;

/// Time between reports to a file while processes run without an analyzer.
const SPILL_REPORTS_EVERY: Duration = Duration::from_secs(5);

impl Collector {
    /// Sends reports and records to the analyzer, as many as the connection takes.
    pub(super) fn hand_over(&mut self, now: Instant) {
        if self.link.connection().is_none() {
            if FILL_TO_SPILL < self.processes.fill(|_| true) {
                self.spill_records();
            }
            return;
        }
        if self.schedule.next_reports <= now {
            self.send_reports(now);
        }
        if self.answers_wait {
            self.send_answers();
        }
        if self.sums.is_resumed {
            self.drain(now);
            self.flush_sums(now);
        }
        if let Some(connection) = self.link.connection() {
            // A failure is noticed the next time the link is checked.
            connection.flush().ok();
        }
    }

    fn send_reports(&mut self, now: Instant) {
        let Some(connection) = self.link.connection() else { return };
        let mut next = now + self.options.scan_every;
        let files = NodeFiles::default();
        let report_every = self.schedule.report_every;
        // Those that are due soon report together, since what they tell is read from the same files.
        let is_any_due =
            self.processes.iter().any(|process| next_report(process, report_every, now) <= now);
        let until = if is_any_due { now + report_every / REPORTED_EARLY } else { now };
        let (processes, sampler) = self.processes.with_sampler();
        for process in processes {
            let due = next_report(process, report_every, now);
            let is_due = due <= until && process.stage.kept < Milestone::Gone;
            if !process.stage.is_news() && !is_due {
                if process.stage.kept < Milestone::Gone {
                    next = next.min(due);
                }
            } else if connection.has_room() {
                // First, so that what the report's acknowledgment promises includes them.
                send_samples(connection, process, sampler);
                send_report(connection, process.report((&self.node, &files), now));
                next = next.min(next_report(process, report_every, now));
            } else {
                next = now;
            }
        }
        self.schedule.next_reports = next;
    }

    fn send_answers(&mut self) {
        let Some(connection) = self.link.connection() else { return };
        for process in self.processes.iter_mut() {
            process.control.send_answers(&process.segment, process.key, connection);
        }
        self.answers_wait = !connection.has_room();
    }

    /// Reads the rings that are due: those of processes whose records are waited for, or all.
    fn drain(&mut self, now: Instant) {
        let is_all = self.schedule.next_sum_drain <= now || self.finishing;
        if !is_all && (now < self.schedule.next_drain || !self.schedule.is_prompt) {
            return;
        }
        let fill = self.processes.fill(Observed::is_prompt);
        self.schedule.pace.after(fill);
        if is_all {
            let fill = self.processes.fill(|process| !process.is_prompt());
            self.schedule.sum_pace.after(fill);
            self.processes.iter_mut().for_each(Observed::clear_prompt);
        }
        let is_all_sent = self.send_records(is_all);
        self.schedule.is_prompt = self.processes.iter().any(Observed::is_prompt);
        // Sending that found the connection full continues as soon as there is room.
        self.schedule.next_drain = if is_all_sent { now + self.drain_interval() } else { now };
        if is_all && is_all_sent {
            self.schedule.next_sum_drain = now + self.schedule.sum_pace.interval;
        }
    }

    fn drain_interval(&self) -> Duration {
        let is_waited_for = |process: &Observed| process.is_prompt() && process.is_tuned();
        if self.processes.iter().any(is_waited_for) {
            self.schedule.pace.interval_when_awaited()
        } else {
            self.schedule.pace.interval
        }
    }

    /// Sends a batch of each process in turn until nothing is left; false if the connection or the sums fill up first.
    fn send_records(&mut self, is_all: bool) -> bool {
        let n_processes = self.processes.len();
        let mut n_idle = 0;
        while n_idle < n_processes {
            if self.sums.builder.is_long() {
                return false;
            }
            let Some(connection) = self.link.connection().filter(|link| link.has_room()) else {
                return false;
            };
            let Some(process) = self.processes.next_in_turn() else { break };
            let is_asked = is_all || process.is_prompt();
            let mut n_sent = 0;
            let is_read = is_asked
                && process.read_on(&mut self.sums.builder, |records| {
                    n_sent += 1;
                    connection.send(&ToAnalyzer::Records(records)).ok();
                });
            n_idle = if is_read { 0 } else { n_idle + 1 };
            if n_sent != 0 {
                connection.flush().ok();
            }
        }
        true
    }

    fn spill_records(&mut self) {
        for process in self.processes.iter_mut() {
            while let Some(records) = process.next_records() {
                self.spill.keep_records(&records);
                // Saved or lost, the records must make room for later ones.
                process.acknowledge(records.thread, Delivery::Single, records.end());
            }
        }
    }

    /// Writes everything to files, once the analyzer is given up.
    pub(super) fn spill_all(&mut self, now: Instant) {
        self.processes.iter_mut().for_each(|process| process.stage.rewind());
        if self.schedule.next_drain <= now {
            let fill = self.processes.fill(|_| true);
            self.schedule.pace.after(fill);
            self.schedule.next_drain = now + self.schedule.pace.interval;
            self.spill_records();
        }
        let is_news = self.processes.iter().any(|process| process.stage.is_news());
        let is_due = self.schedule.next_spilled_reports <= now || is_news && !self.spill.is_full();
        if self.processes.is_empty() || !is_due {
            return;
        }
        self.schedule.next_spilled_reports = now + SPILL_REPORTS_EVERY;
        let files = NodeFiles::default();
        let node = (self.node.as_str(), &files);
        let reports = self.processes.iter_mut().map(|p| p.whole_report(node, now)).collect();
        let (processes, sampler) = self.processes.with_sampler();
        let samples = processes.filter_map(|process| sampler.samples(process.key, true));
        let named = samples.map(|it| ProcessSamples { node: self.node.clone(), ..it });
        self.spill.take_samples(named);
        if self.spill.keep_reports(reports) {
            for process in self.processes.iter_mut() {
                process.stage.kept = process.stage.reported;
            }
        }
    }
}

fn next_report(process: &Observed, report_every: Duration, now: Instant) -> Instant {
    let interval = plan::report_interval(report_every, now - process.first_seen);
    process.last_report.map_or(now, |last| last + interval)
}

fn send_samples(connection: &mut Connection, process: &Observed, sampler: &Sampler) {
    let ends = process.stage.reached != Milestone::Running;
    if let Some(samples) = sampler.samples(process.key, ends) {
        // Far shorter than the maximum message size: the tree of call paths is bounded.
        connection.send(&ToAnalyzer::Samples(Box::new(samples))).ok();
    }
}

/// Sends a report, shortened if it exceeds the maximum message size.
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
        shorten(&mut report, n_kept);
    }
}

/// Keeps the `n_kept` regions of each thread with the most time, and sums the rest by operation in entries with
/// address 0, so that no calls and no time are lost.
fn shorten(report: &mut ProcessReport, n_kept: usize) {
    for thread in &mut report.threads {
        let is_total = |region: &RegionCounters| region.address == 0 && region.previous == 0;
        thread.regions.sort_by_key(|region| {
            let ticks = region.mpi_ticks.saturating_add(region.compute_ticks);
            (!is_total(region), std::cmp::Reverse(ticks))
        });
        let n_totals = thread.regions.iter().filter(|region| is_total(region)).count();
        let n_left = thread.regions.len().min(n_totals + n_kept);
        let rest = thread.regions.split_off(n_left);
        let mut totals: BTreeMap<u16, RegionCounters> = BTreeMap::new();
        for region in thread.regions.drain(..n_totals).chain(rest) {
            if !is_total(&region) {
                thread.calls_without_region += region.n_calls;
            }
            add(totals.entry(region.operation).or_default(), &region);
        }
        thread.regions.extend(totals.into_values());
    }
}

fn add(total: &mut RegionCounters, region: &RegionCounters) {
    total.operation = region.operation;
    total.n_calls += region.n_calls;
    total.mpi_ticks += region.mpi_ticks;
    total.compute_ticks += region.compute_ticks;
    total.mpi_ticks_max = total.mpi_ticks_max.max(region.mpi_ticks_max);
    total.bytes += region.bytes;
    total.sizes.add(&region.sizes);
    total.compute.add(region.compute);
    total.mpi.add(region.mpi);
}

impl Collector {
    /// Executes the analyzer's messages.
    pub(super) fn hear(&mut self, news: News, now: Instant) {
        if let Some(report_every_ms) = news.welcomed {
            self.schedule.report_every = Duration::from_millis(report_every_ms.into());
            self.schedule.next_reports = now;
            self.answers_wait = true;
        }
        for message in news.messages {
            self.hear_one(message);
        }
        if news.lost {
            self.processes.iter_mut().for_each(Observed::rewind);
            self.sums.rewind();
        }
    }

    fn hear_one(&mut self, message: ToCollector) {
        match message {
            ToCollector::Acknowledge { process, thread, up_to } => {
                if let Some(process) = self.processes.get_mut(process) {
                    process.acknowledge(thread, Delivery::Single, up_to);
                }
            }
            ToCollector::Summed { number } => self.acknowledge_sums(number),
            ToCollector::Kept { process, gone } => {
                let kept = if gone { Milestone::Gone } else { Milestone::Finalizing };
                if let Some(process) = self.processes.get_mut(process) {
                    process.stage.kept = process.stage.kept.max(kept);
                }
            }
            ToCollector::ClockProbe { probe } => {
                let (_, node_ns) = ring::clock::point();
                self.say(&ToAnalyzer::ClockReply { probe, node_ns });
            }
            ToCollector::Finish => {
                self.finishing = true;
                // A program that was over within moments has not been found yet.
                self.scan(Instant::now());
            }
            ToCollector::Leave => self.leaving = true,
            ToCollector::Order { process, order } => {
                if let Some(process) = self.processes.get_mut(process) {
                    process.control.take_order(&order);
                    self.orders_wait = true;
                }
            }
            ToCollector::Events { shapes, flush_every_ms, read_every_ms } => {
                let read_every = Duration::from_millis(read_every_ms.into());
                self.schedule.pace.set_awaited_interval(read_every);
                self.take_shapes(shapes, flush_every_ms);
            }
            ToCollector::Summarize { process, events } => self.take_wish(process, events),
            ToCollector::Resume { ranges } => self.resume(ranges),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use wire::ThreadReport;

    fn region(address: u64, operation: u16, mpi_ticks: u64) -> RegionCounters {
        RegionCounters { address, operation, mpi_ticks, n_calls: 1, ..RegionCounters::default() }
    }

    #[track_caller]
    fn check(regions: &[(u64, u16, u64)], n_kept: usize, expected: &[(u64, u16, u64)]) {
        let regions =
            regions.iter().map(|(address, operation, ticks)| region(*address, *operation, *ticks));
        let thread = ThreadReport { regions: regions.collect(), ..ThreadReport::default() };
        let mut report = ProcessReport { threads: vec![thread], ..ProcessReport::default() };
        shorten(&mut report, n_kept);
        let left = &report.threads[0].regions;
        let left: Vec<_> = left.iter().map(|r| (r.address, r.operation, r.mpi_ticks)).collect();
        assert_eq!(left, expected);
    }

    #[test]
    fn the_longest_regions_stay_and_the_rest_is_added_up() {
        check(&[], 2, &[]);
        check(&[(1, 5, 10)], 2, &[(1, 5, 10)]);
        let four = [(1, 5, 10), (2, 5, 30), (3, 6, 20), (4, 5, 1)];
        check(&four, 2, &[(2, 5, 30), (3, 6, 20), (0, 5, 11)]);
        check(&[(1, 5, 10), (0, 5, 30), (2, 6, 20)], 1, &[(2, 6, 20), (0, 5, 40)]);
        check(&[(1, 5, 10), (2, 6, 20)], 0, &[(0, 5, 10), (0, 6, 20)]);
    }
}
