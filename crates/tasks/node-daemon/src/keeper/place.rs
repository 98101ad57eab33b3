//! A keeper's place in its state folder: the lock, and the socket on which a daemon finds it.

use std::{os::unix::net::UnixListener, path::Path, time::Duration};

use files::{Lock, LockError};

use super::{KeeperError, SOCKET};

pub(super) fn lock(state: &Path) -> Result<Lock, KeeperError> {
    let path = state.join("keeper.lock");
    let by = format!("process {}", std::process::id());
    Lock::take(&path, &by, Duration::ZERO).map_err(|error| match error {
        LockError::Held { .. } => KeeperError::Taken(state.to_owned()),
        LockError::Unsupported(source) | LockError::File(source) => {
            KeeperError::Folder { path, source }
        }
    })
}

pub(super) fn listen(state: &Path) -> Result<UnixListener, KeeperError> {
    let path = state.join(SOCKET);
    // The keeper that left the socket is dead: this one holds the lock.
    std::fs::remove_file(&path).ok();
    let folder = |source| KeeperError::Folder { path: path.clone(), source };
    let listener = UnixListener::bind(&path).map_err(folder)?;
    listener.set_nonblocking(true).map_err(folder)?;
    Ok(listener)
}
