//! Files that are replaced as a whole: written beside their path, then renamed.
//!
//! # Invariants
//! - Readers find the old content or the new one, never a part, even when the writer is killed.
//! - Only what is published durably survives a crash of the machine: waiting for the disk takes 10 ms and more.

use std::fs::{self, File, OpenOptions};
use std::io::{self, ErrorKind, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

/// Folders of the system: a name below these stands for something that is open elsewhere.
const OF_THE_SYSTEM: [&str; 2] = ["/dev", "/proc"];

/// File that is written beside the path that it gets. Unless published it is removed: on a full disk, half a file
/// would take the room of data that can still be saved.
#[derive(Debug)]
pub struct Draft {
    path: PathBuf,
    place: PathBuf,
    is_published: bool,
}

impl Draft {
    /// Draft of the file `path`, with `.new` behind its name.
    #[must_use]
    pub fn of(path: &Path) -> Self {
        Self::at(path, path.with_added_extension("new"))
    }

    /// Draft with a path of its own in the same folder, for files that several processes write at once.
    #[must_use]
    pub fn at(path: &Path, place: PathBuf) -> Self {
        Self { path: path.to_owned(), place, is_published: false }
    }

    /// Path at which the file is written.
    #[must_use]
    pub fn place(&self) -> &Path {
        &self.place
    }

    /// Creates the file, to read and to write, with the permissions `mode` as far as the process grants them. What a
    /// killed writer left is overwritten.
    ///
    /// # Errors
    /// If it cannot be created.
    pub fn create(&self, mode: u32) -> io::Result<File> {
        let mut options = OpenOptions::new();
        options.read(true).write(true).create(true).truncate(true).mode(mode).open(&self.place)
    }

    /// Gives the complete file its path.
    ///
    /// # Errors
    /// If the folder cannot be written.
    pub fn publish(mut self) -> io::Result<()> {
        fs::rename(&self.place, &self.path)?;
        self.is_published = true;
        Ok(())
    }

    /// Gives the complete file its path when its content is on the disk, and waits until the path is there too.
    ///
    /// # Errors
    /// If the file or its folder cannot be written.
    pub fn publish_durably(self, file: &File) -> io::Result<()> {
        // Otherwise the path may reach the disk before the content.
        file.sync_all()?;
        let folder = self.path.parent().unwrap_or(Path::new("")).to_owned();
        self.publish()?;
        sync_folder(&folder)
    }
}

impl Drop for Draft {
    fn drop(&mut self) {
        if !self.is_published {
            // It may never have been created.
            fs::remove_file(&self.place).ok();
        }
    }
}

/// Replaces the content of the file at `path`, which survives the death of this process.
///
/// # Errors
/// If the folder cannot be written, or the disk is full; the old file is then unchanged.
pub fn replace(path: &Path, content: &[u8]) -> io::Result<()> {
    let draft = Draft::of(path);
    draft.create(0o666)?.write_all(content)?;
    draft.publish()
}

/// Replaces the content of the file at `path`, which survives a crash of the machine too.
///
/// # Errors
/// As [`replace`].
pub fn replace_durably(path: &Path, content: &[u8]) -> io::Result<()> {
    let draft = Draft::of(path);
    let mut file = draft.create(0o666)?;
    file.write_all(content)?;
    draft.publish_durably(&file)
}

/// Waits until a folder is on the disk; ignores file systems that cannot do this and offer nothing else.
///
/// # Errors
/// If the disk reports a failure.
pub fn sync_folder(path: &Path) -> io::Result<()> {
    let path = if path.as_os_str().is_empty() { Path::new(".") } else { path };
    match File::open(path).and_then(|folder| folder.sync_all()) {
        Err(error) if matches!(error.kind(), ErrorKind::InvalidInput | ErrorKind::Unsupported) => {
            Ok(())
        }
        synced => synced,
    }
}

/// Opens the file for a result that a user has named, and its draft, to be published when it is complete. The file
/// behind a link is replaced, not the link. Anything but a file is written into, has no draft and stays what it is: a
/// device, a pipe, what a shell put at `/dev/stdout`.
///
/// # Errors
/// If the file cannot be written.
pub fn open_output(path: &Path) -> io::Result<(File, Option<Draft>)> {
    let is_other = fs::metadata(path).is_ok_and(|found| !found.is_file() && !found.is_dir());
    if is_other || OF_THE_SYSTEM.iter().any(|folder| path.starts_with(folder)) {
        return Ok((File::options().write(true).open(path)?, None));
    }
    let draft = Draft::of(&fs::canonicalize(path).unwrap_or_else(|_| path.to_owned()));
    Ok((draft.create(0o666)?, Some(draft)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::{MetadataExt, symlink};

    fn n_files(folder: &tempfile::TempDir) -> usize {
        fs::read_dir(folder.path()).unwrap().count()
    }

    /// Regression: on a full disk the half file stayed, and the summary found no room beside it.
    #[test]
    fn half_a_file_does_not_stay() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("file");
        for (replaced, content) in [replace, replace_durably].into_iter().zip([b"one", b"two"]) {
            replaced(&path, content).unwrap();
            symlink("/dev/full", folder.path().join("file.new")).unwrap();
            let error = replaced(&path, b"new").unwrap_err();
            assert_eq!(error.kind(), ErrorKind::StorageFull);
            assert_eq!((fs::read(&path).unwrap().as_slice(), n_files(&folder)), (&content[..], 1));
        }
    }

    #[test]
    fn a_draft_has_its_mode_and_overwrites_what_a_killed_writer_left() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a.json");
        fs::write(folder.path().join("a.json.new"), "longer than this").unwrap();
        replace(&path, b"short").unwrap();
        assert_eq!(fs::read(&path).unwrap(), b"short");
        let draft = Draft::at(&path, folder.path().join("a.7"));
        let file = draft.create(0o700).unwrap();
        assert_eq!((file.metadata().unwrap().mode() & 0o777, n_files(&folder)), (0o700, 2));
        draft.publish_durably(&file).unwrap();
        assert_eq!((fs::metadata(&path).unwrap().len(), n_files(&folder)), (0, 1));
    }

    #[test]
    fn a_name_without_a_folder_is_in_the_present_one() {
        sync_folder(Path::new("")).unwrap();
        assert!(sync_folder(Path::new("/nowhere")).is_err());
    }

    /// `sintonia fit -o /dev/null` by root turned the device into a file, for the whole machine; so did every other
    /// option that names a file to write.
    #[test]
    fn what_is_no_file_is_written_into_and_stays() {
        let folder = tempfile::tempdir().unwrap();
        let pipe = folder.path().join("pipe");
        assert!(std::process::Command::new("mkfifo").arg(&pipe).status().unwrap().success());
        let reader = std::thread::spawn({
            let pipe = pipe.clone();
            move || fs::read_to_string(pipe).unwrap()
        });
        let (mut file, draft) = open_output(&pipe).unwrap();
        file.write_all(b"words").unwrap();
        drop(file);
        assert!(draft.is_none() && !fs::metadata(&pipe).unwrap().is_file());
        assert_eq!((reader.join().unwrap().as_str(), n_files(&folder)), ("words", 1));
    }

    #[test]
    fn a_link_stays_a_link() {
        let folder = tempfile::tempdir().unwrap();
        let (file, link) = (folder.path().join("file"), folder.path().join("link"));
        fs::write(&file, "before").unwrap();
        symlink(&file, &link).unwrap();
        let (mut content, draft) = open_output(&link).unwrap();
        content.write_all(b"after").unwrap();
        draft.unwrap().publish().unwrap();
        assert_eq!(fs::read_to_string(&file).unwrap(), "after");
        assert!(fs::symlink_metadata(&link).unwrap().is_symlink());
    }
}
