//! Writes results into files.
//!
//! # Invariants
//! - A file appears only when it is complete; where the path is a link, the file behind it is replaced, not the link.
//! - A file that this command has read is not overwritten.
//! - Anything but a file is written into and stays what it is: a device, a pipe, what a shell put at `/dev/stdout`.

use crate::exit::NotWritten;
use anyhow::{Context, anyhow};
use std::fs::{self, File};
use std::io::Write;
use std::path::Path;

/// Folders of the system: a name below these stands for something that is open elsewhere.
const OF_THE_SYSTEM: [&str; 2] = ["/dev", "/proc"];

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
/// As [`write`], and if `content` fails.
pub fn write_with<T>(
    path: &Path,
    content: impl FnOnce(File) -> anyhow::Result<T>,
) -> anyhow::Result<T> {
    if crate::files::was_read(path) {
        let why = anyhow!("it is what was read; name another file");
        return Err(why.context(NotWritten));
    }
    let is_other = fs::metadata(path).is_ok_and(|found| !found.is_file() && !found.is_dir());
    if is_other || OF_THE_SYSTEM.iter().any(|folder| path.starts_with(folder)) {
        return content(File::options().write(true).open(path).context(NotWritten)?);
    }
    let path = fs::canonicalize(path).unwrap_or_else(|_| path.to_owned());
    let partial = path.with_added_extension("partial");
    let placed = File::create(&partial).context(NotWritten).and_then(content).and_then(|result| {
        fs::rename(&partial, &path).context(NotWritten)?;
        Ok(result)
    });
    if placed.is_err() {
        fs::remove_file(&partial).ok();
    }
    placed
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Read;
    use std::process::Command;

    /// `sintonia fit -o /dev/null` by root turned the device into a file, for the whole machine; so did every other
    /// option that names a file to write.
    #[test]
    fn what_is_no_file_is_written_into_and_stays() {
        let folder = tempfile::tempdir().expect("a folder");
        let pipe = folder.path().join("pipe");
        assert!(Command::new("mkfifo").arg(&pipe).status().expect("mkfifo").success());
        let reader = std::thread::spawn({
            let pipe = pipe.clone();
            move || {
                let mut text = String::new();
                File::open(pipe).and_then(|mut pipe| pipe.read_to_string(&mut text)).expect("read");
                text
            }
        });
        write(&pipe, "words").expect("the pipe has a reader");
        assert!(!fs::metadata(&pipe).expect("it is there").is_file());
        assert_eq!(reader.join().expect("it ends"), "words");
        assert_eq!(fs::read_dir(folder.path()).expect("ours").count(), 1);
    }

    /// `sintonia messages tasks.h -o tasks.h` and `sintonia graph main.c -o main.c` left nothing of the source.
    #[test]
    fn what_was_read_is_not_written_over() {
        let folder = tempfile::tempdir().expect("a folder");
        let (source, link) = (folder.path().join("source"), folder.path().join("link"));
        fs::write(&source, "words").expect("ours");
        fs::hard_link(&source, &link).expect("ours");
        assert!(!crate::files::was_read(&source));
        crate::files::read(&source, 100).expect("it is there");
        for path in [&source, &link] {
            let said = format!("{:#}", write(path, "others").expect_err("it was read"));
            assert!(said.contains("it is what was read; name another file"), "{said}");
        }
        assert_eq!(fs::read_to_string(&source).expect("it is there"), "words");
    }

    #[test]
    fn a_link_stays_a_link() {
        let folder = tempfile::tempdir().expect("a folder");
        let (file, link) = (folder.path().join("file"), folder.path().join("link"));
        fs::write(&file, "before").expect("ours");
        std::os::unix::fs::symlink(&file, &link).expect("ours");
        write(&link, "after").expect("ours");
        assert_eq!(fs::read_to_string(&file).expect("it is there"), "after");
        assert!(fs::symlink_metadata(&link).expect("it is there").is_symlink());
        let folders = write(folder.path(), "words").expect_err("a folder");
        assert!(format!("{folders:#}").contains("Is a directory"), "{folders:#}");
    }
}
