//! Opens a journal: locks and reads it, assesses damage, and repairs it.

use std::fs::{File, OpenOptions};
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use files::{Draft, Lock, LockError};

use super::JournalError;
use super::format::{Encoder, JournalEntry, JournalSummary, NotRead, encode_header, read};
use super::mark::{self, Mark, MarkFile, MarkState, N_AHEAD, N_RESERVED};
use crate::LOCK_LINGERS;
use crate::blocks::seed_of;
use crate::quarantine::{FileWarning, quarantine};
use node_core::book::{Book, DamageTotals, JournalRecord};

const FILE: &str = "journal";
const DAMAGED: &str = "journal.damaged";
const LOCK: &str = "journal.lock";
/// Task numbers that are skipped where nothing tells which ones were given out.
const N_PASSED_OVER: u64 = 1_000_000_000;

/// Journal that is open for appending.
#[derive(Debug)]
pub struct OpenJournal {
    /// Path of the file.
    pub path: PathBuf,
    /// The file, positioned behind its last record.
    pub(super) file: File,
    /// Length in bytes.
    pub n_bytes: u64,
    /// Damage that was found.
    pub damage: Option<FileDamage>,
    pub(super) mark: MarkFile,
    /// Lock that keeps other daemons from opening the journal.
    #[expect(dead_code, reason = "the lock is let go of when this is dropped")]
    lock: Lock,
    /// Name of the node.
    pub(super) name: String,
    pub(super) sequence: u64,
    /// Number of the next task.
    pub(super) next: u64,
}

/// Damage of a journal.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FileDamage {
    /// Path of the file as it was found.
    pub path: PathBuf,
    /// Number of unreadable bytes.
    pub n_bytes: u64,
    /// Number of missing records, as far as it is known.
    pub n_missing: u64,
}

impl OpenJournal {
    /// Warning to report to users until they remove the damaged file, whether it was damaged now or before.
    pub(crate) fn file_warning(&self, damages: DamageTotals) -> Option<FileWarning> {
        let path = self.path.with_file_name(DAMAGED);
        let sentence = (0 < damages.n_times).then(|| sentence(damages, &path))?;
        Some(FileWarning { path, sentence })
    }

    /// Bound on the task numbers that may be given out: whatever happens, none below it is given out again.
    pub fn assigned_below(&self) -> u64 {
        self.mark.mark().next
    }

    /// Encoder of the blocks that follow.
    pub fn encoder(&self) -> Encoder {
        Encoder::new(&self.name, self.sequence)
    }
}

fn sentence(damages: DamageTotals, aside: &Path) -> String {
    let DamageTotals { n_bytes, n_missing, .. } = damages;
    let missing = match n_missing {
        0 => "it is not known how many records are missing".to_owned(),
        1 => "1 record is missing".to_owned(),
        n => format!("{n} records are missing"),
    };
    let aside = aside.display();
    format!(
        "the journal was damaged ({n_bytes} bytes unreadable, {missing}): tasks may be missing, or run again after \
         they ended; the damaged file is kept as `{aside}`; remove it to clear this warning"
    )
}

/// Conclusions from a journal and its mark together.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct IntegrityCheck {
    /// True if records are missing, whether others follow or not.
    is_damaged: bool,
    /// True if records at the end are missing.
    has_lost_end: bool,
    n_missing: u64,
    /// Least number of the next task.
    next: u64,
}

/// Opens the journal of the node `name` in `folder`, or begins one, and applies its records to the book. `now_ms`
/// is the present, in milliseconds since 1970.
///
/// # Errors
/// When it cannot be read or written, is of another version or another node, or is in use.
pub fn open(
    folder: &Path,
    name: &str,
    now_ms: u64,
    book: &mut Book,
) -> Result<OpenJournal, JournalError> {
    let lock = lock(folder.join(LOCK))?;
    let path = folder.join(FILE);
    let fail = |wanted| {
        let path = path.clone();
        move |source| JournalError::File { path, wanted, source }
    };
    let bytes = read_file(&path).map_err(fail("read"))?;
    let contents = read(&bytes, name, |entry| match entry {
        JournalEntry::Record(record) => book.apply(&record),
        JournalEntry::Hole => book.apply(&JournalRecord::Doubted { first: 1, last: u64::MAX }),
    });
    let contents = contents.map_err(|error| match error {
        NotRead::Unknown => JournalError::Version(path.clone()),
        NotRead::OtherNode(found) => {
            JournalError::OtherNode { path: path.clone(), found, wanted: name.to_owned() }
        }
    })?;
    let found = mark::read(folder, seed_of(name)).map_err(fail("read"))?;
    let integrity = check_integrity(&contents, found, mark::boot());
    let damage = integrity.is_damaged.then(|| FileDamage {
        path: folder.join(DAMAGED),
        n_bytes: contents.n_bytes_bad,
        n_missing: integrity.n_missing,
    });
    if let Some(FileDamage { n_bytes, n_missing, .. }) = damage {
        if integrity.has_lost_end {
            book.apply(&JournalRecord::Doubted { first: 1, last: u64::MAX });
        }
        book.apply(&JournalRecord::Damaged { at_ms: now_ms, n_bytes, n_missing });
        quarantine(&path, &folder.join(DAMAGED)).map_err(fail("kept aside"))?;
    }
    book.apply(&JournalRecord::Next(integrity.next));
    let before = begun(found, &contents, book.next_number());
    let mark_as = |mark| MarkFile::create(folder, seed_of(name), mark).map_err(fail("marked"));
    if found == MarkState::Missing && damage.is_none() {
        // A journal of this version without a mark counts as damaged, so the mark is written first.
        mark_as(before)?;
    }
    // Where a power failure has lost blocks, sequence numbers go on behind a gap, and so in a journal written anew.
    let is_good =
        contents.is_current && damage.is_none() && contents.sequence == Some(before.sequence);
    let written = match is_good {
        true => go_on(&path, contents.tail.unwrap_or(bytes.len() as u64), before.sequence),
        false => anew(&path, name, before.sequence, book),
    };
    let (file, n_bytes, sequence) = written.map_err(fail("written"))?;
    // Only now: damage that only the old mark proves must stay provable until the journal records it.
    let mark = mark_as(Mark { sequence, synced: sequence, ..before })?;
    let (name, next) = (name.to_owned(), book.next_number());
    Ok(OpenJournal { path, file, n_bytes, damage, mark, lock, name, sequence, next })
}

