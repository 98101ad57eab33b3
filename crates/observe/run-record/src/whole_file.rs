//! Atomic replacement of files: written under another name, then renamed.

use crate::file_error::FileError;
use std::fs::{self, File};
use std::io::{ErrorKind, Write};
use std::path::{Path, PathBuf};

/// Replaces the file at `path`: even if this process dies, the file holds the old content or the new one,
/// never a mix. The file is not forced to the disk, which would cost 10 ms and more for each file of each
/// run; call [`sync`] before deleting the source of the file's content.
pub(crate) fn replace(path: &Path, content: &[u8]) -> Result<(), FileError> {
    let partial = Partial::of(path);
    let write = || File::create(&partial.place)?.write_all(content);
    write().map_err(|e| FileError::new(&partial.place, e))?;
    partial.publish()
}

/// Waits until the file at `path` is on the disk.
pub(crate) fn sync(path: &Path) -> Result<(), FileError> {
    File::open(path).and_then(|file| file.sync_all()).map_err(|e| FileError::new(path, e))
}

/// Waits until a folder is on the disk; ignores file systems that cannot do this and offer nothing else.
pub(crate) fn sync_folder(path: &Path) -> Result<(), FileError> {
    match File::open(path).and_then(|folder| folder.sync_all()) {
        Err(error) if !matches!(error.kind(), ErrorKind::InvalidInput | ErrorKind::Unsupported) => {
            Err(FileError::new(path, error))
        }
        _ => Ok(()),
    }
}

/// File of the record while it is being written. Unless published it is removed again: on a full disk, half
/// a file would take the room of data that can still be saved.
#[derive(Debug)]
pub(crate) struct Partial {
    path: PathBuf,
    place: PathBuf,
    is_published: bool,
}

impl Partial {
    /// Creates the partial file that becomes the file at `path`.
    pub(crate) fn of(path: &Path) -> Self {
        let mut name = path.as_os_str().to_owned();
        name.push(".partial");
        Self { path: path.to_owned(), place: PathBuf::from(name), is_published: false }
    }

    /// Path at which the file is written.
    pub(crate) fn place(&self) -> &Path {
        &self.place
    }

    /// Renames the complete file to its final name.
    pub(crate) fn publish(mut self) -> Result<(), FileError> {
        fs::rename(&self.place, &self.path).map_err(|e| FileError::new(&self.path, e))?;
        self.is_published = true;
        Ok(())
    }
}

impl Drop for Partial {
    fn drop(&mut self) {
        if !self.is_published {
            // The file may never have been created.
            fs::remove_file(&self.place).ok();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Regression: on a full disk the half file stayed, and the summary found no room beside it.
    #[test]
    fn half_a_file_does_not_stay() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("file");
        replace(&path, b"old").unwrap();
        std::os::unix::fs::symlink("/dev/full", dir.path().join("file.partial")).unwrap();
        assert!(replace(&path, b"new").unwrap_err().is_storage_full());
        assert_eq!(fs::read(&path).unwrap(), b"old");
        assert_eq!(fs::read_dir(dir.path()).unwrap().count(), 1);
    }
}
