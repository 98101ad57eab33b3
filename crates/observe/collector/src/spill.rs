//! Destination of records and reports when the analyzer is gone: files that `sintonia report` finds.

use events::ProcessKey;
use run_record::SpoolWriter;
use run_record::measured::RECORDS_SUFFIX;
use run_record::snapshot::{self, SnapshotEntry};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use wire::{ProcessReport, ProcessSamples, Records};

/// Files of one collector, in the first folder that accepts them.
#[derive(Debug)]
pub(crate) struct Spill {
    folders: Vec<PathBuf>,
    name: String,
    writer: Option<SpoolWriter>,
    ended: Vec<ProcessReport>,
    samples: BTreeMap<ProcessKey, ProcessSamples>,
    n_lost: u64,
    is_full: bool,
}

/// Returns the folder for spilled files when the record cannot be written.
pub(crate) fn temporary_dir() -> PathBuf {
    std::env::temp_dir()
}

/// Returns the prefix of the names of spilled files in [`temporary_dir`].
pub(crate) fn temporary_prefix(run: u64) -> String {
    format!("sintonia-{run:016x}-")
}

impl Spill {
    /// Prepares files of the collector of `node`, in the record `out` or else in the temporary folder.
    pub(crate) fn new(out: Option<&Path>, run: u64, node: &str) -> Self {
        let process = std::process::id();
        let prefix = temporary_prefix(run);
        let in_record = out.map(|out| out.join("spool"));
        let folders = in_record.into_iter().chain([temporary_dir()]).collect();
        let name = format!("{prefix}{node}-{process}");
        let (ended, samples) = (Vec::new(), BTreeMap::new());
        Self { folders, name, writer: None, ended, samples, n_lost: 0, is_full: false }
    }

    /// Returns the number of records that no file accepted.
    pub(crate) fn n_lost(&self) -> u64 {
        self.n_lost
    }

    /// Returns whether no folder accepted the last reports.
    pub(crate) fn is_full(&self) -> bool {
        self.is_full
    }

    /// Saves records; records that no file accepts are lost and counted.
    pub(crate) fn keep_records(&mut self, records: &Records) {
        let kept = wire::to_bytes(records).is_ok_and(|bytes| self.append(&bytes));
        if !kept {
            self.n_lost += records.records.len() as u64;
        }
    }

    fn append(&mut self, bytes: &[u8]) -> bool {
        if self.writer.as_mut().is_some_and(|writer| writer.append(&[bytes]).is_ok()) {
            return true;
        }
        // There is no open file yet, or its disk is full: the next folder may be on another disk.
        for folder in &self.folders {
            let path = folder.join(format!("{}.{RECORDS_SUFFIX}", self.name));
            if let Ok(mut writer) = SpoolWriter::create(&path)
                && writer.append(&[bytes]).is_ok()
            {
                self.writer = Some(writer);
                return true;
            }
        }
        false
    }

    /// Takes samples that the next reports are saved with.
    pub(crate) fn take_samples(&mut self, samples: impl Iterator<Item = ProcessSamples>) {
        self.samples.extend(samples.map(|samples| (samples.process, samples)));
    }

    /// Saves the reports of all processes; returns false if no folder accepts them.
    pub(crate) fn keep_reports(&mut self, reports: Vec<ProcessReport>) -> bool {
        let (ended, running): (Vec<_>, Vec<_>) =
            reports.into_iter().partition(|report| report.gone);
        for report in ended {
            self.ended.retain(|known| known.key != report.key);
            self.ended.push(report);
        }
        let kept = self.folders.iter().any(|folder| {
            let path = folder.join(format!("{}.{}", self.name, snapshot::SUFFIX));
            let processes = self.ended.iter().chain(&running);
            let entries = processes
                .map(|report| SnapshotEntry::Process(Box::new(report.clone())))
                .chain(self.samples.values().map(SnapshotEntry::of_samples))
                .chain([SnapshotEntry::RecordsLost(self.n_lost)]);
            snapshot::write(&path, entries).is_ok()
        });
        self.is_full = !kept;
        kept
    }
}
