//! Recovery of data that a run left behind: in the record's spool, among temporary files, in shared memory.
//!
//! After an ordinary run nothing is found. After a killed launcher or collector everything comes from here.

use crate::leftovers::remove_dead;
use crate::node::segments;
use crate::place::run_dir;
use crate::process::Observed;
use crate::spill::{temporary_dir, temporary_prefix};
use crate::usage::NodeFiles;
use run_record::measured::{MeasuredRun, RECORDS_SUFFIX, RunFacts, Spool};
use run_record::snapshot::{self, ANALYZER, SnapshotEntry, SnapshotError};
use run_record::{RunRecord, SpoolWriter};
use std::collections::HashMap;
use std::fs::DirEntry;
use std::path::{Path, PathBuf};
use std::time::Instant;
use wire::{ProcessReport, ProcessSamples};

/// Adds data left by collectors on this machine's disks and in its shared memory to the analyzer's measurements.
pub fn complete(measured: MeasuredRun, record: &RunRecord, facts: &RunFacts) -> MeasuredRun {
    // The analyzer's own snapshot is skipped: it holds older numbers of the same data.
    let own = own_snapshot(record);
    let files = left_files(record, &facts.run).into_iter().filter(|path| *path != own);
    add(measured, files, record, facts)
}

fn add(
    measured: MeasuredRun,
    files: impl IntoIterator<Item = PathBuf>,
    record: &RunRecord,
    facts: &RunFacts,
) -> MeasuredRun {
    let keys = measured.processes.iter().map(|report| (report.node.clone(), report.key));
    let mut recovery = Recovery { position: keys.zip(0..).collect(), measured };
    files.into_iter().for_each(|path| recovery.take_file(&path));
    if let Ok(run) = u64::from_str_radix(&facts.run, 16) {
        recovery.take_shared_memory(&run_dir(&facts.shm_dir, run), record);
    }
    recovery.measured
}

/// Returns the launcher's facts about an unfinished run, and everything that was measured.
pub fn unfinished(record: &RunRecord) -> (RunFacts, MeasuredRun) {
    let header = record.header();
    let start = &header.start;
    let mut facts = RunFacts {
        sintonia_version: header.sintonia_version.clone(),
        run: start.run_id.clone(),
        command: start.command.clone(),
        started_s: start.started_s,
        shm_dir: "/dev/shm".into(),
        ..RunFacts::default()
    };
    let files = left_files(record, &start.run_id);
    for path in files.iter().filter(|path| is_snapshot(path)) {
        let contents = snapshot::read(path).unwrap_or_default();
        let kept = contents.entries.into_iter().find_map(|entry| match entry {
            SnapshotEntry::Facts(facts) => Some(facts),
            _ => None,
        });
        facts = kept.unwrap_or(facts);
    }
    if let Ok(summary) = record.read_summary()
        && summary.outcome.complete
        && !facts.outcome.complete
    {
        (facts.outcome, facts.wall_s) = (summary.outcome, summary.wall_s);
    }
    let measured = add(MeasuredRun::default(), files, record, &facts);
    (facts, measured)
}

/// Saves the data of all processes to the spool, where a later `sintonia report` finds them; they are as valuable
/// as the summary when files of the record could not be written.
///
/// # Errors
/// The disk has no room even for that; the previous file is then still there.
pub fn keep(
    measured: &MeasuredRun,
    facts: &RunFacts,
    record: &RunRecord,
) -> Result<(), SnapshotError> {
    let path = own_snapshot(record);
    let write = || snapshot::write(&path, snapshot::entries(measured, facts));
    write().or_else(|error| if record.free_reserve() { write() } else { Err(error) })
}

/// Removes the data that [`complete`] found outside the record, since they are in the record now.
pub fn remove_left(facts: &RunFacts) {
    for path in temporary_files(&facts.run) {
        std::fs::remove_file(path).ok();
    }
    if let Ok(run) = u64::from_str_radix(&facts.run, 16) {
        remove_dead(&run_dir(&facts.shm_dir, run));
    }
}

/// Returns the path of this run's snapshot by the analyzer.
fn own_snapshot(record: &RunRecord) -> PathBuf {
    record.spool_path(&format!("{ANALYZER}.{}", snapshot::SUFFIX))
}

fn left_files(record: &RunRecord, run: &str) -> Vec<PathBuf> {
    let mut files = record.spool_files().unwrap_or_default();
    files.extend(temporary_files(run));
    files
}

fn temporary_files(run: &str) -> Vec<PathBuf> {
    let Ok(run) = u64::from_str_radix(run, 16) else { return Vec::new() };
    let prefix = temporary_prefix(run);
    let Ok(entries) = std::fs::read_dir(temporary_dir()) else { return Vec::new() };
    let named = |entry: &DirEntry| entry.file_name().to_string_lossy().starts_with(&prefix);
    let paths = entries.flatten().filter(named).map(|entry| entry.path());
    // Any user may put files of any name there.
    paths.filter(|path| files::private::open_file(path, false).is_ok()).collect()
}

fn is_snapshot(path: &Path) -> bool {
    path.extension().is_some_and(|ending| ending == snapshot::SUFFIX)
}

struct Recovery {
    measured: MeasuredRun,
    /// Position of each process in `measured.processes`.
    position: HashMap<(String, events::ProcessKey), usize>,
}

