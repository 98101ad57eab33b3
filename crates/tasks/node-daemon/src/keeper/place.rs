//! A keeper's place in its state folder: the lock, and the socket on which a daemon finds it.

use std::{fs::File, os::unix::net::UnixListener, path::Path};

use super::{KeeperError, SOCKET};

/// Locks the folder for as long as the file is open.
pub(super) fn lock(state: &Path) -> Result<File, KeeperError> {
    let path = state.join("keeper.lock");
    let folder = |source| KeeperError::Folder { path: path.clone(), source };
    let options = File::options().create(true).truncate(false).write(true).open(&path);
    let file = options.map_err(folder)?;
    match file.try_lock() {
        Ok(()) => Ok(file),
        Err(std::fs::TryLockError::WouldBlock) => Err(KeeperError::Taken(state.to_owned())),
        Err(std::fs::TryLockError::Error(source)) => Err(folder(source)),
    }
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
