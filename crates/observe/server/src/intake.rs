//! Data received from all collectors, kept without clock, file or socket.

use super::clock_offset::ClockOffset;
use collector::handshake::HandshakeError;
use events::ProcessKey;
use run_record::measured::NodeClock;
use run_record::snapshot::SnapshotEntry;
use std::collections::{BTreeMap, HashMap};
use std::time::{Duration, Instant};
use wire::{ProcessReport, ProcessSamples, Records};

/// Time within which a collector reconnects.
const SOON: Duration = Duration::from_secs(2);
/// Maximum number of processes kept; reports of further ones are lost.
const N_PROCESSES_MAX: usize = 1 << 20;
/// Maximum number of warnings kept.
const N_WARNINGS_MAX: usize = 100;

/// Data received from collectors so far.
#[derive(Debug, Default)]
pub(crate) struct Intake {
    processes: HashMap<(String, ProcessKey), ProcessReport>,
    samples: HashMap<(String, ProcessKey), ProcessSamples>,
    nodes: BTreeMap<String, NodeState>,
    warnings: Vec<String>,
    /// Number of warnings that were left out.
    n_unsaid: u64,
    /// Message version of a collector from an earlier version, which could not prove anything.
    pub(crate) earlier: Option<u16>,
    n_refused: u64,
    /// Number of records lost between ring and disk.
    pub(crate) n_records_lost: u64,
    /// Number of messages that brought permanent data: records, and last reports.
    pub(crate) n_taken: u64,
}

/// State of one node's collector.
#[derive(Debug, Default)]
pub(crate) struct NodeState {
    /// Number of its open connections: after a loss, the next may open before the end of the last is noticed.
    pub(crate) n_connections: usize,
    /// Time at which the last connection was lost.
    pub(crate) lost_at: Option<Instant>,
    /// True if it reported that nothing is left.
    pub(crate) finished: bool,
    pub(crate) clock: ClockOffset,
}

impl NodeState {
    /// Returns whether more data may come from the node.
    ///
    /// A collector started by a rank ends with its job step; one that lost its connection soon reconnects.
    pub(crate) fn is_outstanding(&self, now: Instant) -> bool {
        let is_soon_back = self.lost_at.is_some_and(|lost_at| now < lost_at + SOON);
        !self.finished && (self.n_connections != 0 || is_soon_back)
    }
}

impl Intake {
    /// Returns the state of the node with that name, creating it if needed.
    pub(crate) fn node(&mut self, node: &str) -> &mut NodeState {
        self.nodes.entry(node.to_owned()).or_default()
    }

    pub(crate) fn nodes(&self) -> impl Iterator<Item = (&String, &NodeState)> {
        self.nodes.iter()
    }

    /// Takes a report in place of the previous one; a collector can only report for `node`, that of its connection.
    pub(crate) fn take_report(&mut self, node: &str, mut report: ProcessReport) {
        node.clone_into(&mut report.node);
        let key = (report.node.clone(), report.key);
        // Counted once: a collector that repeats its report brings nothing new.
        let was_gone = self.processes.get(&key).is_some_and(|known| known.gone);
        self.n_taken += u64::from(report.gone && !was_gone);
        let has_room = self.processes.len() < N_PROCESSES_MAX;
        match self.processes.get_mut(&key) {
            Some(known) => {
                if report.modules.is_empty() {
                    report.modules = std::mem::take(&mut known.modules);
                }
                *known = report;
            }
            None if has_room => {
                self.processes.insert(key, report);
            }
            None => self.n_refused += 1,
        }
    }

    /// Takes the samples of a process of `node` in place of the previous ones, if its report has room as well.
    pub(crate) fn take_samples(&mut self, node: &str, mut samples: ProcessSamples) {
        node.clone_into(&mut samples.node);
        if self.samples.len() < N_PROCESSES_MAX {
            self.samples.insert((samples.node.clone(), samples.process), samples);
        }
    }

    /// Returns the last samples of every process.
    pub(crate) fn samples(&self) -> impl Iterator<Item = &ProcessSamples> {
        self.samples.values()
    }

    /// Adds a warning, once.
    pub(crate) fn warn(&mut self, warning: String) {
        if self.warnings.contains(&warning) {
            return;
        }
        if self.warnings.len() < N_WARNINGS_MAX {
            self.warnings.push(warning);
        } else {
            self.n_unsaid += 1;
        }
    }

    /// Returns the last report of every process.
    pub(crate) fn processes(&self) -> impl Iterator<Item = &ProcessReport> {
        self.processes.values()
    }

    /// Returns the clocks of all nodes.
    pub(crate) fn clocks(&self) -> Vec<NodeClock> {
        self.nodes.iter().map(|(node, state)| state.clock.estimate(node)).collect()
    }

    /// Returns all warnings; strangers are only counted, whatever they did.
    pub(crate) fn warnings(&self, n_strangers: u64) -> Vec<String> {
        let mut warnings = self.warnings.clone();
        if self.n_unsaid != 0 {
            warnings.push(format!("{} further warnings were left out", self.n_unsaid));
        }
        warnings
            .extend(self.earlier.map(|version| HandshakeError::Earlier { version }.to_string()));
        if n_strangers != 0 {
            let connections = if n_strangers == 1 { "connection" } else { "connections" };
            warnings.push(format!(
                "the analyzer rejected {n_strangers} {connections} that did not know the secret of this run; `--listen` restricts the address"
            ));
        }
        if self.n_refused != 0 {
            let n_refused = self.n_refused;
            warnings.push(format!(
                "{n_refused} reports of processes beyond the first {N_PROCESSES_MAX} were left out; observe a shorter script"
            ));
        }
        warnings
    }

