//! Files that users name, read into memory: no file is so long, or so endless, that it takes all of it.
//!
//! # Not here
//! Files below a folder of ours that are read piece by piece (`run_record`), and those of the system.

use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom};
use std::path::Path;

/// Most bytes of a file that a person writes: a description, a plan, a header, a list of hosts.
pub(crate) const WRITTEN_BYTES_MAX: u64 = 16 << 20;
/// Most bytes of a file that programs write: measurements, models, journals, reports.
pub(crate) const MEASURED_BYTES_MAX: u64 = 256 << 20;

/// Bytes at the end of a file that are read for its last lines.
const END_BYTES: u64 = 64 << 10;

/// The bytes of a file, if they are no more than this.
///
/// # Errors
/// When it cannot be read, or is longer.
pub(crate) fn read(path: &Path, n_bytes_max: u64) -> io::Result<Vec<u8>> {
    let file = File::open(path)?;
    if file.metadata()?.is_dir() {
        return Err(io::Error::new(io::ErrorKind::IsADirectory, "it is a folder; name a file"));
    }
    read_from(file, n_bytes_max)
}

/// The text of a file, as [`read`].
///
/// # Errors
/// When it cannot be read, is longer, or is no UTF-8.
pub(crate) fn read_text(path: &Path, n_bytes_max: u64) -> io::Result<String> {
    let no_text = |_| io::Error::new(io::ErrorKind::InvalidData, "it is no text in UTF-8");
    String::from_utf8(read(path, n_bytes_max)?).map_err(no_text)
}

/// The last bytes of a file that others wrote, enough for its last lines.
///
/// # Errors
/// When it cannot be read.
pub(crate) fn read_end(path: &Path) -> io::Result<Vec<u8>> {
    let mut file = File::open(path)?;
    let n_bytes = file.metadata()?.len();
    file.seek(SeekFrom::Start(n_bytes.saturating_sub(END_BYTES)))?;
    let mut bytes = Vec::new();
    file.take(END_BYTES).read_to_end(&mut bytes)?;
    Ok(bytes)
}

/// The bytes of an open file or a pipe, if they are no more than this.
///
/// # Errors
/// As [`read`].
pub(crate) fn read_from(input: impl Read, n_bytes_max: u64) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    input.take(n_bytes_max + 1).read_to_end(&mut bytes)?;
    if n_bytes_max < bytes.len() as u64 {
        let n_mib = n_bytes_max >> 20;
        let what =
            format!("it is longer than {n_mib} MiB, the most that is read; give a shorter one");
        return Err(io::Error::new(io::ErrorKind::FileTooLarge, what));
    }
    Ok(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// `/dev/zero` as an input took all memory.
    #[test]
    fn what_has_no_end_is_refused() {
        let said = read(Path::new("/dev/zero"), WRITTEN_BYTES_MAX).unwrap_err();
        assert_eq!(said.kind(), io::ErrorKind::FileTooLarge);
        assert_eq!(
            said.to_string(),
            "it is longer than 16 MiB, the most that is read; give a shorter one"
        );
        assert!(read(Path::new("/"), WRITTEN_BYTES_MAX).is_err());
        assert_eq!(read_from(&b"abc"[..], 3).unwrap(), b"abc");
        assert!(read_from(&b"abcd"[..], 3).is_err());
    }
}
