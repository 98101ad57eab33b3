//! Folder for the files of one input, in memory and emptied for the next input.

use std::path::{Path, PathBuf};

/// Folder that is removed with this value.
pub(super) struct Folder(PathBuf);

impl Folder {
    /// Makes the folder of a target in this process.
    pub(super) fn new(target: &str) -> Self {
        let name = format!("sintonia-fuzz-{target}-{}", std::process::id());
        let path = Path::new("/dev/shm").join(name);
        std::fs::remove_dir_all(&path).ok();
        std::fs::create_dir(&path).expect("`/dev/shm` takes a folder");
        Self(path)
    }

    pub(super) fn path(&self) -> &Path {
        &self.0
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        std::fs::remove_dir_all(&self.0).ok();
    }
}
