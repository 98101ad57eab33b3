//! Folder of a run: created at its start, filled at its end, opened by every later tool.
//!
//! # Invariants
//! - `run.json` exists from the start, so that a record whose writer died is still a record.
//! - An earlier run is never overwritten: a folder that is not empty is refused.
//! - A summary is never replaced by one with less information ([`missing_in`]).
//! - The spool is deleted only once the files assembled from it are on the disk.

use crate::checksum::Checksum;
use crate::event_file::{EventReader, EventWriter};
use crate::file_error::FileError;
use crate::function_file::{FunctionReader, FunctionWriter};
use crate::header::{RunHeader, RunStart, RunState, Version};
use crate::record_error::RecordError;
use crate::region_file::RegionRow;
use crate::resize_file::ResizeLines;
use crate::sample_file::SampleRow;
use crate::summary::{FORMAT_VERSION, Summary, missing_in};
use crate::table::{TableError, TableReader, TableWriter};
use crate::tuning::{self, TuningLines};
use dealing_report::DealingReport;
use serde::{Deserialize, Serialize};
use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};

const HEADER: &str = "run.json";
const SUMMARY: &str = "summary.json";
const REGIONS: &str = "regions.parquet";
const EVENTS: &str = "events.parquet";
const FUNCTIONS: &str = "function-events.parquet";
const SAMPLES: &str = "samples.parquet";
const TUNING: &str = "tuning.jsonl";
/// Written by the program itself (`master-worker/src/report_file.rs`).
const DEALT: &str = "dealt.json";
/// Word by which the user switches tuning on or off while the program runs.
const SWITCH: &str = "tune";
const SPOOL: &str = "spool";
const PAGE: &str = "report.html";
/// Files written by Sintonia that no longer change once the record is whole. (The program writes the others.)
const LASTING: [&str; 6] = [SUMMARY, REGIONS, EVENTS, FUNCTIONS, SAMPLES, TUNING];
/// File that reserves space from the start, so that the summary fits even if the disk fills up during the run.
const RESERVE: &str = "reserve";
const RESERVE_BYTES: usize = 128 * 1024;

/// Folder of a run.
#[derive(Debug)]
pub struct RunRecord {
    dir: PathBuf,
    header: RunHeader,
}

impl RunRecord {
    /// Creates the folder of a run that starts now, with its parents; an existing empty folder is used.
    ///
    /// # Errors
    /// When the folder is not empty, or cannot be written.
    pub fn create(dir: &Path, start: RunStart) -> Result<Self, RecordError> {
        fs::create_dir_all(dir).map_err(|e| FileError::new(dir, e))?;
        let mut entries = fs::read_dir(dir).map_err(|e| FileError::new(dir, e))?;
        if entries.next().is_some() {
            return Err(RecordError::NotEmpty(dir.to_owned()));
        }
        let spool = dir.join(SPOOL);
        fs::create_dir(&spool).map_err(|e| FileError::new(&spool, e))?;
        let record = Self { dir: dir.to_owned(), header: start.into() };
        record.write_header(&record.header)?;
        record.take_reserve();
        Ok(record)
    }

    /// Opens the record of a run, finished or not ([`RunRecord::state`]).
    ///
    /// # Errors
    /// When there is no folder, it is not a record, or a newer version wrote it.
    pub fn open(dir: &Path) -> Result<Self, RecordError> {
        if !dir.is_dir() {
            return Err(RecordError::NotThere(dir.to_owned()));
        }
        let path = dir.join(HEADER);
        let text = match fs::read(&path) {
            Err(e) if e.kind() == io::ErrorKind::NotFound => {
                return Err(RecordError::NotARecord(dir.to_owned()));
            }
            read => read.map_err(|e| FileError::new(&path, e))?,
        };
        // Check the version first: the rest of a newer header may not be readable at all.
        let version: Version = parse(&path, &text)?;
        if FORMAT_VERSION < version.format_version {
            return Err(RecordError::NewerFormat {
                dir: dir.to_owned(),
                found: version.format_version,
            });
        }
        let header = parse(&path, &text)?;
        check(&path, &text)?;
        Ok(Self { dir: dir.to_owned(), header })
    }

    /// Path of the folder.
    pub fn dir(&self) -> &Path {
        &self.dir
    }

    /// Header of the record.
    pub fn header(&self) -> &RunHeader {
        &self.header
    }

    /// State of the record: unfinished or finished.
    pub fn state(&self) -> RunState {
        self.header.state
    }

    /// Writes the summary, replacing an existing one as a whole.
    ///
    /// # Errors
    /// When the file cannot be written, or the existing summary has more information
    /// ([`RecordError::WouldLoseInformation`]).
    pub fn write_summary(&self, summary: &Summary) -> Result<(), RecordError> {
        // An unreadable summary has nothing to lose.
        let kept = self.read_summary().ok();
        if let Some(what) = kept.and_then(|kept| missing_in(&kept, summary)) {
            return Err(RecordError::WouldLoseInformation { path: self.dir.join(SUMMARY), what });
        }
        let path = self.dir.join(SUMMARY);
        let text = json(&path, summary)?;
        self.replace(&path, &text)
    }

