//! Merges the spool files of a node into one sequence: every record once, those of a thread in order.
//!
//! After a lost connection, a record may be in two files, or a later record in the file that is read first. The
//! files are read in parallel, and the next frame is taken from the file that continues its thread.

use crate::sums::Covered;
use events::ProcessKey;
use run_record::SpoolReader;
use run_record::measured::Spool;
use std::collections::{HashMap, VecDeque};
use wire::Records;

/// Spools being merged.
#[derive(Debug, Default)]
pub(super) struct Merge<'a> {
    files: Vec<OpenSpool>,
    covered: Covered<'a>,
    result: MergeResult,
}

/// Result of merging.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct MergeResult {
    /// Number after the last record of each thread.
    pub(super) ends: HashMap<(ProcessKey, u32), u64>,
    /// Number of records missing between others of their thread.
    pub(super) n_missing: u64,
    pub(super) warnings: Vec<String>,
}

#[derive(Debug)]
struct OpenSpool {
    reader: SpoolReader,
    name: String,
    /// True if the file was not written by the analyzer; then it may repeat records that the analyzer had in sums.
    is_from_collector: bool,
    /// Records to be returned next.
    heads: VecDeque<Records>,
}

impl<'a> Merge<'a> {
    /// Opens the spools of a node; `covered` are its records in sums. An unreadable spool results in a warning.
    pub(super) fn open(spools: &[&Spool], covered: Covered<'a>) -> Self {
        let mut merge = Self { covered, ..Self::default() };
        for spool in spools {
            match SpoolReader::open(&spool.path) {
                Ok(reader) => {
                    let (name, heads) = (spool.path.display().to_string(), VecDeque::new());
                    let is_from_collector =
                        spool.path.file_stem().is_none_or(|stem| *stem != *spool.node);
                    merge.files.push(OpenSpool { reader, name, is_from_collector, heads });
                }
                Err(error) => merge.result.warnings.push(format!("Records are missing: {error}.")),
            }
        }
        for file in &mut merge.files {
            file.advance(covered, &mut merge.result.warnings);
        }
        merge
    }

    /// Returns the next records of some thread, without gap or repetition.
    pub(super) fn next(&mut self) -> Option<Records> {
        loop {
            let heads = self.files.iter().enumerate();
            // Files of the analyzer come first: records in sums are no gap in them, but they may hold individual records.
            let gaps = heads.filter_map(|(idx, file)| {
                Some((self.gap(file.heads.front()?), file.is_from_collector, idx))
            });
            let (gap, _, idx) = gaps.min()?;
            let file = &mut self.files[idx];
            let mut records = file.heads.pop_front()?;
            file.advance(self.covered, &mut self.result.warnings);
            let end = self.result.ends.entry((records.process, records.thread)).or_default();
            let repeated = usize::try_from(end.saturating_sub(records.first)).unwrap_or(usize::MAX);
            let repeated = repeated.min(records.records.len());
            records.records.drain(..repeated);
            records.first += repeated as u64;
            if records.records.is_empty() {
                continue;
            }
            self.result.n_missing += gap;
            *end = records.end();
            return Some(records);
        }
    }

    /// Returns the number of records between the last one of a thread and these.
    fn gap(&self, records: &Records) -> u64 {
        let (process, thread, first) = (records.process, records.thread, records.first);
        let end = self.result.ends.get(&(process, thread)).copied().unwrap_or_default();
        let n_in_sums = self.covered.n_within(process, thread, (end, first));
        first.saturating_sub(end).saturating_sub(n_in_sums)
    }

    pub(super) fn finish(self) -> MergeResult {
        self.result
    }
}