impl Recovery {
    fn take_file(&mut self, path: &Path) {
        if is_snapshot(path) {
            match snapshot::read(path) {
                Ok(contents) => {
                    contents.entries.into_iter().for_each(|entry| self.take(entry));
                    self.measured.warnings.extend(contents.problem);
                }
                Err(error) => self.measured.warnings.push(error.to_string()),
            }
        } else if path.extension().is_some_and(|ending| ending == RECORDS_SUFFIX) {
            let spool = Spool { node: self.node_of(path), path: path.to_owned() };
            if self.measured.spools.iter().all(|known| known.path != spool.path) {
                self.measured.spools.push(spool);
            }
        }
    }

    /// Returns the node from the name of a file of records: `NODE.spool` or `sintonia-RUN-NODE-PID.spool`.
    fn node_of(&self, path: &Path) -> String {
        let name = path.file_stem().unwrap_or_default().to_string_lossy().into_owned();
        let Some(rest) = name.strip_prefix("sintonia-").and_then(|rest| rest.split_once('-'))
        else {
            return name;
        };
        rest.1.rsplit_once('-').map_or(rest.1, |(node, _)| node).to_owned()
    }

    fn take(&mut self, entry: SnapshotEntry) {
        match entry {
            SnapshotEntry::Process(report) => self.take_report(*report),
            SnapshotEntry::EarlierProcess(report) => self.take_report((*report).into()),
            SnapshotEntry::Clock(clock) => {
                if self.measured.nodes.iter().all(|known| known.node != clock.node) {
                    self.measured.nodes.push(clock);
                }
            }
            SnapshotEntry::Warning(warning) => {
                if !self.measured.warnings.contains(&warning) {
                    self.measured.warnings.push(warning);
                }
            }
            SnapshotEntry::RecordsLost(n_records) => {
                self.measured.n_records_lost = self.measured.n_records_lost.max(n_records);
            }
            SnapshotEntry::Samples(samples) => self.take_samples(*samples),
            SnapshotEntry::Facts(_) => {}
        }
    }

    /// Takes samples; those of a process only grow.
    fn take_samples(&mut self, samples: ProcessSamples) {
        let is_same = |known: &&mut ProcessSamples| {
            (&known.node, known.process) == (&samples.node, samples.process)
        };
        match self.measured.samples.iter_mut().find(is_same) {
            Some(known) if known.samples < samples.samples => *known = samples,
            Some(_) => {}
            None => self.measured.samples.push(samples),
        }
    }

    /// Takes a report; the latest one of a process counts.
    fn take_report(&mut self, mut report: ProcessReport) {
        let processes = &mut self.measured.processes;
        let position =
            *self.position.entry((report.node.clone(), report.key)).or_insert_with(|| {
                processes.push(report.clone());
                processes.len() - 1
            });
        let known = &mut processes[position];
        if (known.gone, known.now) < (report.gone, report.now) {
            if report.modules.is_empty() {
                report.modules = std::mem::take(&mut known.modules);
            }
            *known = report;
        }
    }

    fn take_shared_memory(&mut self, run_dir: &Path, record: &RunRecord) {
        // A folder with the run's name that another user made is not part of the run.
        let own = files::private::verify(run_dir).and_then(|()| std::fs::read_dir(run_dir));
        let Ok(nodes) = own else { return };
        for dir in nodes.filter_map(|entry| Some(entry.ok()?.path())) {
            let node = dir.file_name().unwrap_or_default().to_string_lossy().into_owned();
            let mut spool = None;
            for path in segments(&dir) {
                let now = Instant::now();
                let Ok(mut process) = Observed::open(&path, now) else { continue };
                let report = process.whole_report((&node, &NodeFiles::default()), now);
                self.take_report(report);
                while let Some(records) = process.next_records() {
                    let name = format!("{node}-left.{RECORDS_SUFFIX}");
                    self.keep(&mut spool, (&node, record.spool_path(&name)), &records);
                }
                self.measured.warnings.extend(process.damage());
            }
        }
    }

    fn keep(
        &mut self,
        spool: &mut Option<SpoolWriter>,
        (node, path): (&str, PathBuf),
        records: &wire::Records,
    ) {
        if spool.is_none() {
            // The file is from an earlier attempt to finish this record; the segment still holds all of its records.
            std::fs::remove_file(&path).ok();
            *spool = SpoolWriter::create(&path).ok();
            self.take_file(&path);
            if let Some(last) = self.measured.spools.last_mut().filter(|last| last.path == path) {
                node.clone_into(&mut last.node);
            }
        }
        let append = |spool: &mut SpoolWriter| {
            wire::to_bytes(records).is_ok_and(|bytes| spool.append(&[&bytes]).is_ok())
        };
        if !spool.as_mut().is_some_and(append) {
            self.measured.n_records_lost += records.records.len() as u64;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The analyzer's snapshot, made during the run, used to add its earlier number of strangers to the final one.
    #[test]
    fn a_number_that_grew_is_told_once() {
        let folder = tempfile::tempdir().expect("a folder");
        let record = RunRecord::create(&folder.path().join("record"), Default::default());
        let record = record.expect("a new record");
        let facts = RunFacts { shm_dir: folder.path().to_owned(), ..RunFacts::default() };
        let strangers = |n: u32| MeasuredRun {
            warnings: vec![format!("the analyzer rejected {n} connections")],
            ..MeasuredRun::default()
        };
        keep(&strangers(3), &facts, &record).expect("room for it");
        let measured = complete(strangers(5), &record, &facts);
        assert_eq!(measured.warnings, strangers(5).warnings);
        // A killed analyzer adds no final number.
        assert_eq!(unfinished(&record).1.warnings, strangers(3).warnings);
    }
}