    /// Returns all data as entries for a file.
    pub(crate) fn entries(&self, n_strangers: u64) -> Vec<SnapshotEntry> {
        let processes = self.processes.values();
        processes
            .map(|report| SnapshotEntry::Process(Box::new(report.clone())))
            .chain(self.clocks().into_iter().map(SnapshotEntry::Clock))
            .chain(self.warnings(n_strangers).into_iter().map(SnapshotEntry::Warning))
            .chain(self.samples().map(SnapshotEntry::of_samples))
            .chain([SnapshotEntry::RecordsLost(self.n_records_lost)])
            .collect()
    }
}

/// Progress of the records received from a node's threads.
#[derive(Debug, Default)]
pub(crate) struct ReceiveProgress {
    next: HashMap<(ProcessKey, u32), u64>,
}

impl ReceiveProgress {
    /// Removes records received before: after a lost connection, a collector resends unacknowledged records.
    /// Returns false if nothing new is left.
    ///
    /// A gap is no error: the missing records went to a file while the connection was lost.
    pub(crate) fn keep_new(&mut self, records: &mut Records) -> bool {
        let next = self.next.entry((records.process, records.thread)).or_default();
        let n_known = next.saturating_sub(records.first);
        let n_known = usize::try_from(n_known).unwrap_or(usize::MAX).min(records.records.len());
        records.records.drain(..n_known);
        records.first += n_known as u64;
        *next = records.end().max(*next);
        !records.records.is_empty()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use events::CallRecord;

    #[track_caller]
    fn check(batches: &[(u64, usize)], expected: &[(u64, usize)]) {
        let mut received = ReceiveProgress::default();
        let process = ProcessKey { pid: 1, started: 2 };
        let mut kept = Vec::new();
        for (first, n_records) in batches {
            let records = vec![CallRecord::default(); *n_records];
            let mut records = Records { process, thread: 0, first: *first, records };
            if received.keep_new(&mut records) {
                kept.push((records.first, records.records.len()));
            }
        }
        assert_eq!(kept, expected);
    }

    #[test]
    fn records_are_kept_once() {
        check(&[(0, 10), (10, 5)], &[(0, 10), (10, 5)]);
        check(&[(0, 10), (0, 10)], &[(0, 10)]);
        check(&[(0, 10), (5, 10)], &[(0, 10), (10, 5)]);
        check(&[(0, 10), (20, 5), (10, 5)], &[(0, 10), (20, 5)]);
        check(&[(0, 10), (2, 3)], &[(0, 10)]);
        check(&[(0, 0)], &[]);
    }

    #[test]
    fn a_report_without_modules_keeps_the_ones_before() {
        let mut intake = Intake::default();
        let report = ProcessReport::default();
        let with_modules = ProcessReport { modules: "m".to_owned(), ..report.clone() };
        intake.take_report("n", with_modules);
        intake.take_report("n", ProcessReport { gone: true, ..report });
        let known: Vec<_> = intake.processes().collect();
        assert_eq!(known.len(), 1);
        assert!(known[0].gone && known[0].modules == "m" && known[0].node == "n");
    }

    /// A collector that repeated a last report every 2 s, because the reply went to another key, used to be
    /// waited for forever, since each repetition counted as new.
    #[test]
    fn a_last_report_is_news_once() {
        let mut intake = Intake::default();
        let report = ProcessReport { gone: true, ..ProcessReport::default() };
        intake.take_report("n", report.clone());
        intake.take_report("n", report);
        assert_eq!(intake.n_taken, 1);
    }

    #[track_caller]
    fn check_outstanding(state: &NodeState, later_s: u64, expected: bool) {
        let lost_at = state.lost_at.unwrap_or_else(Instant::now);
        assert_eq!(state.is_outstanding(lost_at + Duration::from_secs(later_s)), expected);
    }

    #[test]
    fn a_node_is_waited_for_while_its_collector_may_come_back() {
        let there = NodeState { n_connections: 1, ..NodeState::default() };
        check_outstanding(&there, 100, true);
        let lost = NodeState { lost_at: Some(Instant::now()), ..NodeState::default() };
        check_outstanding(&lost, 1, true);
        check_outstanding(&lost, 3, false);
        check_outstanding(&NodeState { finished: true, ..lost }, 1, false);
        check_outstanding(&NodeState::default(), 0, false);
    }

    #[test]
    fn a_sentence_is_said_once() {
        let mut intake = Intake::default();
        intake.warn("a".to_owned());
        intake.warn("a".to_owned());
        assert_eq!(intake.warnings(0), ["a"]);
    }

    /// Without the number of warnings left out, the report would look complete.
    #[test]
    fn sentences_beyond_the_bound_are_counted() {
        let mut intake = Intake::default();
        (0..N_WARNINGS_MAX + 3).for_each(|number| intake.warn(number.to_string()));
        let warnings = intake.warnings(7);
        assert_eq!(warnings.len(), N_WARNINGS_MAX + 2);
        assert_eq!(warnings[N_WARNINGS_MAX], "3 further warnings were left out");
        assert!(warnings[N_WARNINGS_MAX + 1].starts_with("the analyzer rejected 7 connections"));
    }
}
