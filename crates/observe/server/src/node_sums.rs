//! File of one node's sums, and the records that they cover.
//!
//! # Invariants
//! - The file is a list of batches that cover disjoint records; together they count every passage once.
//! - A long file is rewritten as one batch: its length is bounded by the node's threads and events.
//!
//! # Not here
//! The collectors' side (`collector::sums`), reading of the file (`assemble::sums`).

use events::ProcessKey;
use files::Draft;
use run_record::SpoolWriter;
use run_record::spool::SpoolError;
use std::fs;
use std::path::{Path, PathBuf};
use wire::{BatchTotals, CoveredRecords, SummaryBatch, ThreadRange};

/// Length in bytes above which the file is rewritten.
const FILE_BYTES_MAX: u64 = 64 << 20;

/// Sums of a node.
#[derive(Debug)]
pub(crate) struct NodeSums {
    path: PathBuf,
    writer: Option<SpoolWriter>,
    /// Length in bytes above which the file is rewritten next.
    n_bytes_max: u64,
    totals: BatchTotals,
    /// Number of the latest connection; batches from earlier ones are ignored.
    connection: u64,
}

/// Result of taking a batch.
#[derive(Debug)]
pub(crate) enum BatchOutcome {
    /// The batch is on disk.
    Kept,
    /// The batch came over a replaced connection: its records will be sent again.
    Late,
    /// The batch could not be written, and is lost when this process ends.
    Lost(SpoolError),
}

impl NodeSums {
    /// Prepares the file at `path`, created with the first batch.
    pub(crate) fn new(path: PathBuf) -> Self {
        Self {
            path,
            writer: None,
            n_bytes_max: FILE_BYTES_MAX,
            totals: BatchTotals::default(),
            connection: 0,
        }
    }

    /// Replaces the node's previous connection; returns the new one's number, and from where each thread resumes.
    pub(crate) fn connect(&mut self) -> (u64, Vec<ThreadRange>) {
        self.connection += 1;
        let range =
            |((process, thread), covered): (&(ProcessKey, u32), &CoveredRecords)| ThreadRange {
                process: *process,
                thread: *thread,
                first: 0,
                end: end_of(covered),
                open: covered.open.clone(),
            };
        (self.connection, self.totals.threads.iter().map(range).collect())
    }

    /// Takes a batch that came over `connection`.
    pub(crate) fn take(&mut self, connection: u64, batch: &SummaryBatch) -> BatchOutcome {
        let is_covered = |range: &ThreadRange| {
            let covered = self.totals.threads.get(&(range.process, range.thread));
            covered.is_some_and(|covered| range.first < end_of(covered))
        };
        let is_known = batch.ranges.iter().any(is_covered);
        if connection != self.connection || is_known {
            return BatchOutcome::Late;
        }
        let bytes = wire::to_bytes(batch).expect("shorter than the message in which it came");
        let kept = append(&mut self.writer, &self.path, &bytes);
        self.totals.add(batch);
        if let Err(error) = kept {
            return BatchOutcome::Lost(error);
        }
        if self.writer.as_ref().is_some_and(|writer| self.n_bytes_max < writer.n_bytes()) {
            // The file is complete, only longer than necessary; a failed rewrite is not retried at every batch.
            self.n_bytes_max *= 2;
            self.rewrite().ok();
        }
        BatchOutcome::Kept
    }

    /// Writes everything as one batch and replaces the file with it.
    fn rewrite(&mut self) -> Result<(), SpoolError> {
        let whole = self.whole();
        let Ok(bytes) = wire::to_bytes(&whole) else { return Ok(()) };
        let draft = Draft::of(&self.path);
        // A killed writer may have left a file behind.
        fs::remove_file(draft.place()).ok();
        let mut writer = SpoolWriter::create(draft.place())?;
        writer.append(&[&bytes])?;
        self.n_bytes_max = FILE_BYTES_MAX.max(4 * writer.n_bytes());
        if draft.publish().is_ok() {
            self.writer = Some(writer);
        }
        Ok(())
    }

