//! The thread that writes a journal: groups of records, each made durable once.

use std::io::{self, Write};
use std::sync::mpsc::{Receiver, SyncSender, TrySendError, sync_channel};
use std::thread::JoinHandle;

use super::file::write_anew;
use super::mark::{Mark, N_AHEAD, N_RESERVED};
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
        /// As [`Opened::numbers_below`].
        numbers_below: u64,
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

/// How far records go.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Reach {
    /// Records since the daemon began.
    pub n_records: u64,
    /// Sequence number of the last block.
    pub sequence: u64,
    /// The number that the next task gets.
    pub next: u64,
}

/// What is written together.
#[derive(Debug)]
struct Group {
    bytes: Vec<u8>,
    reach: Reach,
    /// The sequence number before, where it takes the place of everything that was written.
    anew: Option<u64>,
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
        let reach = Reach { n_records: 0, sequence: opened.sequence, next: opened.next };
        let mut thread = WriterThread { opened, durability, incoming, reach };
        let run = move || {
            if let Err(error) = thread.run(&tell) {
                tell(WriterNews::Failed(error));
            }
        };
        let builder = std::thread::Builder::new().name("journal".to_owned());
        let thread = builder.spawn(run).map_err(|source| JournalError::Thread { source })?;
        Ok(Self { groups: Some(groups), thread: Some(thread) })
    }

    /// Appends blocks that go so far. `bytes` is emptied unless the thread is far behind; then they are to be handed
    /// over again with those that follow.
    pub fn append(&self, bytes: &mut Vec<u8>, reach: Reach) {
        let group = Group { bytes: std::mem::take(bytes), reach, anew: None };
        let Some(groups) = &self.groups else { return };
        if let Err(TrySendError::Full(group)) = groups.try_send(group) {
            *bytes = group.bytes;
        }
    }

    /// Appends the last blocks, before the writer is dropped; it waits where the thread is far behind.
    pub fn append_last(&self, bytes: Vec<u8>, reach: Reach) {
        if let Some(groups) = &self.groups {
            // A thread that has ended has said why.
            groups.send(Group { bytes, reach, anew: None }).ok();
        }
    }

    /// Writes the journal anew: `bytes` are blocks that say everything, and come behind the sequence number `before`.
    pub fn replace(&self, bytes: Vec<u8>, before: u64, reach: Reach) -> bool {
        let group = Group { bytes, reach, anew: Some(before) };
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
    reach: Reach,
}

impl WriterThread {
    fn run(&mut self, tell: &impl Fn(WriterNews)) -> Result<(), JournalError> {
        while let Ok(group) = self.incoming.recv() {
            self.write(&group)?;
            // What came while the disk was busy needs one wait for all of it.
            while let Ok(group) = self.incoming.try_recv() {
                self.write(&group)?;
            }
            let is_synced = self.durability != Durability::Never;
            if is_synced {
                self.sync()?;
            }
            self.mark(is_synced).map_err(|source| self.failed("marked", source))?;
            let numbers_below = self.opened.numbers_below();
            tell(WriterNews::Durable { n_records: self.reach.n_records, numbers_below });
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
        self.reach = group.reach;
        Ok(())
    }

    fn sync(&self) -> Result<(), JournalError> {
        self.opened.file.sync_data().map_err(|source| self.failed("written", source))
    }

    /// Says how far the journal has come, behind what it says that of. Numbers are reserved before anybody hears of one.
    fn mark(&mut self, is_synced: bool) -> io::Result<()> {
        let before = self.opened.mark.mark();
        let Reach { sequence, next, .. } = self.reach;
        let synced = if is_synced { sequence } else { before.synced };
        let next = before.next.max(next.saturating_add(N_AHEAD));
        let mark = Mark { sequence, synced, next, ..before };
        if mark.next <= mark.reserved {
            return self.opened.mark.write(mark);
        }
        let reserved = mark.next.saturating_add(N_RESERVED);
        self.opened.mark.write_safely(Mark { reserved, ..mark })
    }

    /// Everything is on disk, and what comes next is another daemon.
    fn leave(&mut self) -> io::Result<()> {
        let mark = self.opened.mark.mark();
        let (synced, next) = (mark.sequence, self.reach.next);
        self.opened.mark.write_safely(Mark { synced, next, boot: 0, ..mark })
    }

    fn failed(&self, wanted: &'static str, source: io::Error) -> JournalError {
        JournalError::File { path: self.opened.path.clone(), wanted, source }
    }
}

#[cfg(test)]
mod tests;