impl OpenSpool {
    /// Reads the next valid frame.
    fn advance(&mut self, covered: Covered<'_>, warnings: &mut Vec<String>) {
        let mut payload = Vec::new();
        while self.heads.is_empty() {
            match self.reader.next_frame(&mut payload) {
                Ok(true) => match wire::decode::<Records>(&payload) {
                    Ok(records) if self.is_from_collector => {
                        self.heads.extend(covered.cut(records));
                    }
                    Ok(records) => self.heads.push_back(records),
                    Err(error) => warnings.push(format!(
                        "A message in `{}` is not understood and left out: {error}.",
                        self.name
                    )),
                },
                Ok(false) => {
                    warnings.extend(self.reader.problem().map(|problem| {
                        format!(
                            "`{}` is damaged at byte {}: {} bytes of records are lost.",
                            self.name, problem.at_byte, problem.n_bytes_lost
                        )
                    }));
                    return;
                }
                Err(error) => return warnings.push(format!("Records are missing: {error}.")),
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use events::CallRecord;
    use run_record::SpoolWriter;
    use std::path::Path;

    /// Thread and its record numbers, from first to before end.
    type Frame = (u32, u64, u64);

    fn spool(path: &Path, frames: &[Frame]) -> Spool {
        let mut writer = SpoolWriter::create(path).unwrap();
        for (thread, first, end) in frames {
            let record = |number| CallRecord { bytes: number, ..CallRecord::default() };
            let process = ProcessKey { pid: 1, started: 2 };
            let records = (*first..*end).map(record).collect();
            let records = Records { process, thread: *thread, first: *first, records };
            writer.append(&[&wire::to_bytes(&records).unwrap()]).unwrap();
        }
        Spool { node: "n".into(), path: path.to_owned() }
    }

    /// Checks each thread's record numbers, in order, and the number of missing records.
    #[track_caller]
    fn check(files: &[&[Frame]], expected: &[(u32, &[u64])], n_missing: u64) {
        let dir = tempfile::tempdir().unwrap();
        let name = |idx: usize| dir.path().join(idx.to_string());
        let spools: Vec<Spool> =
            files.iter().enumerate().map(|(idx, frames)| spool(&name(idx), frames)).collect();
        let mut merge = Merge::open(&spools.iter().collect::<Vec<_>>(), Covered::default());
        let mut found: HashMap<u32, Vec<u64>> = HashMap::new();
        while let Some(records) = merge.next() {
            let numbers = records.records.iter().map(|record| record.bytes);
            found.entry(records.thread).or_default().extend(numbers);
        }
        let expected = expected.iter().map(|(thread, numbers)| (*thread, numbers.to_vec()));
        assert_eq!(found, expected.collect());
        let result = merge.finish();
        assert_eq!((result.n_missing, result.warnings), (n_missing, vec![]));
    }

    #[test]
    fn every_record_comes_once_and_in_order() {
        check(&[], &[], 0);
        check(&[&[(0, 0, 2), (1, 0, 1), (0, 2, 4)]], &[(0, &[0, 1, 2, 3]), (1, &[0])], 0);
        check(&[&[(0, 0, 3), (0, 1, 4), (0, 2, 3)]], &[(0, &[0, 1, 2, 3])], 0);
    }

    #[test]
    fn a_gap_in_one_file_is_filled_from_another() {
        check(&[&[(0, 0, 2), (0, 4, 6)], &[(0, 2, 4)]], &[(0, &[0, 1, 2, 3, 4, 5])], 0);
        check(&[&[(0, 2, 4)], &[(0, 0, 2), (0, 4, 5)]], &[(0, &[0, 1, 2, 3, 4])], 0);
        check(&[&[(0, 0, 4)], &[(0, 2, 6)]], &[(0, &[0, 1, 2, 3, 4, 5])], 0);
    }

    #[test]
    fn what_is_nowhere_is_missing() {
        check(&[&[(0, 0, 2), (0, 5, 6)], &[(0, 3, 4)]], &[(0, &[0, 1, 3, 5])], 2);
        check(&[&[(0, 7, 8)]], &[(0, &[7])], 7);
    }

    #[test]
    fn a_file_that_cannot_be_read_is_a_warning() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("gone");
        let merge = Merge::open(&[&Spool { node: "n".into(), path }], Covered::default());
        assert_eq!(merge.finish().warnings.len(), 1);
    }

    #[test]
    fn a_torn_file_is_read_up_to_its_tear() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("torn");
        let spool = spool(&path, &[(0, 0, 2), (0, 2, 4)]);
        let whole = std::fs::read(&path).unwrap();
        std::fs::write(&path, &whole[..whole.len() - 1]).unwrap();
        let mut merge = Merge::open(&[&spool], Covered::default());
        assert_eq!(merge.next().unwrap().records.len(), 2);
        assert_eq!(merge.next(), None);
        assert!(merge.finish().warnings[0].contains("damaged"));
    }
}
