//! Reads files that users name into memory, up to a limit: no file takes all of the memory, however long or endless.
//!
//! The files that were read are remembered, so that no result is written over them.
//!
//! # Not here
//! Files in folders of `sintonia` that are read piece by piece (`run_record`), and files of the system.

use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom};
use std::os::unix::fs::MetadataExt;
use std::path::Path;
use std::sync::{Mutex, MutexGuard, PoisonError};

/// Most bytes of a file that a user writes: a description, a plan, a header, a list of hosts.
pub const WRITTEN_BYTES_MAX: u64 = 16 << 20;
/// Most bytes of a file that programs write: measurements, models, journals, reports.
pub const MEASURED_BYTES_MAX: u64 = 256 << 20;

/// Bytes at the end of a file that are read for its last lines.
const END_BYTES: u64 = 64 << 10;

/// Device and inode of each file that [`read`] has read.
static INPUTS: Mutex<Vec<(u64, u64)>> = Mutex::new(Vec::new());

fn inputs() -> MutexGuard<'static, Vec<(u64, u64)>> {
    INPUTS.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Returns whether this file, by whatever name, was read as an input.
pub fn was_read(path: &Path) -> bool {
    let found = std::fs::metadata(path).ok().filter(std::fs::Metadata::is_file);
    found.is_some_and(|found| inputs().contains(&(found.dev(), found.ino())))
}

/// Reads a file that has at most this many bytes.
///
/// # Errors
/// If it cannot be read, or is longer.
pub fn read(path: &Path, n_bytes_max: u64) -> io::Result<Vec<u8>> {
    let file = File::open(path)?;
    let found = file.metadata()?;
    inputs().push((found.dev(), found.ino()));
    if found.is_dir() {
        return Err(io::Error::new(io::ErrorKind::IsADirectory, "it is a folder; name a file"));
    }
    read_from(file, n_bytes_max)
}

/// Reads the text of a file, as [`read`].
///
/// # Errors
/// If it cannot be read, is longer, or is no text.
pub fn read_text(path: &Path, n_bytes_max: u64) -> io::Result<String> {
    let no_text = || io::Error::new(io::ErrorKind::InvalidData, "it is not text in UTF-8");
    text(&read(path, n_bytes_max)?).ok_or_else(no_text)
}

/// Decodes text as editors of all systems save it: in UTF-8 or marked as UTF-16, with any line endings.
pub fn text(bytes: &[u8]) -> Option<String> {
    let text = match bytes {
        [0xff, 0xfe, rest @ ..] => utf16(rest, u16::from_le_bytes),
        [0xfe, 0xff, rest @ ..] => utf16(rest, u16::from_be_bytes),
        [0xef, 0xbb, 0xbf, rest @ ..] => std::str::from_utf8(rest).ok().map(str::to_owned),
        _ => std::str::from_utf8(bytes).ok().map(str::to_owned),
    }?;
    Some(if text.contains('\n') { text } else { text.replace('\r', "\n") })
}

fn utf16(bytes: &[u8], unit: fn([u8; 2]) -> u16) -> Option<String> {
    let (units, rest) = bytes.as_chunks::<2>();
    let letters = char::decode_utf16(units.iter().map(|bytes| unit(*bytes)));
    letters.collect::<Result<String, _>>().ok().filter(|_| rest.is_empty())
}

/// Reads the last bytes of a file that a command wrote, enough for its last lines.
///
/// # Errors
/// If it cannot be read.
pub fn read_end(path: &Path) -> io::Result<Vec<u8>> {
    let mut file = File::open(path)?;
    let n_bytes = file.metadata()?.len();
    file.seek(SeekFrom::Start(n_bytes.saturating_sub(END_BYTES)))?;
    let mut bytes = Vec::new();
    file.take(END_BYTES).read_to_end(&mut bytes)?;
    Ok(bytes)
}

/// Reads an open file or a pipe that has at most this many bytes.
///
/// # Errors
/// As [`read`].
pub fn read_from(input: impl Read, n_bytes_max: u64) -> io::Result<Vec<u8>> {
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

    /// A byte order mark, UTF-16 or lone carriage returns made a file seem empty or one line long.
    #[test]
    fn text_is_read_as_editors_save_it() {
        let units = || "\u{feff}a\nä".encode_utf16();
        let little: Vec<u8> = units().flat_map(u16::to_le_bytes).collect();
        let big: Vec<u8> = units().flat_map(u16::to_be_bytes).collect();
        let marked = "\u{feff}a\nä".as_bytes();
        for bytes in ["a\nä".as_bytes(), marked, "a\rä".as_bytes(), &little, &big] {
            assert_eq!(text(bytes).as_deref(), Some("a\nä"), "{bytes:?}");
        }
        for bytes in [&b"\xff\xfea"[..], b"\xff\xfe\x00\xd8", b"a\xe4"] {
            assert_eq!(text(bytes), None, "{bytes:?}");
        }
    }

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
