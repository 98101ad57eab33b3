//! Sums of function events computed on the nodes, with the records that they cover.
//!
//! # Invariants
//! - A passage is either in a sum or among the individual records that are read, never in both: records summed by
//!   an analyzer that was then killed may also be in a file that their collector wrote afterwards.

use super::functions::FunctionTally;
use super::roster::Roster;
use events::{ProcessKey, Ticks};
use run_record::measured::SUMS_SUFFIX as SUFFIX;
use run_record::{FunctionSums, RunRecord, SpoolReader};
use std::collections::BTreeMap;
use std::path::Path;
use wire::facts::EventFacts;
use wire::{BatchTotals, EventSummary, Records};

/// Sums of all nodes.
#[derive(Debug, Default)]
pub(super) struct StoredSums {
    nodes: BTreeMap<String, BatchTotals>,
    pub(super) warnings: Vec<String>,
}

/// Records of a node that are in sums.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Covered<'a>(Option<&'a BatchTotals>);

impl Covered<'_> {
    /// Returns the sorted spans (first, end) of a thread's records.
    fn of(&self, process: ProcessKey, thread: u32) -> &[(u64, u64)] {
        let threads = self.0.map(|totals| &totals.threads);
        let covered = threads.and_then(|threads| threads.get(&(process, thread)));
        covered.map_or(&[], |covered| &covered.spans)
    }

    /// Returns how many of the records from `first` to before `end` are in sums.
    pub(super) fn n_within(
        &self,
        process: ProcessKey,
        thread: u32,
        (first, end): (u64, u64),
    ) -> u64 {
        let spans = self.of(process, thread).iter();
        spans.map(|span| span.1.min(end).saturating_sub(span.0.max(first))).sum()
    }

    /// Returns the parts of `records` that are not in sums.
    pub(super) fn cut(&self, records: Records) -> Vec<Records> {
        let spans = self.of(records.process, records.thread);
        let (first, end) = (records.first, records.end());
        if spans.iter().all(|span| span.1 <= first || end <= span.0) {
            return vec![records];
        }
        let mut parts: Vec<Records> = Vec::new();
        for (number, record) in (first..).zip(&records.records) {
            if spans.iter().any(|span| span.0 <= number && number < span.1) {
                continue;
            }
            match parts.last_mut() {
                Some(part) if part.end() == number => part.records.push(*record),
                _ => {
                    parts.push(Records { first: number, records: vec![*record], ..records.clone() })
                }
            }
        }
        parts
    }
}

impl StoredSums {
    /// Reads the files of sums in the record.
    pub(super) fn read(record: &RunRecord) -> Self {
        let mut sums = Self::default();
        let files = record.spool_files().unwrap_or_default();
        for path in files.iter().filter(|path| path.extension().is_some_and(|it| it == SUFFIX)) {
            sums.read_file(path);
        }
        sums
    }

    fn read_file(&mut self, path: &Path) {
        let name = path.file_stem().unwrap_or_default().to_string_lossy().into_owned();
        let node = self.nodes.entry(name).or_default();
        let mut lacking = |problem: &dyn std::fmt::Display| {
            let file = path.display();
            self.warnings
                .push(format!("Sums of function events in `{file}` are missing: {problem}."));
        };
        let mut reader = match SpoolReader::open(path) {
            Ok(reader) => reader,
            Err(error) => return lacking(&error),
        };
        let mut frame = Vec::new();
        loop {
            match reader.next_frame(&mut frame) {
                Ok(true) => match wire::decode(&frame) {
                    Ok(batch) => node.add(&batch),
                    Err(error) => lacking(&error),
                },
                Ok(false) => break,
                Err(error) => return lacking(&error),
            }
        }
        if let Some(problem) = reader.problem() {
            let n_bytes = problem.n_bytes_lost;
            lacking(&format_args!("{n_bytes} bytes at its end are damaged"));
        }
    }