fn lock(path: PathBuf) -> Result<Lock, JournalError> {
    let by = format!("process {}", std::process::id());
    Lock::take(&path, &by, LOCK_LINGERS).map_err(|error| match error {
        LockError::Held { .. } => JournalError::InUse(path),
        LockError::Unsupported(source) | LockError::File(source) => {
            JournalError::File { path, wanted: "locked", source }
        }
    })
}

fn read_file(path: &Path) -> io::Result<Vec<u8>> {
    match std::fs::read(path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(Vec::new()),
        read => read,
    }
}

/// Finds out whether records are missing, and which task numbers may have been given out.
///
/// An incomplete last record is one that a killed daemon was writing, and no client was told of it. The mark, which
/// says how far the journal had come, tells it from a record that was once complete.
fn check_integrity(contents: &JournalSummary, found: MarkState, boot: u64) -> IntegrityCheck {
    let came_to = contents.sequence.unwrap_or(0);
    let (n_lost, is_mark_damaged) = match found {
        MarkState::Whole(mark) => {
            // Records that were not yet on disk when the machine lost power are no damage.
            let is_same_run = mark.boot == 0 || mark.boot == boot;
            let sequence = if is_same_run { mark.sequence } else { mark.synced };
            (sequence.saturating_sub(came_to), false)
        }
        MarkState::Damaged(mark) => {
            (mark.map_or(0, |mark| mark.sequence.saturating_sub(came_to)), true)
        }
        MarkState::Missing => (0, contents.is_current || contents.sequence.is_some()),
    };
    let has_lost_end = 0 < n_lost || is_mark_damaged || contents.is_tail_damaged;
    let is_damaged = contents.has_holes || has_lost_end;
    let next = match found {
        MarkState::Whole(mark) if !is_damaged && (mark.boot == 0 || mark.boot == boot) => mark.next,
        MarkState::Whole(mark) | MarkState::Damaged(Some(mark)) => mark.next.max(mark.reserved),
        MarkState::Damaged(None) | MarkState::Missing if is_damaged => {
            contents.number_max.saturating_add(N_PASSED_OVER)
        }
        MarkState::Damaged(None) | MarkState::Missing => 1,
    };
    let next = next.max(contents.number_max.saturating_add(1));
    IntegrityCheck { is_damaged, has_lost_end, n_missing: contents.n_missing + n_lost, next }
}

/// Mark of a journal that is about to be written to. Sequence numbers go on behind all that were ever used.
fn begun(found: MarkState, contents: &JournalSummary, next: u64) -> Mark {
    let sequence = match found {
        MarkState::Whole(mark) | MarkState::Damaged(Some(mark)) => mark.sequence,
        MarkState::Damaged(None) | MarkState::Missing => 0,
    };
    let sequence = sequence.max(contents.sequence.unwrap_or(0));
    let next = next.saturating_add(N_AHEAD);
    let reserved = next.saturating_add(N_RESERVED);
    Mark { sequence, synced: sequence, next, reserved, boot: mark::boot() }
}

/// Continues behind the last record; an incomplete record is cut off.
fn go_on(path: &Path, n_bytes: u64, sequence: u64) -> io::Result<(File, u64, u64)> {
    let file = OpenOptions::new().write(true).open(path)?;
    file.set_len(n_bytes)?;
    file.sync_all()?;
    drop(file);
    let file = OpenOptions::new().append(true).open(path)?;
    Ok((file, n_bytes, sequence))
}

/// Writes the journal anew from the book.
fn anew(path: &Path, name: &str, sequence: u64, book: &mut Book) -> io::Result<(File, u64, u64)> {
    let mut encoder = Encoder::new(name, sequence);
    let mut bytes = Vec::new();
    encoder.encode_book(book, &mut bytes).map_err(io::Error::other)?;
    let file = write_anew(path, (name, sequence), &bytes)?;
    let n_bytes = file.metadata()?.len();
    Ok((file, n_bytes, encoder.sequence()))
}

/// Replaces the journal by these blocks, which follow that sequence number.
pub(super) fn write_anew(
    path: &Path,
    (name, sequence): (&str, u64),
    bytes: &[u8],
) -> io::Result<File> {
    let mut header = Vec::new();
    encode_header(name, sequence, &mut header).map_err(io::Error::other)?;
    let draft = Draft::of(path);
    let mut file = draft.create(0o600)?;
    file.write_all(&header)?;
    file.write_all(bytes)?;
    draft.publish_durably(&file)?;
    Ok(file)
}

#[cfg(test)]
mod tests;
