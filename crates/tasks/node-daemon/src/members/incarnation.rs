//! Incarnation: a number that grows with each start of a daemon in its state folder, even when the clock went back.

use std::{
    fs, io,
    path::{Path, PathBuf},
};

const FILE: &str = "incarnation";

/// Error: the incarnation cannot be stored.
#[derive(Debug, thiserror::Error)]
#[error("cannot use `{}`; check that its folder is yours and has room", path.display())]
pub struct IncarnationError {
    path: PathBuf,
    source: io::Error,
}

/// Returns the incarnation of this start: the milliseconds since 1970, or one more than the last one if that is
/// greater.
///
/// # Errors
/// When the file that stores it cannot be written.
pub fn next_incarnation(state: &Path, unix_ms: u64) -> Result<u64, IncarnationError> {
    let path = state.join(FILE);
    let last = fs::read_to_string(&path).ok().and_then(|text| text.trim().parse::<u64>().ok());
    let next = unix_ms.max(last.map_or(0, |last| last.saturating_add(1)));
    let written = files::replace(&path, next.to_string().as_bytes());
    written.map_err(|source| IncarnationError { path, source })?;
    Ok(next)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_grows_whatever_the_clock_does() {
        let state = tempfile::tempdir().unwrap();
        let next = |unix_ms| next_incarnation(state.path(), unix_ms).unwrap();
        assert_eq!([next(100), next(100), next(50), next(200)], [100, 101, 102, 200]);
        fs::write(state.path().join(FILE), "damaged").unwrap();
        assert_eq!(next(300), 300);
    }
}
