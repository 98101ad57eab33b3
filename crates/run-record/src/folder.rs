//! The folder of a run: made at its start, filled at its end, opened by every later tool.
//!
//! # Invariants
//! - `run.json` is there from the first moment, so that a record whose writer died is still a record.
//! - Nothing of an earlier run is ever overwritten: a folder that holds something is refused.
//! - A summary is never replaced by one that knows less ([`crate::knowledge`]).
//! - The spool is deleted only when what was made of it is on the disk.

use crate::checksum::Checksum;
use crate::event_file::{EventReader, EventWriter};
use crate::file_error::FileError;
use crate::function_file::{FunctionReader, FunctionWriter};
use crate::header::{RunHeader, RunStart, RunState, Version};
use crate::knowledge::lost;
use crate::record_error::RecordError;
use crate::region_file::{self, RegionRow};
use crate::resize_file::ResizeLines;
use crate::summary::{FORMAT_VERSION, Summary};
use crate::table::TableError;
use crate::tuning::{self, TuningLines};
use crate::whole_file::{replace, sync, sync_folder};
use dealt::Dealt;
use serde::{Deserialize, Serialize};
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

const HEADER: &str = "run.json";
const SUMMARY: &str = "summary.json";
const REGIONS: &str = "regions.parquet";
const EVENTS: &str = "events.parquet";
const FUNCTIONS: &str = "function-events.parquet";
const TUNING: &str = "tuning.jsonl";
/// Written by the program (`master-worker/src/written.rs`).
const DEALT: &str = "dealt.json";
const SPOOL: &str = "spool";
const PAGE: &str = "report.html";
/// Files of ours that do not change any more once the record is whole. (Others are the program's.)
const LASTING: [&str; 5] = [SUMMARY, REGIONS, EVENTS, FUNCTIONS, TUNING];
/// Room kept from the start, so that a disk that fills during the run still takes the summary.
const RESERVE: &str = "reserve";
const RESERVE_BYTES: usize = 128 * 1024;

/// The folder of a run.
#[derive(Debug)]
pub struct RunRecord {
    dir: PathBuf,
    header: RunHeader,
}

impl RunRecord {
    /// Makes the folder of a run that starts now, with its parents; an empty folder is taken as it is.
    ///
    /// # Errors
    /// When the folder holds something already, or cannot be written.
    pub fn create(dir: &Path, start: RunStart) -> Result<Self, RecordError> {
        fs::create_dir_all(dir).map_err(|e| FileError::new(dir, e))?;
        let mut entries = fs::read_dir(dir).map_err(|e| FileError::new(dir, e))?;
        if entries.next().is_some() {
            return Err(RecordError::NotEmpty { dir: dir.to_owned() });
        }
        let spool = dir.join(SPOOL);
        fs::create_dir(&spool).map_err(|e| FileError::new(&spool, e))?;
        let record = Self { dir: dir.to_owned(), header: start.into() };
        record.write_header(&record.header)?;
        record.take_reserve();
        Ok(record)
    }

