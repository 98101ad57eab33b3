//! A folder where nodes of a cluster find each other.

use std::path::PathBuf;
use std::time::{Duration, Instant};
use std::{fs, io};

/// Time for which the folder is read at every look: most nodes write their files within the first minute. Below,
/// the time between two looks afterwards.
const SOON: Duration = Duration::from_secs(60);
const SELDOM: Duration = Duration::from_secs(10);
const ENDING: &str = "node";
const N_BYTES_MAX: usize = 512;
const N_FILES_MAX: usize = 8192;

/// Error: nodes cannot meet in the folder.
#[derive(Debug, thiserror::Error)]
#[error("nodes cannot meet in `{}`; check that it is a folder that all nodes can write to", folder.display())]
pub(super) struct MeetingError {
    folder: PathBuf,
    source: io::Error,
}

/// A node's place in a folder that all nodes of a cluster see, where each writes its address: for launchers that start
/// many daemons at once and tell none where the others are, such as `mpirun`. Dropping it removes its file.
#[derive(Debug)]
pub(super) struct Meeting {
    folder: PathBuf,
    name: String,
    address: String,
    began: Instant,
    looked: Option<Instant>,
    failed: bool,
}

impl Meeting {
    pub(super) fn new(folder: PathBuf, name: &str, address: &str) -> Self {
        let (name, address) = (name.to_owned(), address.to_owned());
        Self { folder, name, address, began: Instant::now(), looked: None, failed: false }
    }

    /// Adds the addresses of other nodes, once each; first writes its own. Repeated failures are reported once.
    pub(super) fn look(&mut self, peers: &mut Vec<String>) -> Result<(), MeetingError> {
        let too_soon = |looked: Instant| SOON < self.began.elapsed() && looked.elapsed() < SELDOM;
        if self.looked.is_some_and(too_soon) {
            return Ok(());
        }
        let first = self.looked.is_none();
        self.looked = Some(Instant::now());
        let met =
            if first || self.failed { self.write() } else { Ok(()) }.and_then(|()| self.read());
        let again = self.failed;
        self.failed = met.is_err();
        match met {
            Ok(addresses) => {
                for address in addresses {
                    if address != self.address && !peers.contains(&address) {
                        peers.push(address);
                    }
                }
                Ok(())
            }
            Err(_) if again => Ok(()),
            Err(source) => Err(MeetingError { folder: self.folder.clone(), source }),
        }
    }

    fn path(&self) -> PathBuf {
        self.folder.join(format!("{}.{ENDING}", self.name))
    }

    /// Writes this node's file so that others read it as a whole or not at all.
    fn write(&self) -> io::Result<()> {
        fs::create_dir_all(&self.folder)?;
        files::replace(&self.path(), self.address.as_bytes())
    }

    fn read(&self) -> io::Result<Vec<String>> {
        let mut addresses = Vec::new();
        for entry in fs::read_dir(&self.folder)?.take(N_FILES_MAX) {
            let path = entry?.path();
            if path.extension().is_none_or(|ending| ending != ENDING) {
                continue;
            }
            // A node that leaves removes its file between the two steps.
            let Ok(text) = fs::read_to_string(path) else { continue };
            if text.len() <= N_BYTES_MAX && text.contains(':') {
                addresses.push(text.trim().to_owned());
            }
        }
        addresses.sort_unstable();
        Ok(addresses)
    }
}

impl Drop for Meeting {
    fn drop(&mut self) {
        // If it cannot be removed, others dial the address in vain.
        fs::remove_file(self.path()).ok();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nodes_find_each_other_and_are_gone_when_they_end() {
        let folder = tempfile::tempdir().unwrap();
        let meet =
            |name: &str| Meeting::new(folder.path().join("here"), name, &format!("{name}:1"));
        let (mut a, mut b) = (meet("a"), meet("b"));
        let mut peers = vec!["seed:1".to_owned()];
        a.look(&mut peers).unwrap();
        assert_eq!(peers, ["seed:1"]);
        b.look(&mut Vec::new()).unwrap();
        a.look(&mut peers).unwrap();
        a.look(&mut peers).unwrap();
        assert_eq!(peers, ["seed:1", "b:1"]);
        drop((a, b));
        assert_eq!(fs::read_dir(folder.path().join("here")).unwrap().count(), 0);
    }

    #[test]
    fn a_place_that_is_no_folder_is_complained_of_once() {
        let file = tempfile::NamedTempFile::new().unwrap();
        let mut a = Meeting::new(file.path().to_owned(), "a", "a:1");
        let error = a.look(&mut Vec::new()).unwrap_err().to_string();
        assert!(error.starts_with("nodes cannot meet in `"), "{error}");
        a.look(&mut Vec::new()).unwrap();
    }
}