    fn whole(&self) -> SummaryBatch {
        let ranges = self.totals.threads.iter().flat_map(|((process, thread), covered)| {
            covered.spans.iter().map(|(first, end)| ThreadRange {
                process: *process,
                thread: *thread,
                first: *first,
                end: *end,
                open: Vec::new(),
            })
        });
        SummaryBatch {
            number: 0,
            events: self.totals.events.values().cloned().collect(),
            ranges: ranges.collect(),
            n_unmatched: self.totals.n_unmatched,
        }
    }
}

/// Appends a frame to the file at `path`, created with the first one.
pub(crate) fn append(
    writer: &mut Option<SpoolWriter>,
    path: &Path,
    bytes: &[u8],
) -> Result<(), SpoolError> {
    let open = match writer.take() {
        Some(open) => open,
        None => SpoolWriter::create(path)?,
    };
    writer.insert(open).append(&[bytes])
}

fn end_of(covered: &CoveredRecords) -> u64 {
    covered.spans.last().map_or(0, |(_, end)| *end)
}

#[cfg(test)]
mod tests {
    use super::*;
    use run_record::SpoolReader;
    use wire::EventSummary;

    const PROCESS: ProcessKey = ProcessKey { pid: 1, started: 2 };

    /// Returns a batch with as many passages as records.
    fn batch(thread: u32, first: u64, end: u64) -> SummaryBatch {
        let range = ThreadRange { process: PROCESS, thread, first, end, open: vec![(0, end)] };
        let n = end - first;
        let event = EventSummary { event: 3, n, n_ranks: 1, ..EventSummary::default() };
        SummaryBatch { number: 1, events: vec![event], ranges: vec![range], n_unmatched: 0 }
    }

    fn n_passages(sums: &NodeSums) -> u64 {
        let mut reader = SpoolReader::open(&sums.path).unwrap();
        let (mut n_passages, mut frame) = (0, Vec::new());
        while reader.next_frame(&mut frame).unwrap() {
            let batch: SummaryBatch = wire::decode(&frame).unwrap();
            n_passages += batch.events.iter().map(|event| event.n).sum::<u64>();
        }
        n_passages
    }

    /// Takes batches given as connection, thread, first and end; checks how many passages count.
    #[track_caller]
    fn check(batches: &[(u64, u32, u64, u64)], n_connections: u64, expected: u64) {
        let dir = tempfile::tempdir().unwrap();
        let mut sums = NodeSums::new(dir.path().join("n.sums"));
        for _ in 0..n_connections {
            sums.connect();
        }
        for (connection, thread, first, end) in batches {
            sums.take(*connection, &batch(*thread, *first, *end));
        }
        assert_eq!(n_passages(&sums), expected);
        assert_eq!(sums.whole().events[0].n, expected);
        sums.rewrite().unwrap();
        sums.take(n_connections, &batch(9, 0, 5));
        assert_eq!(n_passages(&sums), expected + 5);
    }

    #[test]
    fn every_record_is_in_one_batch_that_counts() {
        check(&[(1, 0, 0, 10), (1, 0, 10, 15), (1, 1, 0, 5)], 1, 20);
        check(&[(1, 0, 0, 10), (1, 0, 0, 10), (1, 0, 5, 15)], 1, 10);
        check(&[(2, 0, 0, 10), (1, 0, 10, 15), (2, 0, 20, 25)], 2, 15);
    }

    #[test]
    fn a_collector_hears_how_far_its_node_is() {
        let dir = tempfile::tempdir().unwrap();
        let mut sums = NodeSums::new(dir.path().join("n.sums"));
        assert_eq!(sums.connect(), (1, vec![]));
        sums.take(1, &batch(0, 0, 10));
        sums.take(1, &batch(0, 20, 30));
        let (number, ranges) = sums.connect();
        let open = vec![(0, 30)];
        let expected = ThreadRange { process: PROCESS, thread: 0, first: 0, end: 30, open };
        assert_eq!((number, ranges), (2, vec![expected]));
    }
}