    /// Opens the record of a run, finished or not: [`RunRecord::state`] says which.
    ///
    /// # Errors
    /// When there is no folder, it is not a record, or a newer version wrote it.
    pub fn open(dir: &Path) -> Result<Self, RecordError> {
        if !dir.is_dir() {
            return Err(RecordError::NotThere { dir: dir.to_owned() });
        }
        let path = dir.join(HEADER);
        let text = match fs::read(&path) {
            Err(e) if e.kind() == io::ErrorKind::NotFound => {
                return Err(RecordError::NotARecord { dir: dir.to_owned() });
            }
            read => read.map_err(|e| FileError::new(&path, e))?,
        };
        // The version first: the rest of a newer header may not be readable at all.
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

    /// The folder.
    pub fn dir(&self) -> &Path {
        &self.dir
    }

    /// What the record says of itself.
    pub fn header(&self) -> &RunHeader {
        &self.header
    }

    /// Whether the record is whole.
    pub fn state(&self) -> RunState {
        self.header.state
    }

    /// Writes, or replaces as a whole, the run on one page.
    ///
    /// # Errors
    /// When the file cannot be written, or the one that is there knows more
    /// ([`RecordError::KnowsMore`]).
    pub fn write_summary(&self, summary: &Summary) -> Result<(), RecordError> {
        // One that cannot be read has nothing to lose.
        let kept = self.read_summary().ok();
        if let Some(what) = kept.and_then(|kept| lost(&kept, summary)) {
            return Err(RecordError::KnowsMore { path: self.dir.join(SUMMARY), what });
        }
        self.write_json(SUMMARY, summary)
    }

    /// Writes, or replaces as a whole, the page for a browser; where it is.
    ///
    /// # Errors
    /// When the file cannot be written.
    pub fn write_page(&self, page: &str) -> Result<PathBuf, FileError> {
        let path = self.dir.join(PAGE);
        replace(&path, page.as_bytes())?;
        Ok(path)
    }

    /// The run on one page.
    ///
    /// # Errors
    /// When the run was not finished and none was written yet ([`RecordError::NoSummary`]), or the file
    /// is damaged.
    pub fn read_summary(&self) -> Result<Summary, RecordError> {
        self.verify(SUMMARY)?;
        let path = self.dir.join(SUMMARY);
        match fs::read(&path) {
            Err(e) if e.kind() == io::ErrorKind::NotFound => {
                Err(RecordError::NoSummary { dir: self.dir.clone() })
            }
            read => parse(&path, &read.map_err(|e| FileError::new(&path, e))?),
        }
    }

    /// Writes the counters of all regions.
    ///
    /// # Errors
    /// When the file cannot be written.
    pub fn write_regions(&self, rows: &[RegionRow]) -> Result<(), TableError> {
        region_file::write(&self.dir.join(REGIONS), rows)
    }

    /// The counters of all regions.
    ///
    /// # Errors
    /// When the file is not there or damaged.
    pub fn read_regions(&self) -> Result<Vec<RegionRow>, TableError> {
        self.verify(REGIONS)?;
        region_file::read(&self.dir.join(REGIONS))
    }

    /// Starts the event file; it appears when [`EventWriter::finish`] is called.
    ///
    /// # Errors
    /// When the file cannot be written.
    pub fn event_writer(&self) -> Result<EventWriter, TableError> {
        EventWriter::create(&self.dir.join(EVENTS))
    }

    /// The event file; none when the run was not traced.
    ///
    /// # Errors
    /// When the file is damaged or cannot be read.
    pub fn events(&self) -> Result<Option<EventReader>, TableError> {
        self.verify(EVENTS)?;
        let path = self.dir.join(EVENTS);
        if path.exists() { EventReader::open(&path).map(Some) } else { Ok(None) }
    }

    /// Starts the file of function events; it appears when [`FunctionWriter::finish`] is called.
    ///
    /// # Errors
    /// When the file cannot be written.
    pub fn function_writer(&self) -> Result<FunctionWriter, TableError> {
        FunctionWriter::create(&self.dir.join(FUNCTIONS))
    }

    /// The file of function events; none when there were none.
    ///
    /// # Errors
    /// When the file is damaged or cannot be read.
    pub fn function_events(&self) -> Result<Option<FunctionReader>, TableError> {
        self.verify(FUNCTIONS)?;
        let path = self.dir.join(FUNCTIONS);
        if path.exists() { FunctionReader::open(&path).map(Some) } else { Ok(None) }
    }

    /// Where the lines of tunlets are, for [`TuningWriter`](crate::TuningWriter).
    pub fn tuning_path(&self) -> PathBuf {
        self.dir.join(TUNING)
    }

    /// What tunlets saw, decided and did; none in a run without them.
    ///
    /// # Errors
    /// When the file cannot be read.
    pub fn read_tuning(&self) -> Result<Option<TuningLines>, RecordError> {
        self.verify(TUNING)?;
        Ok(tuning::read(&self.tuning_path())?)
    }

    /// What became of the work that the program dealt out; none when it is not of the master/worker library, or
    /// did not reach this folder.
    ///
    /// # Errors
    /// When the file is damaged.
    pub fn read_dealt(&self) -> Result<Option<Dealt>, RecordError> {
        let path = self.dir.join(DEALT);
        let Ok(text) = std::fs::read(&path) else { return Ok(None) };
        check(&path, &text)?;
        parse(&path, &text).map(Some)
    }

    /// How the program changed its number of ranks; none when it is not malleable, or did not reach this folder.
    ///
    /// # Errors
    /// When the file cannot be read.
    pub fn read_resizes(&self) -> Result<Option<ResizeLines>, RecordError> {
        Ok(ResizeLines::read(&self.dir)?)
    }

    /// Where the spool file `name` is, for its writer.
    pub fn spool_path(&self, name: &str) -> PathBuf {
        self.dir.join(SPOOL).join(name)
    }

    /// The spool files, by name; none when the record is whole.
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

    /// Declares the record whole and removes the spool: everything of it is in the other files.
    ///
    /// # Errors
    /// When `run.json` cannot be written or the spool cannot be removed; the record is then unfinished
    /// or has a spool too many, and both are readable.
    pub fn finish(&mut self) -> Result<(), RecordError> {
        // Tables are on the disk since they were written.
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
        sync_folder(&self.dir)?;
        self.free_reserve();
        let spool = self.dir.join(SPOOL);
        match fs::remove_dir_all(&spool) {
            Err(e) if e.kind() != io::ErrorKind::NotFound => Err(FileError::new(&spool, e).into()),
            _ => Ok(()),
        }
    }

    /// The header holds the checksums of all others, and one of itself.
    fn write_header(&self, header: &RunHeader) -> Result<(), RecordError> {
        let path = self.dir.join(HEADER);
        let text = json(&path, header)?;
        self.replace(&path, &sealed::seal(&text))
    }

    fn write_json(&self, name: &str, value: &impl Serialize) -> Result<(), RecordError> {
        let path = self.dir.join(name);
        let text = json(&path, value)?;
        self.replace(&path, &text)
    }

    fn replace(&self, path: &Path, text: &str) -> Result<(), RecordError> {
        match replace(path, text.as_bytes()) {
            Err(error) if error.is_storage_full() && self.free_reserve() => {
                Ok(replace(path, text.as_bytes())?)
            }
            replaced => Ok(replaced?),
        }
    }

    /// Reads a file through where it is known what it was.
    fn verify(&self, name: &str) -> Result<(), FileError> {
        let Some(expected) = self.header.checksums.get(name) else { return Ok(()) };
        let path = self.dir.join(name);
        if Checksum::of(&path)?.as_ref() == Some(expected) {
            return Ok(());
        }
        Err(FileError::Damaged { path })
    }

    fn sync_if_there(&self, name: &str) -> Result<(), FileError> {
        let path = self.dir.join(name);
        if path.exists() { sync(&path) } else { Ok(()) }
    }

    /// A disk without that much room is full already: then there is no reserve.
    fn take_reserve(&self) {
        let path = self.dir.join(RESERVE);
        if fs::write(&path, vec![0; RESERVE_BYTES]).is_err() {
            self.free_reserve();
        }
    }

    /// Frees the room that was kept for the last files of a full disk; false when there is none.
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
    let checked = sealed::check(text);
    checked.map_err(|_changed| FileError::Damaged { path: path.to_owned() }.into())
}

fn parse<T: for<'de> Deserialize<'de>>(path: &Path, text: &[u8]) -> Result<T, RecordError> {
    serde_json::from_slice(text)
        .map_err(|source| RecordError::NotJson { path: path.to_owned(), source })
}
