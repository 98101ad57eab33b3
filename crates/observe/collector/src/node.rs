//! The run's folder on this node: lock, doorbell and segments.

use crate::place::{DOORBELL, LOCK, RECORD, RunEnvironment, SEGMENT_SUFFIX};
use files::{Lock, LockError};
use std::fs;
use std::io::{self, Write};
use std::os::unix::net::UnixDatagram;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// Folder of the node, held by its only collector.
#[derive(Debug)]
pub(crate) struct NodeFolder {
    pub(crate) dir: PathBuf,
    run_dir: PathBuf,
    /// Socket on which ranks ring, if there is one.
    pub(crate) doorbell: Option<UnixDatagram>,
    _lock: Lock,
}

impl NodeFolder {
    /// Takes the node, creating its folder if missing; returns `None` if another collector has it.
    pub(crate) fn take(environment: &RunEnvironment, node: &str) -> io::Result<Option<Self>> {
        let run_dir = environment.run_dir();
        let dir = run_dir.join(node);
        files::private::claim(&run_dir)?;
        files::private::claim(&dir)?;
        let lock = match Lock::take(&dir.join(LOCK), &environment.started_by, Duration::ZERO) {
            Ok(lock) => lock,
            Err(LockError::Held { .. }) => return Ok(None),
            Err(LockError::Unsupported(error) | LockError::File(error)) => return Err(error),
        };
        if let Some(out) = &environment.out {
            // Only cleaning up after a killed collector reads this file.
            name_record(&dir.join(RECORD), out).ok();
        }
        // Without a doorbell (its path may be too long for a socket), the folder is scanned often instead.
        let doorbell = hang_doorbell(&dir.join(DOORBELL)).ok();
        Ok(Some(Self { dir, run_dir, doorbell, _lock: lock }))
    }

    /// Returns whether a rank has rung since the last call.
    pub(crate) fn has_rung(&self) -> bool {
        let mut byte = [0];
        let mut rung = false;
        while self.doorbell.as_ref().is_some_and(|bell| bell.recv(&mut byte).is_ok()) {
            rung = true;
        }
        rung
    }

    /// Removes the folder and its contents, and the run's folder if this was its last node.
    pub(crate) fn remove(self) {
        // A process that opened the lock file earlier notices that it is gone from its path, and creates a new one.
        fs::remove_dir_all(&self.dir).ok();
        fs::remove_dir(&self.run_dir).ok();
    }
}

/// Returns the paths of all segments in a node's folder.
pub(crate) fn segments(dir: &Path) -> Vec<PathBuf> {
    let Ok(entries) = fs::read_dir(dir) else { return Vec::new() };
    entries
        .filter_map(|entry| Some(entry.ok()?.path()))
        .filter(|path| path.extension().is_some_and(|ending| ending == SEGMENT_SUFFIX))
        .collect()
}

fn name_record(path: &Path, out: &Path) -> io::Result<()> {
    let mut file = files::private::make_file(path)?;
    file.set_len(0)?;
    file.write_all(out.as_os_str().as_encoded_bytes())
}

fn hang_doorbell(path: &Path) -> io::Result<UnixDatagram> {
    // A killed collector leaves its socket behind.
    fs::remove_file(path).ok();
    let doorbell = UnixDatagram::bind(path)?;
    doorbell.set_nonblocking(true)?;
    Ok(doorbell)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::symlink;

    fn environment(shm_dir: &Path) -> RunEnvironment {
        RunEnvironment {
            run: 1,
            shm_dir: shm_dir.to_owned(),
            analyzers: Vec::new(),
            secret: wire::Secret::from_bytes([7; 32]),
            out: Some(shm_dir.join("record")),
            started_by: "rank".to_owned(),
            sample: false,
        }
    }

    /// `record` and `collector.lock` used to be written through links that another user had made in a
    /// folder with the run's name.
    #[test]
    fn nothing_is_written_through_links() {
        let shm = tempfile::tempdir().unwrap();
        let (environment, theirs) = (environment(shm.path()), shm.path().join("file"));
        fs::write(&theirs, "kept").unwrap();
        files::private::claim(&environment.run_dir()).unwrap();
        let node = environment.run_dir().join("node");
        files::private::claim(&node).unwrap();
        symlink(&theirs, node.join(RECORD)).unwrap();
        assert!(NodeFolder::take(&environment, "node").unwrap().is_some());
        symlink(&theirs, environment.run_dir().join("lock")).unwrap();
        assert!(Lock::take(&environment.run_dir().join("lock"), "rank", Duration::ZERO).is_err());
        assert_eq!(fs::read(&theirs).unwrap(), b"kept");
    }

    #[test]
    fn a_folder_that_is_not_ours_alone_is_no_node() {
        use std::os::unix::fs::PermissionsExt;
        let shm = tempfile::tempdir().unwrap();
        let environment = environment(shm.path());
        fs::create_dir(environment.run_dir()).unwrap();
        fs::set_permissions(environment.run_dir(), fs::Permissions::from_mode(0o777)).unwrap();
        assert!(NodeFolder::take(&environment, "node").is_err());
        fs::remove_dir(environment.run_dir()).unwrap();
        symlink(shm.path(), environment.run_dir()).unwrap();
        assert!(NodeFolder::take(&environment, "node").is_err());
    }
}
