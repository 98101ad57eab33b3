//! Writes results into files, each as a whole or not at all.
//!
//! # Invariants
//! - A file that this command has read is not overwritten.

use crate::exit::NotWritten;
use anyhow::{Context, anyhow};
use files::Draft;
use std::fs::File;
use std::io::Write;
use std::path::Path;

/// Writes a picture or a table.
///
/// # Errors
/// If it cannot be written, or the file was read.
pub fn write(path: &Path, text: &str) -> anyhow::Result<()> {
    write_with(path, |mut file| file.write_all(text.as_bytes()).context(NotWritten))
        .with_context(|| format!("`{}`", path.display()))
}

/// Writes a file with the content that `content` writes.
///
/// # Errors
/// As [`write()`], and if `content` fails.
pub fn write_with<T>(
    path: &Path,
    content: impl FnOnce(File) -> anyhow::Result<T>,
) -> anyhow::Result<T> {
    if crate::bounded_read::was_read(path) {
        let why = anyhow!("it is what was read; name another file");
        return Err(why.context(NotWritten));
    }
    let (file, draft) = ::files::open_output(path).context(NotWritten)?;
    let result = content(file)?;
    draft.map_or(Ok(()), Draft::publish).context(NotWritten)?;
    Ok(result)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;

    /// `sintonia messages tasks.h -o tasks.h` and `sintonia graph main.c -o main.c` left nothing of the source.
    #[test]
    fn what_was_read_is_not_written_over() {
        let folder = tempfile::tempdir().expect("a folder");
        let (source, link) = (folder.path().join("source"), folder.path().join("link"));
        fs::write(&source, "words").expect("ours");
        fs::hard_link(&source, &link).expect("ours");
        assert!(!crate::bounded_read::was_read(&source));
        crate::bounded_read::read(&source, 100).expect("it is there");
        for path in [&source, &link] {
            let said = format!("{:#}", write(path, "others").expect_err("it was read"));
            assert!(said.contains("it is what was read; name another file"), "{said}");
        }
        assert_eq!(fs::read_to_string(&source).expect("it is there"), "words");
    }

    #[test]
    fn a_folder_is_no_file() {
        let folder = tempfile::tempdir().expect("a folder");
        let folders = write(folder.path(), "words").expect_err("a folder");
        assert!(format!("{folders:#}").contains("Is a directory"), "{folders:#}");
        assert_eq!(fs::read_dir(folder.path()).expect("ours").count(), 0);
    }
}
