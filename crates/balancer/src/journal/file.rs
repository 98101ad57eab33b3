//! Opening a journal: read, mend, lock.

use std::fs::{File, OpenOptions, TryLockError};
use std::io::{self, BufReader, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};

use super::JournalError;
use super::format::{HEADER, HEADER_1, Line, encode_header, read_fully, read_lines};
use crate::book::Record;
use crate::locking::lock_soon;

const FILE: &str = "journal";
const DAMAGED: &str = "journal.damaged";
const LOCK: &str = "journal.lock";

/// A journal that is open for appending.
#[derive(Debug)]
pub struct Opened {
    /// Where it is.
    pub path: PathBuf,
    /// Behind its last record.
    pub(super) file: File,
    /// Its length.
    pub n_bytes: u64,
    /// What was wrong with it.
    pub damage: Option<Damage>,
    /// As long as this is held, no other daemon opens it.
    #[expect(dead_code, reason = "the system lets go of the lock when the file is closed")]
    lock: File,
    /// Name of the node.
    pub(super) name: String,
}

/// What could not be read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Damage {
    /// Where its bytes are now.
    pub path: PathBuf,
    /// How many they are.
    pub n_bytes: u64,
}

impl std::fmt::Display for Damage {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let path = self.path.display();
        write!(
            f,
            "the journal's last {} bytes were damaged; they are in `{path}` now",
            self.n_bytes
        )
    }
}

/// Opens the journal of the node `name` in `folder`, or begins one; `take` gets what it holds.
///
/// # Errors
/// When it cannot be read or written, is of another version or another node, or is in use.
pub fn open(folder: &Path, name: &str, take: impl FnMut(Record)) -> Result<Opened, JournalError> {
    let lock = lock(&folder.join(LOCK))?;
    let path = folder.join(FILE);
    let fail = |wanted| {
        let path = path.clone();
        move |source| JournalError::File { path, wanted, source }
    };
    let mut options = OpenOptions::new();
    let file = options.read(true).write(true).create(true).truncate(false);
    let file = file.open(&path).map_err(fail("opened"))?;
    let (n_bytes_good, found) = read_file(&file, &path, take)?;
    if let Some(found) = found.filter(|found| found != name) {
        return Err(JournalError::OtherNode { path, found, wanted: name.to_owned() });
    }
    let n_bytes_all = file.metadata().map_err(fail("read"))?.len();
    let damage = if n_bytes_good < n_bytes_all {
        let at = folder.join(DAMAGED);
        let n_bytes = keep_aside(&file, n_bytes_good, &at).map_err(fail("mended"))?;
        Some(Damage { path: at, n_bytes })
    } else {
        None
    };
    let n_bytes = begin(&file, n_bytes_good, name).map_err(fail("written"))?;
    Ok(Opened { path, file, n_bytes, damage, lock, name: name.to_owned() })
}

fn lock(path: &Path) -> Result<File, JournalError> {
    let fail = |source| JournalError::File { path: path.to_owned(), wanted: "locked", source };
    let mut options = OpenOptions::new();
    let file = options.write(true).create(true).truncate(false).open(path).map_err(fail)?;
    match lock_soon(&file) {
        Ok(()) => Ok(file),
        Err(TryLockError::WouldBlock) => Err(JournalError::InUse { path: path.to_owned() }),
        Err(TryLockError::Error(source)) => Err(fail(source)),
    }
}

/// How many bytes are good, and whose the file is. A file that was cut within its first line has none that are
/// good, and nobody's.
fn read_file(
    file: &File,
    path: &Path,
    mut take: impl FnMut(Record),
) -> Result<(u64, Option<String>), JournalError> {
    let fail = |source| JournalError::File { path: path.to_owned(), wanted: "read", source };
    let mut from = BufReader::with_capacity(1 << 16, file);
    let mut header = [0; HEADER.len()];
    let n_header = read_fully(&mut from, &mut header).map_err(fail)?;
    if ![HEADER, HEADER_1].iter().any(|known| header[..n_header] == known[..n_header]) {
        return Err(JournalError::Version { path: path.to_owned() });
    }
    let mut name = None;
    let n_bytes = read_lines(&mut from, |line| match line {
        Line::Node { name: found } => name = Some(found),
        Line::Record(record) => take(record),
    });
    let n_bytes = n_bytes.map_err(fail)?;
    Ok((if name.is_some() { n_bytes + HEADER.len() as u64 } else { 0 }, name))
}

fn keep_aside(mut file: &File, n_bytes_good: u64, at: &Path) -> io::Result<u64> {
    file.seek(SeekFrom::Start(n_bytes_good))?;
    let mut aside = OpenOptions::new().create(true).append(true).open(at)?;
    let n_bytes = io::copy(&mut file, &mut aside)?;
    aside.sync_all()?;
    file.set_len(n_bytes_good)?;
    Ok(n_bytes)
}

/// Writes the header where there is none, or one of an older version; goes to the end.
fn begin(mut file: &File, n_bytes_good: u64, name: &str) -> io::Result<u64> {
    file.seek(SeekFrom::Start(0))?;
    if n_bytes_good == 0 {
        let mut bytes = Vec::new();
        encode_header(name, &mut bytes).map_err(io::Error::other)?;
        file.write_all(&bytes)?;
    } else {
        // Only one byte of it may change, which is written or not.
        file.write_all(HEADER)?;
        file.seek(SeekFrom::Start(n_bytes_good))?;
    }
    file.sync_all()?;
    file.stream_position()
}

#[cfg(test)]
mod tests;
