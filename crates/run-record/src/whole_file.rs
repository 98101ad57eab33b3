//! Files that are there as a whole or not at all: written under another name, then renamed.

use crate::file_error::FileError;
use std::fs::{self, File};
use std::io::Write;
use std::path::{Path, PathBuf};

/// Replaces the file at `path`: whenever this process ends, the file holds the old content or the new
/// one, never a mix. It is not forced to the disk: that costs 10 ms and more for each file of each run,
/// and what a power failure can take is the run itself.
pub(crate) fn replace(path: &Path, content: &[u8]) -> Result<(), FileError> {
    let partial = partial_path(path);
    let write = || {
        let mut file = File::create(&partial)?;
        file.write_all(content)
    };
    write().map_err(|e| FileError::new(&partial, e))?;
    publish(&partial, path)
}

/// The name of a file of the record while it is being written.
pub(crate) fn partial_path(path: &Path) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(".partial");
    PathBuf::from(name)
}

/// Gives a file that is complete its name.
pub(crate) fn publish(partial: &Path, path: &Path) -> Result<(), FileError> {
    fs::rename(partial, path).map_err(|e| FileError::new(path, e))
}
