//! Files of the repository, as `git` knows them.

use std::{
    fs, io,
    path::{Path, PathBuf},
    process::Command,
};

use crate::TidyError;

/// Text file of the repository.
#[derive(Clone, Debug)]
pub struct TextFile {
    /// Path from the root of the repository, with forward slashes.
    pub path: String,
    /// Text of the file.
    pub text: String,
}

/// Reads all text files below `root` that are tracked, or would be after `git add`.
///
/// Files deleted but not yet committed, links, and files that are not UTF-8 are skipped.
///
/// # Errors
/// If `git` cannot be started or fails, or a file cannot be read.
pub fn text_files(root: &Path) -> Result<Vec<TextFile>, TidyError> {
    let mut files = Vec::new();
    for path in listed(root)? {
        let place = root.join(&path);
        if !place.symlink_metadata().is_ok_and(|about| about.is_file()) {
            continue;
        }
        match fs::read_to_string(&place) {
            Ok(text) => files.push(TextFile { path, text }),
            Err(error) if error.kind() == io::ErrorKind::InvalidData => {}
            Err(source) => return Err(TidyError::Unreadable { path, source }),
        }
    }
    Ok(files)
}

/// Returns the links below `root`, with where they lead.
///
/// # Errors
/// If `git` cannot be started or fails.
pub fn links(root: &Path) -> Result<Vec<(String, PathBuf)>, TidyError> {
    let read = |path: String| fs::read_link(root.join(&path)).ok().map(|to| (path, to));
    Ok(listed(root)?.into_iter().filter_map(read).collect())
}

fn listed(root: &Path) -> Result<Vec<String>, TidyError> {
    let listing = Command::new("git")
        .args(["ls-files", "-z", "--cached", "--others", "--exclude-standard"])
        .current_dir(root)
        .output()
        .map_err(|source| TidyError::NoGit { source })?;
    if !listing.status.success() {
        let words = String::from_utf8_lossy(&listing.stderr).trim().to_owned();
        return Err(TidyError::NoRepository { root: root.to_owned(), words });
    }
    let names = String::from_utf8_lossy(&listing.stdout);
    Ok(names.split_terminator('\0').map(str::to_owned).collect())
}