    /// Returns which of a node's records are in sums.
    pub(super) fn covered(&self, node: &str) -> Covered<'_> {
        Covered(self.nodes.get(node))
    }

    /// Returns the summary rows of events over all nodes, except the events of `functions`, which are added to it.
    pub(super) fn rows(
        &mut self,
        roster: &Roster<'_>,
        facts: &[EventFacts],
        functions: &mut FunctionTally<'_>,
    ) -> Vec<FunctionSums> {
        let mut rows: BTreeMap<u32, FunctionSums> = BTreeMap::new();
        let mut n_unmatched = 0;
        for (name, node) in &self.nodes {
            n_unmatched += node.n_unmatched;
            let rank = roster.ranks.iter().find(|rank| rank.report.node == *name);
            for (event, sum) in &node.events {
                if functions.has(*event) {
                    functions.add_node(name, sum);
                    continue;
                }
                let (Some(facts), Some(rank)) = (facts.get(*event as usize), rank) else {
                    continue;
                };
                let time_ns = |ticks| rank.clock.ns_at(Ticks(ticks)).max(0).cast_unsigned();
                let mut row = row(facts, sum);
                row.span_ns = (time_ns(sum.first_ticks), time_ns(sum.last_ticks));
                row.duration_s = sum.duration_ticks.scaled(rank.report.clock.seconds(1));
                rows.entry(*event).and_modify(|known| merge(known, &row)).or_insert(row);
            }
        }
        if n_unmatched != 0 {
            self.warnings.push(without_duration(n_unmatched));
        }
        rows.into_values().collect()
    }
}

/// Returns a sentence about calls without a duration.
pub(super) fn without_duration(n: u64) -> String {
    format!(
        "{n} calls of measured functions have no duration: their entry was not seen, records were dropped meanwhile, or calls were nested too deeply."
    )
}

fn row(facts: &EventFacts, sum: &EventSummary) -> FunctionSums {
    let names = facts.attributes.iter().map(|(name, _)| name.clone());
    FunctionSums {
        event: facts.name.clone(),
        function: facts.function.clone(),
        place: facts.place,
        n: sum.n,
        span_ns: (0, 0),
        attributes: names.zip(sum.attributes.iter().copied()).collect(),
        duration_s: sum.duration_ticks,
    }
}

fn merge(known: &mut FunctionSums, row: &FunctionSums) {
    known.n += row.n;
    known.span_ns = (known.span_ns.0.min(row.span_ns.0), known.span_ns.1.max(row.span_ns.1));
    for ((_, mine), (_, theirs)) in known.attributes.iter_mut().zip(&row.attributes) {
        mine.merge(theirs);
    }
    known.duration_s.merge(&row.duration_s);
}

#[cfg(test)]
mod tests {
    use super::*;
    use events::CallRecord;
    use wire::{SummaryBatch, ThreadRange};

    const PROCESS: ProcessKey = ProcessKey { pid: 1, started: 2 };

    /// Checks which of the records from first to before end remain after removing the spans in sums.
    #[track_caller]
    fn check(spans: &[(u64, u64)], (first, end): (u64, u64), expected: &[(u64, u64)]) {
        let range = |(first, end): &(u64, u64)| {
            let (first, end) = (*first, *end);
            ThreadRange { process: PROCESS, thread: 0, first, end, open: Vec::new() }
        };
        let ranges = spans.iter().map(range).collect();
        let mut totals = BatchTotals::default();
        totals.add(&SummaryBatch { ranges, ..SummaryBatch::default() });
        let covered = Covered(Some(&totals));
        let record = |number| CallRecord { bytes: number, ..CallRecord::default() };
        let records = (first..end).map(record).collect();
        let parts = covered.cut(Records { process: PROCESS, thread: 0, first, records });
        let left: Vec<_> = parts.iter().map(|part| (part.first, part.end())).collect();
        assert_eq!(left, expected);
        assert!(parts.iter().all(|part| part.records[0].bytes == part.first));
        let n_left: u64 = expected.iter().map(|(first, end)| end - first).sum();
        assert_eq!(covered.n_within(PROCESS, 0, (first, end)), end - first - n_left);
    }

    #[test]
    fn what_is_in_sums_is_not_read_again() {
        check(&[], (0, 4), &[(0, 4)]);
        check(&[(0, 4)], (4, 8), &[(4, 8)]);
        check(&[(0, 4)], (2, 8), &[(4, 8)]);
        check(&[(0, 2), (2, 4)], (0, 4), &[]);
        check(&[(2, 3), (5, 6)], (0, 8), &[(0, 2), (3, 5), (6, 8)]);
    }
}
