//! Locks that show other processes that one of ours is at work, and which one.

use std::fs::{self, File, TryLockError};
use std::io::{self, Write};
use std::os::unix::fs::MetadataExt;
use std::path::Path;
use std::thread;
use std::time::{Duration, Instant};

const LOOKS_EVERY: Duration = Duration::from_millis(10);

/// Lock of a file, held until it is dropped or the process ends.
#[derive(Debug)]
pub struct Lock {
    _file: File,
}

/// Reasons why a lock cannot be had.
#[derive(Debug, thiserror::Error)]
pub enum LockError {
    /// Another process holds it.
    #[error("{by} holds the lock")]
    Held {
        /// Text that the other process gave as its name.
        by: String,
    },
    /// The file system has no locks.
    #[error("the file system has no locks")]
    Unsupported(#[source] io::Error),
    /// The file cannot be made.
    #[error("the file cannot be made")]
    File(#[source] io::Error),
}

impl Lock {
    /// Locks the file `path`, which is made where it is missing and then holds the name `by` of this process.
    ///
    /// A lock can outlive its process: one that is killed while it starts another leaves its files open in that until
    /// it has executed another program, which takes a moment on a busy machine. So a lock that is held is waited for,
    /// for up to `patience`.
    ///
    /// # Errors
    /// [`LockError`].
    pub fn take(path: &Path, by: &str, patience: Duration) -> Result<Self, LockError> {
        let deadline = Instant::now() + patience;
        loop {
            let mut file = crate::private::open_or_make(path).map_err(LockError::File)?;
            match file.try_lock() {
                // The previous holder may have removed the file between opening and locking.
                Ok(()) if is_at(&file, path) => {
                    // The name is only for the messages of others.
                    file.set_len(0).and_then(|()| writeln!(file, "{by}")).ok();
                    return Ok(Self { _file: file });
                }
                Ok(()) => {}
                Err(TryLockError::WouldBlock) if Instant::now() < deadline => {
                    thread::sleep(LOOKS_EVERY);
                }
                Err(TryLockError::WouldBlock) => {
                    let by = fs::read_to_string(path).unwrap_or_default();
                    let by = if by.trim().is_empty() { "an unnamed process" } else { by.trim() };
                    return Err(LockError::Held { by: by.to_owned() });
                }
                Err(TryLockError::Error(source)) => return Err(LockError::Unsupported(source)),
            }
        }
    }
}

fn is_at(file: &File, path: &Path) -> bool {
    let id = |found: &fs::Metadata| (found.dev(), found.ino());
    let found = fs::symlink_metadata(path).ok().zip(file.metadata().ok());
    found.is_some_and(|(found, locked)| id(&found) == id(&locked))
}

#[cfg(test)]
mod tests {
    use super::*;

    const SOON: Duration = Duration::from_secs(20);

    #[test]
    fn a_lock_that_is_let_go_of_is_got_and_one_that_is_kept_is_not() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("lock");
        let first = Lock::take(&path, "process 12345", Duration::ZERO).unwrap();
        let other = Lock::take(&path, "7", Duration::from_millis(1)).unwrap_err();
        assert_eq!(other.to_string(), "process 12345 holds the lock");
        let waiting = thread::spawn({
            let path = path.clone();
            move || Lock::take(&path, "8", SOON)
        });
        drop(first);
        let _second = waiting.join().unwrap().unwrap();
        assert_eq!(fs::read_to_string(&path).unwrap(), "8\n");
    }

    #[test]
    fn a_lock_whose_file_was_removed_keeps_nobody_out() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("lock");
        let _first = Lock::take(&path, "1", Duration::ZERO).unwrap();
        fs::remove_file(&path).unwrap();
        Lock::take(&path, "2", Duration::ZERO).unwrap();
        assert!(matches!(
            Lock::take(&folder.path().join("none/lock"), "", SOON),
            Err(LockError::File(_))
        ));
    }
}
