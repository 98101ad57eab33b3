//! How far a journal had come, in a second file: what its end must not have lost, and which numbers are given out.
//!
//! `journal.mark` holds two blocks, a page apart, which are written in turn after each group of records. What is
//! written there costs no wait for the disk: a daemon that is killed leaves it in the system. Only numbers are
//! *reserved* on disk, many at once and before one of them is given out, for machines that lose their power.
//!
//! # Invariants
//! - No number below `next`, nor, where the machine went down or a file is damaged, below `reserved`, is given out again.

use std::fs::{File, OpenOptions};
use std::io;
use std::os::unix::fs::{FileExt, OpenOptionsExt};
use std::path::Path;

use serde::{Deserialize, Serialize};

use crate::blocks::{self, Blocks, Found, HEAD_BYTES, Kind};

pub(super) const FILE: &str = "journal.mark";
const KIND: Kind = Kind { magic: *b"\xa7JM\x01", payload_bytes_max: 256 };
/// The two lie as far apart as a disk's sectors.
const SLOT_BYTES: u64 = 4096;
const N_SLOTS: u64 = 2;
/// Numbers that are reserved at once.
pub(super) const N_RESERVED: u64 = 10_000;
/// Numbers by which the mark is ahead of the records: tasks of these start without a wait for their records.
pub(super) const N_AHEAD: u64 = 256;

/// How far a journal had come.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Mark {
    /// Sequence number of its last block.
    pub(super) sequence: u64,
    /// Sequence number of the last block that was on disk.
    pub(super) synced: u64,
    /// Numbers below this one may have been given out; where the daemon left in good order it is the next.
    pub(super) next: u64,
    /// The same on a machine that went down.
    pub(super) reserved: u64,
    /// The run of the machine; 0 when the daemon left in good order, with everything on disk.
    pub(super) boot: u64,
}

/// What was found of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum FoundMark {
    /// There is no file.
    Missing,
    /// The newest, if any; one of the two blocks, or both, are not what was written.
    Damaged(Option<Mark>),
    /// It is whole.
    Whole(Mark),
}

/// The file, open for writing.
#[derive(Debug)]
pub(super) struct MarkFile {
    file: File,
    seed: u32,
    n_written: u64,
    mark: Mark,
}

/// What is left of it.
pub(super) fn read(folder: &Path, seed: u32) -> io::Result<FoundMark> {
    match std::fs::read(folder.join(FILE)) {
        Ok(bytes) => Ok(found_in(&bytes, seed).map_or(FoundMark::Damaged(None), |found| found.0)),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(FoundMark::Missing),
        Err(error) => Err(error),
    }
}

/// What these bytes say, and how often the file was written.
fn found_in(bytes: &[u8], seed: u32) -> Option<(FoundMark, u64)> {
    let slot = |slot: u64| {
        let begin = usize::try_from(slot * SLOT_BYTES).ok()?;
        let end = bytes.len().min(begin + usize::try_from(SLOT_BYTES).ok()?);
        let mut blocks = Blocks::new(KIND, seed, bytes.get(begin..end)?, None);
        let Some(Found::Block { sequence, payload }) = blocks.next() else { return None };
        Some((sequence, postcard::from_bytes::<Mark>(payload).ok()?))
    };
    let slots = [slot(0), slot(1)];
    let (n_written, mark) = slots.iter().flatten().max_by_key(|(sequence, _)| *sequence)?;
    let is_whole = slots.iter().all(Option::is_some);
    let found = if is_whole { FoundMark::Whole(*mark) } else { FoundMark::Damaged(Some(*mark)) };
    Some((found, *n_written))
}

impl MarkFile {
    /// Begins the file anew.
    pub(super) fn create(folder: &Path, seed: u32, mark: Mark) -> io::Result<Self> {
        let path = folder.join(FILE);
        let n_written = std::fs::read(&path).ok().and_then(|bytes| found_in(&bytes, seed));
        let n_written = n_written.map_or(0, |(_, n_written)| n_written);
        let mut options = OpenOptions::new();
        let file = options.write(true).create(true).truncate(false).mode(0o600).open(&path)?;
        let mut file = Self { file, seed, n_written, mark };
        file.write_safely(mark)?;
        File::open(folder)?.sync_all()?;
        Ok(file)
    }

    /// What it says.
    pub(super) fn mark(&self) -> Mark {
        self.mark
    }

    /// Writes it into both places, and waits for the disk.
    pub(super) fn write_safely(&mut self, mark: Mark) -> io::Result<()> {
        (0..N_SLOTS).try_for_each(|_| self.write(mark))?;
        self.file.sync_data()
    }

    /// Writes it.
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

/// Tells one run of the machine from the next; never 0.
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
        // In memory, as it is written thousands of times.
        let folder = tempfile::tempdir_in("/dev/shm").unwrap();
        assert_eq!(read(folder.path(), 5).unwrap(), FoundMark::Missing);
        let mut file = MarkFile::create(folder.path(), 5, Mark::default()).unwrap();
        file.write(MARK).unwrap();
        assert_eq!(read(folder.path(), 5).unwrap(), FoundMark::Whole(MARK));
        assert_eq!(read(folder.path(), 6).unwrap(), FoundMark::Damaged(None), "another node's");
        let path = folder.path().join(FILE);
        let bytes = std::fs::read(&path).unwrap();
        for at in (0..bytes.len()).filter(|at| bytes[*at] != 0) {
            let mut damaged = bytes.clone();
            damaged[at] ^= 0x10;
            std::fs::write(&path, damaged).unwrap();
            let found = read(folder.path(), 5).unwrap();
            assert!(matches!(found, FoundMark::Damaged(Some(_))), "{at}: {found:?}");
        }
        for n_bytes in 0..bytes.len() {
            std::fs::write(&path, &bytes[..n_bytes]).unwrap();
            assert!(!matches!(read(folder.path(), 5).unwrap(), FoundMark::Whole(_)), "{n_bytes}");
        }
        std::fs::write(&path, &bytes).unwrap();
        let again = MarkFile::create(folder.path(), 5, MARK).unwrap();
        assert_eq!(again.mark(), MARK);
        assert_eq!(read(folder.path(), 5).unwrap(), FoundMark::Whole(MARK));
    }
}
