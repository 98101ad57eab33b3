//! Locks that show that a daemon lives.

use std::{
    fs::{File, TryLockError},
    thread,
    time::{Duration, Instant},
};

/// Time for which a lock may outlive its daemon: a daemon that is killed while it starts a process leaves its files
/// open in that process until that has executed another program, which takes a moment on a busy machine.
const LINGERS: Duration = Duration::from_secs(2);
const LOOKS_EVERY: Duration = Duration::from_millis(10);

/// Locks a file until it is closed; waits for a moment, since the present holder may be about to release it.
pub(crate) fn lock_soon(file: &File) -> Result<(), TryLockError> {
    let deadline = Instant::now() + LINGERS;
    loop {
        match file.try_lock() {
            Err(TryLockError::WouldBlock) if Instant::now() < deadline => {
                thread::sleep(LOOKS_EVERY)
            }
            outcome => return outcome,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_lock_that_is_let_go_of_is_got_and_one_that_is_kept_is_not() {
        let file = tempfile::NamedTempFile::new().unwrap();
        let open = || File::open(file.path()).unwrap();
        let first = open();
        lock_soon(&first).unwrap();
        assert!(matches!(lock_soon(&open()), Err(TryLockError::WouldBlock)));
        let waiting = thread::spawn({
            let second = open();
            move || lock_soon(&second).is_ok()
        });
        drop(first);
        assert!(waiting.join().unwrap());
    }
}
