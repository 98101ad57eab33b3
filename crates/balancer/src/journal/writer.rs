//! The thread that writes a journal: groups of records, each made durable once.

use std::fs::{File, OpenOptions};
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::sync::mpsc::{Receiver, SyncSender, TrySendError, sync_channel};
use std::thread::JoinHandle;

use super::format::encode_header;
use super::{JournalError, Opened};

/// Groups that may be on their way to the thread.
const N_GROUPS_MAX: usize = 1024;

/// When a record counts as written.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Durability {
    /// When the disk has it, which is waited for as soon as there is a record.
    Always,
    /// When the disk has it, which is waited for at most every 5 ms, unless 256 records wait.
    #[default]
    Batch,
    /// When the system has it: a killed daemon loses nothing, a node without power may.
    Never,
}

/// What the thread says.
#[derive(Debug)]
pub enum WriterNews {
    /// All records up to this one count as written.
    Durable {
        /// How many were appended since the daemon began.
        n_records: u64,
    },
    /// Nothing can be written any more.
    Failed(JournalError),
}

/// A journal that is written to.
#[derive(Debug)]
pub struct Writer {
    groups: Option<SyncSender<Group>>,
    thread: Option<JoinHandle<()>>,
}

/// What is written together.
#[derive(Debug)]
struct Group {
    bytes: Vec<u8>,
    n_records: u64,
    /// Whether it takes the place of everything before.
    anew: bool,
}

impl Writer {
    /// Starts the thread; it says to `tell` what is on disk.
    ///
    /// # Errors
    /// When the system gives no thread.
    pub fn start(
        opened: Opened,
        durability: Durability,
        tell: impl Fn(WriterNews) + Send + 'static,
    ) -> Result<Self, JournalError> {
        let (groups, incoming) = sync_channel(N_GROUPS_MAX);
        let mut thread = WriterThread { opened, durability, incoming, n_records: 0 };
        let run = move || {
            if let Err(error) = thread.run(&tell) {
                tell(WriterNews::Failed(error));
            }
        };
        let builder = std::thread::Builder::new().name("journal".to_owned());
        let thread = builder.spawn(run).map_err(|source| JournalError::Thread { source })?;
        Ok(Self { groups: Some(groups), thread: Some(thread) })
    }

    /// Appends records, `n_records` of them since the daemon began with these. `bytes` is emptied unless the
    /// thread is far behind; then they are to be handed over again with those that follow.
    pub fn append(&self, bytes: &mut Vec<u8>, n_records: u64) {
        let group = Group { bytes: std::mem::take(bytes), n_records, anew: false };
        let Some(groups) = &self.groups else { return };
        if let Err(TrySendError::Full(group)) = groups.try_send(group) {
            *bytes = group.bytes;
        }
    }

    /// Writes the journal anew: `bytes` are records that say everything.
    pub fn replace(&self, bytes: Vec<u8>, n_records: u64) -> bool {
        let group = Group { bytes, n_records, anew: true };
        self.groups.as_ref().is_some_and(|groups| groups.try_send(group).is_ok())
    }
}

impl Drop for Writer {
    /// Waits until everything is written.
    fn drop(&mut self) {
        self.groups = None;
        if let Some(thread) = self.thread.take() {
            // A thread that panicked has nothing left to write.
            drop(thread.join());
        }
    }
}

struct WriterThread {
    opened: Opened,
    durability: Durability,
    incoming: Receiver<Group>,
    n_records: u64,
}

impl WriterThread {
    fn run(&mut self, tell: &impl Fn(WriterNews)) -> Result<(), JournalError> {
        while let Ok(group) = self.incoming.recv() {
            self.write(&group)?;
            // What came while the disk was busy needs one wait for all of it.
            while let Ok(group) = self.incoming.try_recv() {
                self.write(&group)?;
            }
            if self.durability != Durability::Never {
                self.opened.file.sync_data().map_err(|source| self.failed("written", source))?;
            }
            tell(WriterNews::Durable { n_records: self.n_records });
        }
        Ok(())
    }

    fn write(&mut self, group: &Group) -> Result<(), JournalError> {
        if group.anew {
            let file = write_anew(&self.opened.path, &self.opened.name, &group.bytes);
            self.opened.file = file.map_err(|source| self.failed("written anew", source))?;
        } else {
            let written = self.opened.file.write_all(&group.bytes);
            written.map_err(|source| self.failed("written", source))?;
        }
        self.n_records = group.n_records;
        Ok(())
    }

    fn failed(&self, wanted: &'static str, source: io::Error) -> JournalError {
        JournalError::File { path: self.opened.path.clone(), wanted, source }
    }
}

fn write_anew(path: &Path, name: &str, bytes: &[u8]) -> io::Result<File> {
    let new: PathBuf = path.with_extension("new");
    let mut header = Vec::new();
    encode_header(name, &mut header).map_err(io::Error::other)?;
    let mut file = OpenOptions::new().write(true).create(true).truncate(true).open(&new)?;
    file.write_all(&header)?;
    file.write_all(bytes)?;
    file.sync_all()?;
    std::fs::rename(&new, path)?;
    if let Some(folder) = path.parent() {
        File::open(folder)?.sync_all()?;
    }
    Ok(file)
}

#[cfg(test)]
mod tests;
