//! What all collectors told, kept without clock, file or socket.

use super::clock_offset::ClockOffset;
use crate::handshake::HandshakeError;
use crate::measured::NodeClock;
use crate::snapshot::Entry;
use events::ProcessKey;
use std::collections::{BTreeMap, HashMap};
use std::time::{Duration, Instant};
use wire::{ProcessReport, Records};

/// Time in which a collector connects again.
const SOON: Duration = Duration::from_secs(2);
/// Processes kept at most; a script that starts more loses the reports of further ones.
const N_PROCESSES_MAX: usize = 1 << 20;
/// Sentences kept at most.
const N_WARNINGS_MAX: usize = 100;

/// Everything collectors told so far.
#[derive(Debug, Default)]
pub(crate) struct Intake {
    processes: HashMap<(String, ProcessKey), ProcessReport>,
    nodes: BTreeMap<String, NodeState>,
    warnings: Vec<String>,
    /// Further sentences.
    n_unsaid: u64,
    /// Version of the messages of a collector that could not prove anything, being of earlier days.
    pub(crate) earlier: Option<u16>,
    n_refused: u64,
    n_records_lost: u64,
    /// Messages that brought something for good: records, and last reports.
    pub(crate) n_taken: u64,
}

/// One node's collector.
#[derive(Debug, Default)]
pub(crate) struct NodeState {
    /// Connections of it that are open: after a loss the next may be there before the last is seen to end.
    pub(crate) n_connections: usize,
    /// When the last one was lost.
    pub(crate) lost_at: Option<Instant>,
    /// It said that nothing is left.
    pub(crate) finished: bool,
    pub(crate) clock: ClockOffset,
}

impl NodeState {
    /// Whether something may still come from it.
    ///
    /// A collector that a rank started ends with its job step; one that lost its connection is soon back.
    pub(crate) fn is_outstanding(&self, now: Instant) -> bool {
        let is_soon_back = self.lost_at.is_some_and(|lost_at| now < lost_at + SOON);
        !self.finished && (self.n_connections != 0 || is_soon_back)
    }
}

impl Intake {
    /// The node of that name, new or known.
    pub(crate) fn node(&mut self, node: &str) -> &mut NodeState {
        if !self.nodes.contains_key(node) {
            self.nodes.insert(node.to_owned(), NodeState::default());
        }
        self.nodes.get_mut(node).expect("inserted when it was missing")
    }

    pub(crate) fn nodes(&self) -> impl Iterator<Item = (&String, &NodeState)> {
        self.nodes.iter()
    }

    /// Takes a report in the place of the one before it. The node is the connection's: a collector
    /// speaks for no other.
    pub(crate) fn take_report(&mut self, node: &str, mut report: ProcessReport) {
        node.clone_into(&mut report.node);
        let key = (report.node.clone(), report.key);
        // Once: a collector that says the same again and again brings nothing.
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

    /// Adds a sentence, once.
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

    pub(crate) fn lose_records(&mut self, n_records: u64) {
        self.n_records_lost += n_records;
    }

    pub(crate) fn n_records_lost(&self) -> u64 {
        self.n_records_lost
    }

    /// The last report of every process.
    pub(crate) fn processes(&self) -> impl Iterator<Item = &ProcessReport> {
        self.processes.values()
    }

    /// Clocks of the nodes that answered.
    pub(crate) fn clocks(&self) -> Vec<NodeClock> {
        let clock = |(node, state): (&String, &NodeState)| {
            let estimate = state.clock.best();
            NodeClock {
                node: node.clone(),
                offset_ns: estimate.map_or(0, |best| best.offset_ns),
                round_trip_ns: estimate.map_or(0, |best| best.round_trip_ns),
            }
        };
        self.nodes.iter().map(clock).collect()
    }

    /// All sentences; of strangers their number, whatever they did.
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
                "{n_strangers} {connections} to the analyzer did not prove that they belong to this run, and learned nothing; `--listen` says where it can be reached"
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

    /// Everything, for a file.
    pub(crate) fn entries(&self, n_strangers: u64) -> Vec<Entry> {
        let processes = self.processes.values();
        processes
            .map(|report| Entry::Process(Box::new(report.clone())))
            .chain(self.clocks().into_iter().map(Entry::Clock))
            .chain(self.warnings(n_strangers).into_iter().map(Entry::Warning))
            .chain([Entry::RecordsLost(self.n_records_lost)])
            .collect()
    }
}

/// How far the records of a node's threads are.
#[derive(Debug, Default)]
pub(crate) struct Received {
    next: HashMap<(ProcessKey, u32), u64>,
}

impl Received {
    /// Takes away what came before: after a lost connection a collector sends again what was not
    /// acknowledged. False when nothing new is left.
    ///
    /// A gap is no error: what is missing went to a file while the connection was lost.
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
        let mut received = Received::default();
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
        let report = crate::testing::report(3);
        let with_modules = ProcessReport { modules: "m".to_owned(), ..report.clone() };
        intake.take_report("n", with_modules);
        intake.take_report("n", ProcessReport { gone: true, ..report });
        let known: Vec<_> = intake.processes().collect();
        assert_eq!(known.len(), 1);
        assert!(known[0].gone && known[0].modules == "m" && known[0].node == "n");
    }

    /// A collector that repeated a last report every 2 s, since its answer went to another key, was waited for
    /// without end: each looked like news.
    #[test]
    fn a_last_report_is_news_once() {
        let mut intake = Intake::default();
        let report = ProcessReport { gone: true, ..crate::testing::report(3) };
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

    /// Without a number of what is left out, the report looked complete.
    #[test]
    fn sentences_beyond_the_bound_are_counted() {
        let mut intake = Intake::default();
        (0..N_WARNINGS_MAX + 3).for_each(|number| intake.warn(number.to_string()));
        let warnings = intake.warnings(7);
        assert_eq!(warnings.len(), N_WARNINGS_MAX + 2);
        assert_eq!(warnings[N_WARNINGS_MAX], "3 further warnings were left out");
        assert!(warnings[N_WARNINGS_MAX + 1].starts_with("7 connections to the analyzer"));
    }
}
