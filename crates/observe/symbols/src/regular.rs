//! Opening of regular files only.
//!
//! The names of mapped files come from memory that the process may have overwritten: reading a pipe of such a name
//! would never end, and a device might do anything.

use std::fs::{File, OpenOptions};
use std::io::{self, Read};
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;

/// Opens the file at `path`.
///
/// # Errors
/// When the file cannot be opened, or is not a regular file.
pub(crate) fn open(path: &Path) -> io::Result<File> {
    // Does not wait for the other end of a pipe.
    let file = OpenOptions::new().read(true).custom_flags(libc::O_NONBLOCK).open(path)?;
    let why = "it is no regular file";
    let is_regular = file.metadata()?.is_file();
    is_regular.then_some(file).ok_or_else(|| io::Error::new(io::ErrorKind::InvalidInput, why))
}

/// Reads all bytes of the file at `path`.
///
/// # Errors
/// As [`open`], or when it cannot be read.
pub(crate) fn read(path: &Path) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    open(path)?.read_to_end(&mut bytes)?;
    Ok(bytes)
}