    /// Writes the HTML report, replacing an existing one as a whole; returns its path.
    ///
    /// # Errors
    /// When the file cannot be written.
    pub fn write_page(&self, page: &str) -> Result<PathBuf, FileError> {
        let path = self.dir.join(PAGE);
        files::replace(&path, page.as_bytes()).map_err(|e| FileError::new(&path, e))?;
        Ok(path)
    }

    /// Reads the summary.
    ///
    /// # Errors
    /// When the run did not finish and no summary was written yet ([`RecordError::NoSummary`]), or the file
    /// is damaged.
    pub fn read_summary(&self) -> Result<Summary, RecordError> {
        self.verify(SUMMARY)?;
        let path = self.dir.join(SUMMARY);
        match fs::read(&path) {
            Err(e) if e.kind() == io::ErrorKind::NotFound => {
                Err(RecordError::NoSummary(self.dir.clone()))
            }
            read => parse(&path, &read.map_err(|e| FileError::new(&path, e))?),
        }
    }

    /// Writes the counters of all regions.
    ///
    /// # Errors
    /// When the file cannot be written.
    pub fn write_regions(&self, rows: &[RegionRow]) -> Result<(), TableError> {
        let mut table = TableWriter::create(&self.dir.join(REGIONS))?;
        table.append(rows)?;
        table.finish().map(drop)
    }

    /// Reads the counters of all regions.
    ///
    /// # Errors
    /// When the file does not exist or is damaged.
    pub fn read_regions(&self) -> Result<Vec<RegionRow>, TableError> {
        self.verify(REGIONS)?;
        let batches: Result<Vec<_>, _> =
            TableReader::open(&self.dir.join(REGIONS))?.batches().collect();
        Ok(batches?.concat())
    }

    /// Writes the samples of all ranks by call path.
    ///
    /// # Errors
    /// When the file cannot be written.
    pub fn write_samples(&self, rows: &[SampleRow]) -> Result<(), TableError> {
        let mut table = TableWriter::create(&self.dir.join(SAMPLES))?;
        table.append(rows)?;
        table.finish().map(drop)
    }

    /// Reads the samples of all ranks by call path; empty if the run was not sampled.
    ///
    /// # Errors
    /// When the file is damaged or cannot be read.
    pub fn read_samples(&self) -> Result<Vec<SampleRow>, TableError> {
        self.verify(SAMPLES)?;
        let path = self.dir.join(SAMPLES);
        if !path.exists() {
            return Ok(Vec::new());
        }
        let batches: Result<Vec<_>, _> = TableReader::open(&path)?.batches().collect();
        Ok(batches?.concat())
    }

    /// Starts the event file; it appears when [`TableWriter::finish`] is called.
    ///
    /// # Errors
    /// When the file cannot be written.
    pub fn event_writer(&self) -> Result<EventWriter, TableError> {
        EventWriter::create(&self.dir.join(EVENTS))
    }

    /// Opens the event file; `None` if the run was not traced.
    ///
    /// # Errors
    /// When the file is damaged or cannot be read.
    pub fn events(&self) -> Result<Option<EventReader>, TableError> {
        self.verify(EVENTS)?;
        let path = self.dir.join(EVENTS);
        if path.exists() { EventReader::open(&path).map(Some) } else { Ok(None) }
    }

    /// Starts the file of function events; it appears when [`TableWriter::finish`] is called.
    ///
    /// # Errors
    /// When the file cannot be written.
    pub fn function_writer(&self) -> Result<FunctionWriter, TableError> {
        FunctionWriter::create(&self.dir.join(FUNCTIONS))
    }

    /// Opens the file of function events; `None` if there is no such file.
    ///
    /// # Errors
    /// When the file is damaged or cannot be read.
    pub fn function_events(&self) -> Result<Option<FunctionReader>, TableError> {
        self.verify(FUNCTIONS)?;
        let path = self.dir.join(FUNCTIONS);
        if path.exists() { FunctionReader::open(&path).map(Some) } else { Ok(None) }
    }

    /// Path of the tuning journal, for [`TuningWriter`](crate::TuningWriter).
    pub fn tuning_path(&self) -> PathBuf {
        self.dir.join(TUNING)
    }

    /// Path of the file with the user's word about tuning: `on` or `off` ([`crate::switch`]).
    pub fn switch_path(&self) -> PathBuf {
        self.dir.join(SWITCH)
    }

    /// Reads the tuning journal: observations, decisions and actions of tunlets; `None` in a run without tunlets.
    ///
    /// # Errors
    /// When the file cannot be read.
    pub fn read_tuning(&self) -> Result<Option<TuningLines>, RecordError> {
        self.verify(TUNING)?;
        Ok(tuning::read(&self.tuning_path())?)
    }

    /// Reads the program's report of dealt work; `None` if the program does not use the master/worker library,
    /// or could not write into this folder.
    ///
    /// # Errors
    /// When the file is damaged.
    pub fn read_dealt(&self) -> Result<Option<DealingReport>, RecordError> {
        let path = self.dir.join(DEALT);
        let Ok(text) = std::fs::read(&path) else { return Ok(None) };
        check(&path, &text)?;
        parse(&path, &text).map(Some)
    }

