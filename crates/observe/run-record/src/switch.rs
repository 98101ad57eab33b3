//! File by which a user switches tuning on or off while the program runs: one word.
//!
//! # Invariants
//! - Only a file of this user counts, in which nobody else may write, and which is no link.

use crate::file_error::FileError;
use std::io::{Read, Write};
use std::path::Path;

const ON: &str = "on";
const OFF: &str = "off";

/// Longest content that is read, in bytes.
const BYTES_MAX: u64 = 16;

/// Reads the word; `None` if there is none, or the file is not to be trusted.
pub fn read(path: &Path) -> Option<bool> {
    let file = files::private::open_file(path, false).ok()?;
    let mut text = String::new();
    file.take(BYTES_MAX).read_to_string(&mut text).ok()?;
    match text.trim() {
        ON => Some(true),
        OFF => Some(false),
        _ => None,
    }
}

/// Writes the word.
///
/// # Errors
/// When the file cannot be written, or is another user's.
pub fn write(path: &Path, is_on: bool) -> Result<(), FileError> {
    let fail = |error| FileError::new(path, error);
    let mut file = files::private::make_file(path).map_err(fail)?;
    let word = if is_on { ON } else { OFF };
    file.set_len(0).map_err(fail)?;
    file.write_all(format!("{word}\n").as_bytes()).map_err(fail)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_word_in_a_file_of_our_own_counts() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("tune");
        assert_eq!(read(&path), None);
        for is_on in [false, true, false] {
            write(&path, is_on).unwrap();
            assert_eq!(read(&path), Some(is_on));
        }
        let link = folder.path().join("link");
        std::os::unix::fs::symlink(&path, &link).unwrap();
        assert_eq!(read(&link), None);
        std::fs::write(&path, "offside").unwrap();
        assert_eq!(read(&path), None);
    }
}
