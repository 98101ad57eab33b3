//! Polling that leaves the cores to threads with work to do.

use super::error::MoveError;
use std::time::{Duration, Instant};

/// Time after which polling sleeps between checks.
const AWAKE: Duration = Duration::from_millis(2);
/// Sleep between checks.
const SLEEP: Duration = Duration::from_micros(500);

/// Polls until `is_so` returns true.
pub(crate) fn until(
    deadline: Duration,
    mut is_so: impl FnMut() -> Result<bool, MoveError>,
) -> Result<(), MoveError> {
    let began = Instant::now();
    while !is_so()? {
        let waited = began.elapsed();
        if deadline <= waited {
            return Err(MoveError::Late { waited });
        }
        if waited < AWAKE {
            std::thread::yield_now();
        } else {
            std::thread::sleep(SLEEP);
        }
    }
    Ok(())
}
