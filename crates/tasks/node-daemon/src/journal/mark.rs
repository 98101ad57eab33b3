//! Mark of a journal, in a second file: its last sequence number, so that a missing end is noticed, and the task
//! numbers that are given out.
//!
//! `journal.mark` holds two blocks, a page apart, which are written in turn after each group of records. These
//! writes do not wait for the disk: after a daemon is killed, the operating system still has them. Only the
//! *reservation* of numbers is synced, many at once and before one of them is given out, for the case of a power
//! failure.
//!
//! # Invariants
//! - No number below `next` is given out again, nor, after the machine went down or a file was damaged, one below
//!   `reserved`.

use std::fs::{File, OpenOptions};
use std::io;
use std::os::unix::fs::{FileExt, OpenOptionsExt};
use std::path::Path;

use serde::{Deserialize, Serialize};

use crate::blocks::{self, BlockFileKind, BlockItem, Blocks, HEAD_BYTES};

pub(super) const FILE: &str = "journal.mark";
const KIND: BlockFileKind = BlockFileKind { magic: *b"\xa7JM\x01", payload_bytes_max: 256 };
/// Distance of the two blocks in bytes, at least a sector of the disk.
const SLOT_BYTES: u64 = 4096;
const N_SLOTS: u64 = 2;
/// Number of task numbers that are reserved at once.
pub(super) const N_RESERVED: u64 = 10_000;
/// Number of task numbers by which the mark is ahead of the records: these tasks start without waiting for their
/// records.
pub(super) const N_AHEAD: u64 = 256;

/// State of a journal at its last write.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Mark {
    /// Sequence number of the last block.
    pub(super) sequence: u64,
    /// Sequence number of the last block that was on disk.
    pub(super) synced: u64,
    /// Bound below which numbers may have been given out; after an orderly end of the daemon, the next number.
    pub(super) next: u64,
    /// The same bound for when the machine went down.
    pub(super) reserved: u64,
    /// Boot of the machine; 0 after an orderly end of the daemon, with everything on disk.
    pub(super) boot: u64,
}

/// State of the file that was found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum MarkState {
    /// The file is missing.
    Missing,
    /// One of the two blocks, or both, are damaged; holds the newest undamaged one, if any.
    Damaged(Option<Mark>),
    /// Both blocks are undamaged.
    Whole(Mark),
}

/// Mark file that is open for writing.
#[derive(Debug)]
pub(super) struct MarkFile {
    file: File,
    seed: u32,
    n_written: u64,
    mark: Mark,
}

/// Reads the mark file.
pub(super) fn read(folder: &Path, seed: u32) -> io::Result<MarkState> {
    match std::fs::read(folder.join(FILE)) {
        Ok(bytes) => Ok(found_in(&bytes, seed).map_or(MarkState::Damaged(None), |found| found.0)),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(MarkState::Missing),
        Err(error) => Err(error),
    }
}

/// Mark in these bytes, and how often the file was written.
fn found_in(bytes: &[u8], seed: u32) -> Option<(MarkState, u64)> {
    let slot = |slot: u64| {
        let begin = usize::try_from(slot * SLOT_BYTES).ok()?;
        let end = bytes.len().min(begin + usize::try_from(SLOT_BYTES).ok()?);
        let mut blocks = Blocks::new(KIND, seed, bytes.get(begin..end)?, None);
        let Some(BlockItem::Block { sequence, payload }) = blocks.next() else { return None };
        Some((sequence, postcard::from_bytes::<Mark>(payload).ok()?))
    };
    let slots = [slot(0), slot(1)];
    let (n_written, mark) = slots.iter().flatten().max_by_key(|(sequence, _)| *sequence)?;
    let is_whole = slots.iter().all(Option::is_some);
    let found = if is_whole { MarkState::Whole(*mark) } else { MarkState::Damaged(Some(*mark)) };
    Some((found, *n_written))
}

impl MarkFile {
    /// Opens the file, and writes `mark` into both places.
    pub(super) fn create(folder: &Path, seed: u32, mark: Mark) -> io::Result<Self> {
        let path = folder.join(FILE);
        let n_written = std::fs::read(&path).ok().and_then(|bytes| found_in(&bytes, seed));
        let n_written = n_written.map_or(0, |(_, n_written)| n_written);
        let mut options = OpenOptions::new();
        let file = options.write(true).create(true).truncate(false).mode(0o600).open(&path)?;
        let mut file = Self { file, seed, n_written, mark };
        file.write_safely(mark)?;
        files::sync_folder(folder)?;
        Ok(file)
    }

    /// The mark as last written.
    pub(super) fn mark(&self) -> Mark {
        self.mark
    }

    /// Writes a mark into both places, and waits for the disk.
    pub(super) fn write_safely(&mut self, mark: Mark) -> io::Result<()> {
        (0..N_SLOTS).try_for_each(|_| self.write(mark))?;
        self.file.sync_data()
    }

    /// Writes a mark into the older place, without waiting for the disk.
    pub(super) fn write(&mut self, mark: Mark) -> io::Result<()> {
        self.n_written += 1;
        let mut bytes = Vec::with_capacity(HEAD_BYTES + 64);
        let begin = blocks::open(&mut bytes);
        let mut bytes = postcard::to_extend(&mark, bytes).map_err(io::Error::other)?;
        blocks::seal(KIND, self.seed, self.n_written, begin, &mut bytes);
        self.file.write_all_at(&bytes, self.n_written % N_SLOTS * SLOT_BYTES)?;
        self.mark = mark;
        Ok(())
    }
}

/// Number that tells one boot of the machine from the next; never 0.
pub(super) fn boot() -> u64 {
    let id = std::fs::read("/proc/sys/kernel/random/boot_id").unwrap_or_default();
    u64::from(crc32fast::hash(&id)) + 1
}

#[cfg(test)]
mod tests {
    use super::*;

    const MARK: Mark = Mark { sequence: 9, synced: 8, next: 7, reserved: 10_007, boot: 3 };

    #[test]
    fn the_newest_counts_and_one_of_two_that_is_damaged_is_noticed() {
        // In memory, since it is written thousands of times.
        let folder = tempfile::tempdir_in("/dev/shm").unwrap();
        assert_eq!(read(folder.path(), 5).unwrap(), MarkState::Missing);
        let mut file = MarkFile::create(folder.path(), 5, Mark::default()).unwrap();
        file.write(MARK).unwrap();
        assert_eq!(read(folder.path(), 5).unwrap(), MarkState::Whole(MARK));
        assert_eq!(read(folder.path(), 6).unwrap(), MarkState::Damaged(None), "another node's");
        let path = folder.path().join(FILE);
        let bytes = std::fs::read(&path).unwrap();
        for at in (0..bytes.len()).filter(|at| bytes[*at] != 0) {
            let mut damaged = bytes.clone();
            damaged[at] ^= 0x10;
            std::fs::write(&path, damaged).unwrap();
            let found = read(folder.path(), 5).unwrap();
            assert!(matches!(found, MarkState::Damaged(Some(_))), "{at}: {found:?}");
        }
        for n_bytes in 0..bytes.len() {
            std::fs::write(&path, &bytes[..n_bytes]).unwrap();
            assert!(!matches!(read(folder.path(), 5).unwrap(), MarkState::Whole(_)), "{n_bytes}");
        }
        std::fs::write(&path, &bytes).unwrap();
        let again = MarkFile::create(folder.path(), 5, MARK).unwrap();
        assert_eq!(again.mark(), MARK);
        assert_eq!(read(folder.path(), 5).unwrap(), MarkState::Whole(MARK));
    }
}