    /// Reads the resizes of the program; `None` if the program is not malleable, or could not write into this folder.
    ///
    /// # Errors
    /// When the file cannot be read.
    pub fn read_resizes(&self) -> Result<Option<ResizeLines>, RecordError> {
        Ok(ResizeLines::read(&self.dir)?)
    }

    /// Path of the spool file `name`, for its writer.
    pub fn spool_path(&self, name: &str) -> PathBuf {
        self.dir.join(SPOOL).join(name)
    }

    /// Paths of the spool files, sorted by name; empty if the record is whole.
    ///
    /// # Errors
    /// When the folder cannot be read.
    pub fn spool_files(&self) -> Result<Vec<PathBuf>, RecordError> {
        let spool = self.dir.join(SPOOL);
        let entries = match fs::read_dir(&spool) {
            Err(e) if e.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
            read => read.map_err(|e| FileError::new(&spool, e))?,
        };
        let paths: io::Result<Vec<PathBuf>> = entries.map(|entry| Ok(entry?.path())).collect();
        let mut paths = paths.map_err(|e| FileError::new(&spool, e))?;
        paths.sort();
        Ok(paths)
    }

    /// Marks the record as whole and removes the spool: everything in it is in the other files.
    ///
    /// # Errors
    /// When `run.json` cannot be written or the spool cannot be removed; the record is then unfinished or
    /// still has its spool, and is readable in both cases.
    pub fn finish(&mut self) -> Result<(), RecordError> {
        // Tables are already on the disk.
        self.sync_if_there(SUMMARY)?;
        let mut header = self.header.clone();
        for name in LASTING {
            if let Some(checksum) = Checksum::of(&self.dir.join(name))? {
                header.checksums.insert(name.to_owned(), checksum);
            }
        }
        header.state = RunState::Finished;
        self.write_header(&header)?;
        self.header = header;
        self.sync_if_there(HEADER)?;
        files::sync_folder(&self.dir).map_err(|e| FileError::new(&self.dir, e))?;
        self.free_reserve();
        let spool = self.dir.join(SPOOL);
        match fs::remove_dir_all(&spool) {
            Err(e) if e.kind() != io::ErrorKind::NotFound => Err(FileError::new(&spool, e).into()),
            _ => Ok(()),
        }
    }

    /// The header holds the checksums of all other files, and one of itself.
    fn write_header(&self, header: &RunHeader) -> Result<(), RecordError> {
        let path = self.dir.join(HEADER);
        let text = json(&path, header)?;
        self.replace(&path, &checked_json::seal(&text))
    }

    /// Replaces a file, which is not forced to the disk: that would cost 10 ms and more for each file of each run.
    /// [`Self::finish`] does so before the source of its content is deleted.
    fn replace(&self, path: &Path, text: &str) -> Result<(), RecordError> {
        let replace = || files::replace(path, text.as_bytes()).map_err(|e| FileError::new(path, e));
        match replace() {
            Err(error) if error.is_storage_full() && self.free_reserve() => Ok(replace()?),
            replaced => Ok(replaced?),
        }
    }

    /// Checks a file against its checksum, if it has one.
    fn verify(&self, name: &str) -> Result<(), FileError> {
        let Some(expected) = self.header.checksums.get(name) else { return Ok(()) };
        let path = self.dir.join(name);
        if Checksum::of(&path)?.as_ref() == Some(expected) {
            return Ok(());
        }
        Err(FileError::Damaged(path))
    }

    fn sync_if_there(&self, name: &str) -> Result<(), FileError> {
        let path = self.dir.join(name);
        match File::open(&path).and_then(|file| file.sync_all()) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
            synced => synced.map_err(|e| FileError::new(&path, e)),
        }
    }

    /// Creates the reserve file; if the disk has no room for it, there is no reserve.
    fn take_reserve(&self) {
        let path = self.dir.join(RESERVE);
        if fs::write(&path, vec![0; RESERVE_BYTES]).is_err() {
            self.free_reserve();
        }
    }

    /// Frees the reserved space for the last files on a full disk; returns false if there is no reserve.
    pub fn free_reserve(&self) -> bool {
        fs::remove_file(self.dir.join(RESERVE)).is_ok()
    }
}

fn json(path: &Path, value: &impl Serialize) -> Result<String, RecordError> {
    let text = serde_json::to_string_pretty(value);
    let text = text.map_err(|source| RecordError::NotJson { path: path.to_owned(), source })?;
    Ok(text + "\n")
}

fn check(path: &Path, text: &[u8]) -> Result<(), RecordError> {
    let checked = checked_json::check(text);
    checked.map_err(|_changed| FileError::Damaged(path.to_owned()).into())
}

fn parse<T: for<'de> Deserialize<'de>>(path: &Path, text: &[u8]) -> Result<T, RecordError> {
    serde_json::from_slice(text)
        .map_err(|source| RecordError::NotJson { path: path.to_owned(), source })
}
