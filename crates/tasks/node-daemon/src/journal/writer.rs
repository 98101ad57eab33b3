//! Writes a journal in a thread: groups of records, each synced once.

use std::io::{self, Write};
use std::sync::mpsc::{Receiver, SyncSender, TrySendError, sync_channel};
use std::thread::JoinHandle;

use super::file::write_anew;
use super::mark::{Mark, N_AHEAD, N_RESERVED};
use super::{JournalError, OpenJournal};

/// Most groups that wait for the thread.
const N_GROUPS_MAX: usize = 1024;

/// Condition on which a record counts as written.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Durability {
    /// It is on disk; the sync begins as soon as there is a record.
    Always,
    /// It is on disk; a sync begins at most every 5 ms, unless 256 records wait.
    #[default]
    Batch,
    /// The operating system has it: a killed daemon loses nothing, but a power failure may.
    Never,
}

/// News from the thread.
#[derive(Debug)]
pub enum WriterNews {
    /// All records up to this one count as written.
    Durable {
        /// Number of records that were appended since the daemon began.
        n_records: u64,
        /// As [`OpenJournal::assigned_below`].
        assigned_below: u64,
    },
    /// Nothing can be written any more.
    Failed(JournalError),
}

/// Journal that is being written.
#[derive(Debug)]
pub struct Writer {
    groups: Option<SyncSender<Group>>,
    thread: Option<JoinHandle<()>>,
}

/// State of the journal behind a group of records.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct JournalPosition {
    /// Number of records since the daemon began.
    pub n_records: u64,
    /// Sequence number of the last block.
    pub sequence: u64,
    /// Number of the next task.
    pub next: u64,
}

/// Records that are written together.
#[derive(Debug)]
struct Group {
    bytes: Vec<u8>,
    position: JournalPosition,
    /// Sequence number before these blocks, where they replace the whole journal.
    anew: Option<u64>,
}

impl Writer {
    /// Starts the thread; it reports to `tell` what is written.
    ///
    /// # Errors
    /// When no thread can be started.
    pub fn start(
        opened: OpenJournal,
        durability: Durability,
        tell: impl Fn(WriterNews) + Send + 'static,
    ) -> Result<Self, JournalError> {
        let (groups, incoming) = sync_channel(N_GROUPS_MAX);
        let position =
            JournalPosition { n_records: 0, sequence: opened.sequence, next: opened.next };
        let mut thread = WriterThread { opened, durability, incoming, position };
        let run = move || {
            if let Err(error) = thread.run(&tell) {
                tell(WriterNews::Failed(error));
            }
        };
        let builder = std::thread::Builder::new().name("journal".to_owned());
        let thread = builder.spawn(run).map_err(JournalError::Thread)?;
        Ok(Self { groups: Some(groups), thread: Some(thread) })
    }

    /// Appends blocks that reach so far. `bytes` is emptied unless the thread is far behind; then hand them over
    /// again, with those that follow.
    pub fn append(&self, bytes: &mut Vec<u8>, position: JournalPosition) {
        let group = Group { bytes: std::mem::take(bytes), position, anew: None };
        let Some(groups) = &self.groups else { return };
        if let Err(TrySendError::Full(group)) = groups.try_send(group) {
            *bytes = group.bytes;
        }
    }

    /// Appends the last blocks, before the writer is dropped; waits where the thread is far behind.
    pub fn append_last(&self, bytes: Vec<u8>, position: JournalPosition) {
        if let Some(groups) = &self.groups {
            // A thread that has ended has reported the reason.
            groups.send(Group { bytes, position, anew: None }).ok();
        }
    }

    /// Writes the journal anew: `bytes` are blocks that hold the whole state, and follow the sequence number
    /// `before`. Returns false if the thread is far behind or has ended.
    pub fn replace(&self, bytes: Vec<u8>, before: u64, position: JournalPosition) -> bool {
        let group = Group { bytes, position, anew: Some(before) };
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
    opened: OpenJournal,
    durability: Durability,
    incoming: Receiver<Group>,
    position: JournalPosition,
}

impl WriterThread {
    fn run(&mut self, tell: &impl Fn(WriterNews)) -> Result<(), JournalError> {
        while let Ok(group) = self.incoming.recv() {
            self.write(&group)?;
            // Groups that arrived during a sync share the next one.
            while let Ok(group) = self.incoming.try_recv() {
                self.write(&group)?;
            }
            let is_synced = self.durability != Durability::Never;
            if is_synced {
                self.sync()?;
            }
            self.mark(is_synced).map_err(|source| self.failed("marked", source))?;
            let assigned_below = self.opened.assigned_below();
            tell(WriterNews::Durable { n_records: self.position.n_records, assigned_below });
        }
        self.sync()?;
        self.leave().map_err(|source| self.failed("marked", source))
    }

    fn write(&mut self, group: &Group) -> Result<(), JournalError> {
        if let Some(before) = group.anew {
            let file = write_anew(&self.opened.path, (&self.opened.name, before), &group.bytes);
            self.opened.file = file.map_err(|source| self.failed("written anew", source))?;
        } else {
            let written = self.opened.file.write_all(&group.bytes);
            written.map_err(|source| self.failed("written", source))?;
        }
        self.position = group.position;
        Ok(())
    }

    fn sync(&self) -> Result<(), JournalError> {
        self.opened.file.sync_data().map_err(|source| self.failed("written", source))
    }

    /// Writes the mark, behind the records that it covers. Numbers are reserved before any of them is reported.
    fn mark(&mut self, is_synced: bool) -> io::Result<()> {
        let before = self.opened.mark.mark();
        let JournalPosition { sequence, next, .. } = self.position;
        let synced = if is_synced { sequence } else { before.synced };
        let next = before.next.max(next.saturating_add(N_AHEAD));
        let mark = Mark { sequence, synced, next, ..before };
        if mark.next <= mark.reserved {
            return self.opened.mark.write(mark);
        }
        let reserved = mark.next.saturating_add(N_RESERVED);
        self.opened.mark.write_safely(Mark { reserved, ..mark })
    }

    /// Writes the mark of an orderly end: everything is on disk.
    fn leave(&mut self) -> io::Result<()> {
        let mark = self.opened.mark.mark();
        let (synced, next) = (mark.sequence, self.position.next);
        self.opened.mark.write_safely(Mark { synced, next, boot: 0, ..mark })
    }

    fn failed(&self, wanted: &'static str, source: io::Error) -> JournalError {
        JournalError::File { path: self.opened.path.clone(), wanted, source }
    }
}

#[cfg(test)]
mod tests;
