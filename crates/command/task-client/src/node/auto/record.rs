//! File in which the controller keeps what it did: it goes on from there, and `--status` reads it.

use files::{Lock, LockError};
use node_demand::{Failures, Jobs};
use serde::{Deserialize, Serialize};
use std::collections::VecDeque;
use std::fs;
use std::io::{self, ErrorKind};
use std::path::Path;
use std::time::Duration;

/// Most entries that are kept.
const N_ENTRIES_MAX: usize = 100;
const FILE: &str = "auto.json";
const LOCK: &str = "auto.lock";

/// What the controller did, and what for.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub(super) struct Record {
    /// Begin of the names of jobs, which ends before the slot.
    pub(super) job_prefix: String,
    /// Begin of the names of nodes.
    pub(super) node_prefix: String,
    /// Nodes of a job.
    pub(super) n_nodes_per_job: u32,
    /// Jobs that were asked for.
    pub(super) jobs: Jobs,
    /// Jobs that failed, one after the other.
    pub(super) failures: Failures,
    /// Cores of a node, as seen.
    pub(super) n_cores_per_node: Option<u64>,
    /// Last things that were done.
    pub(super) entries: VecDeque<Entry>,
    /// Reason why nothing is done now.
    pub(super) why: String,
    /// Time of the last look at the nodes, in ms since 1970.
    pub(super) looked_ms: u64,
}

/// Something that was done or seen.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct Entry {
    /// Time in ms since 1970.
    pub(super) at_ms: u64,
    /// What was done.
    pub(super) event: Event,
    /// Slot of the job.
    pub(super) slot: u32,
    /// Number of the job, where it is known.
    pub(super) job: Option<u64>,
    /// Reason, or details.
    pub(super) why: String,
}

/// What was done or seen.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(super) enum Event {
    /// A job was submitted.
    Submitted,
    /// Slurm refused a job.
    Refused,
    /// A job that was not known was found in the queue.
    Adopted,
    /// A job began to run.
    Started,
    /// The nodes of a job joined the cluster.
    Joined,
    /// A job was told to leave.
    Leaves,
    /// A job was canceled.
    Canceled,
    /// A job ended.
    Ended,
    /// A job ended before its nodes joined.
    Failed,
}

impl Event {
    /// The event in a sentence, after the name of the job.
    pub(super) fn words(self) -> &'static str {
        match self {
            Self::Submitted => "is submitted",
            Self::Refused => "is refused",
            Self::Adopted => "is found in the queue",
            Self::Started => "runs",
            Self::Joined => "has joined",
            Self::Leaves => "is told to leave",
            Self::Canceled => "is canceled",
            Self::Ended => "has ended",
            Self::Failed => "has failed",
        }
    }
}

impl Entry {
    /// The entry as a sentence.
    pub(super) fn sentence(&self, node_prefix: &str) -> String {
        let job = self.job.map_or_else(String::new, |job| format!(" (job {job})"));
        let Self { event, slot, why, .. } = self;
        let why = if why.is_empty() { String::new() } else { format!(": {why}") };
        format!("{node_prefix}{slot}{job} {}{why}", event.words())
    }
}

impl Record {
    /// Reads the file; an empty record if there is none.
    pub(super) fn read(folder: &Path) -> io::Result<Self> {
        match fs::read(folder.join(FILE)) {
            Ok(bytes) => Ok(serde_json::from_slice(&bytes)?),
            Err(error) if error.kind() == ErrorKind::NotFound => Ok(Self::default()),
            Err(error) => Err(error),
        }
    }

    /// Replaces the file.
    pub(super) fn write(&self, folder: &Path) -> io::Result<()> {
        let json = serde_json::to_vec_pretty(self)?;
        files::replace(&folder.join(FILE), &json)
    }

    /// Adds an entry; the oldest one is dropped.
    pub(super) fn add(&mut self, entry: Entry) {
        self.entries.push_back(entry);
        while N_ENTRIES_MAX < self.entries.len() {
            self.entries.pop_front();
        }
    }
}

/// Locks the folder for this process.
pub(super) fn lock(folder: &Path, patience: Duration) -> Result<Lock, LockError> {
    Lock::take(&folder.join(LOCK), &std::process::id().to_string(), patience)
}

/// Process that holds the lock of a folder; `None` if none does.
pub(super) fn holder(folder: &Path) -> Option<i32> {
    match lock(folder, Duration::ZERO) {
        Err(LockError::Held { by }) => by.trim().parse().ok(),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_record_comes_back_and_is_bounded() {
        let folder = tempfile::tempdir().unwrap();
        let mut record = Record::read(folder.path()).unwrap();
        record.jobs.ask(1, 5);
        for at_ms in 0..200 {
            let why = "1 task waits".to_owned();
            record.add(Entry { at_ms, event: Event::Submitted, slot: 1, job: Some(7), why });
        }
        record.write(folder.path()).unwrap();
        let back = Record::read(folder.path()).unwrap();
        assert_eq!((back.jobs, back.entries.len()), (record.jobs, N_ENTRIES_MAX));
        let sentence = back.entries[0].sentence("a-auto");
        assert_eq!(sentence, "a-auto1 (job 7) is submitted: 1 task waits");
        fs::write(folder.path().join(FILE), "damaged").unwrap();
        assert!(Record::read(folder.path()).is_err());
    }

    #[test]
    fn who_works_is_known_by_the_lock() {
        let folder = tempfile::tempdir().unwrap();
        assert_eq!(holder(folder.path()), None);
        let _lock = lock(folder.path(), Duration::ZERO).unwrap();
        assert_eq!(holder(folder.path()), i32::try_from(std::process::id()).ok());
    }
}
