//! Keeps a damaged file as it was found, for those who want to know what was in it.

use std::fs::{self, Metadata};
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

/// Warning of a damaged file that was kept: users are told of it until they remove the file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct FileWarning {
    pub(crate) path: PathBuf,
    pub(crate) sentence: String,
}

impl FileWarning {
    /// The sentence, as long as the file exists.
    pub(crate) fn active(&self) -> Option<&String> {
        self.path.exists().then_some(&self.sentence)
    }
}

/// Keeps the file as `at`, whose name ends in `.damaged`, and an earlier one as `.damaged.old`. The file gets a
/// second name, which needs no room on the disk: nothing may write into it any more. A missing file is kept as an
/// empty one.
///
/// # Errors
/// When the folder cannot be written to.
pub(crate) fn quarantine(path: &Path, at: &Path) -> io::Result<()> {
    if is_kept(path, at)? {
        return Ok(());
    }
    if at.exists() {
        fs::rename(at, at.with_extension("damaged.old"))?;
    }
    match fs::hard_link(path, at) {
        Ok(()) => Ok(()),
        Err(error) if error.kind() == io::ErrorKind::NotFound => files::replace_durably(at, &[]),
        // Not all file systems have hard links.
        Err(_) => files::replace_durably(at, &fs::read(path)?),
    }
}

/// Returns whether an earlier start, which failed after this step, has kept the file already.
fn is_kept(path: &Path, at: &Path) -> io::Result<bool> {
    let metadata = |path| match fs::symlink_metadata(path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        found => found.map(Some),
    };
    let id = |found: &Metadata| (found.dev(), found.ino());
    Ok(match (metadata(path)?, metadata(at)?) {
        (Some(found), Some(kept)) => id(&found) == id(&kept),
        (None, Some(kept)) => kept.len() == 0,
        (_, None) => false,
    })
}
