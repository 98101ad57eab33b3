//! Random secrets in files that only their owner can read.

use std::io;
use std::io::Write;
use std::path::Path;

/// Returns random bytes.
pub(crate) fn random<const N: usize>() -> io::Result<[u8; N]> {
    let mut bytes = [0; N];
    // So few bytes are returned at once when the system's source is ready, which the call waits for.
    rustix::rand::getrandom(&mut bytes, rustix::rand::GetRandomFlags::empty())?;
    Ok(bytes)
}

/// Writes bytes as hexadecimal digits.
pub(crate) fn digits(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// Writes a line into a file that must not exist yet; only its owner can read it. Others see it complete or not at
/// all: when many processes make it at once, all but one find that it exists and can read it.
pub(crate) fn write_new(path: &Path, line: &str) -> io::Result<()> {
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty());
    let mut file = tempfile::NamedTempFile::new_in(folder.unwrap_or_else(|| Path::new(".")))?;
    writeln!(file, "{line}")?;
    file.as_file().sync_all()?;
    file.persist_noclobber(path).map(drop).map_err(|error| error.error)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::{fs, os::unix::fs::MetadataExt, sync::Barrier, thread};

    #[test]
    fn of_many_writers_one_writes_and_all_read_the_same() {
        for _ in 0..50 {
            let folder = tempfile::tempdir().unwrap();
            let path = folder.path().join("secret");
            let start = Barrier::new(4);
            let write = || {
                let line = digits(&random::<32>().unwrap());
                start.wait();
                let written = write_new(&path, &line);
                (written.is_ok(), fs::read_to_string(&path).unwrap())
            };
            let found: Vec<_> = thread::scope(|scope| {
                let writers: Vec<_> = (0..4).map(|_| scope.spawn(write)).collect();
                writers.into_iter().map(|writer| writer.join().unwrap()).collect()
            });
            assert_eq!(found.iter().filter(|(is_written, _)| *is_written).count(), 1);
            assert!(found.iter().all(|(_, text)| *text == found[0].1 && text.len() == 65));
            assert_eq!(fs::metadata(&path).unwrap().mode() & 0o777, 0o600);
            assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1);
        }
    }

    #[test]
    fn a_file_that_is_there_stays() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("secret");
        fs::write(&path, "mine").unwrap();
        let error = write_new(&path, "other").unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::AlreadyExists);
        assert_eq!(fs::read_to_string(&path).unwrap(), "mine");
    }
}
