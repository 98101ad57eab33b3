//! Checkpoint file: the program's saved state after an iteration.
//!
//! A header of 64 bytes (magic, version, number of iterations, length, SHA-256 of all before it and of the
//! content), then the content. The file is written beside the old one and renamed over it, so that a complete
//! one exists at any moment.

use files::Draft;
use sha2::{Digest, Sha256};
use std::fs;
use std::io::{self, Write};
use std::path::{Path, PathBuf};

const MAGIC: [u8; 8] = *b"MWCHKPT\n";
const VERSION: u32 = 1;
const HEADER_BYTES: usize = 64;
const DIGEST_AT: usize = 32;

/// Error from writing or reading a checkpoint.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum CheckpointError {
    /// The file cannot be written.
    #[error("`{}` cannot be written; give `--checkpoint` a file in a folder that has room", path.display())]
    Write {
        /// Path of the file.
        path: PathBuf,
        /// Cause.
        source: io::Error,
    },
    /// The file cannot be read.
    #[error("`{}` cannot be read", path.display())]
    Read {
        /// Path of the file.
        path: PathBuf,
        /// Cause.
        source: io::Error,
    },
    /// The file is not a checkpoint.
    #[error("`{}` is not a checkpoint; name the file that an earlier run wrote, or remove it to begin anew", path.display())]
    Foreign {
        /// Path of the file.
        path: PathBuf,
    },
    /// The checkpoint has another version.
    #[error("`{}` is a checkpoint of version `{version}`, not `{VERSION}`; go on with the program that wrote it", path.display())]
    Version {
        /// Path of the file.
        path: PathBuf,
        /// Version of the file.
        version: u32,
    },
    /// The content does not match its SHA-256.
    #[error("`{}` is damaged; take a copy of it, or remove it to begin anew", path.display())]
    Damaged {
        /// Path of the file.
        path: PathBuf,
    },
}

/// Saved state of a program.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Checkpoint {
    /// Number of iterations done.
    pub(crate) n_iterations: u64,
    pub(crate) content: Vec<u8>,
}

impl Checkpoint {
    /// Writes the checkpoint; a run that is killed meanwhile leaves the old one.
    pub(crate) fn write(&self, path: &Path) -> Result<(), CheckpointError> {
        let write = |draft: Draft| {
            let mut file = draft.create(0o666)?;
            file.write_all(&self.header())?;
            file.write_all(&self.content)?;
            draft.publish_durably(&file)
        };
        write(Draft::of(path))
            .map_err(|source| CheckpointError::Write { path: path.to_owned(), source })
    }

    fn header(&self) -> [u8; HEADER_BYTES] {
        let mut header = [0; HEADER_BYTES];
        header[..8].copy_from_slice(&MAGIC);
        header[8..12].copy_from_slice(&VERSION.to_le_bytes());
        header[16..24].copy_from_slice(&self.n_iterations.to_le_bytes());
        header[24..32].copy_from_slice(&(self.content.len() as u64).to_le_bytes());
        let mut digest = Sha256::new();
        digest.update(&header[..DIGEST_AT]);
        digest.update(&self.content);
        header[DIGEST_AT..].copy_from_slice(&digest.finalize());
        header
    }

    /// Reads the checkpoint in this file; `None` when there is no such file.
    pub(crate) fn read(path: &Path) -> Result<Option<Self>, CheckpointError> {
        let bytes = match fs::read(path) {
            Ok(bytes) => bytes,
            Err(source) if source.kind() == io::ErrorKind::NotFound => return Ok(None),
            Err(source) => return Err(CheckpointError::Read { path: path.to_owned(), source }),
        };
        let path = path.to_owned();
        Self::of_bytes(bytes).map(Some).map_err(|fault| match fault {
            Fault::Foreign => CheckpointError::Foreign { path },
            Fault::Version(version) => CheckpointError::Version { path, version },
            Fault::Damaged => CheckpointError::Damaged { path },
        })
    }

    /// Reads a checkpoint from the bytes of a file.
    fn of_bytes(mut bytes: Vec<u8>) -> Result<Self, Fault> {
        if !bytes.starts_with(&MAGIC) {
            return Err(Fault::Foreign);
        }
        let header = *bytes.first_chunk::<HEADER_BYTES>().ok_or(Fault::Damaged)?;
        let version = u32::from_le_bytes([header[8], header[9], header[10], header[11]]);
        if version != VERSION {
            return Err(Fault::Version(version));
        }
        let number = header[16..24].first_chunk().copied().map_or(0, u64::from_le_bytes);
        let content = bytes.split_off(HEADER_BYTES);
        let found = Self { n_iterations: number, content };
        if found.header() == header { Ok(found) } else { Err(Fault::Damaged) }
    }
}

/// Defect of bytes that are not a checkpoint.
#[derive(Debug, PartialEq, Eq)]
enum Fault {
    Foreign,
    Version(u32),
    Damaged,
}

/// Returns the number of iterations and the content of a checkpoint with these bytes; `None` if they are not
/// one.
pub(crate) fn of_bytes(bytes: &[u8]) -> Option<(u64, Vec<u8>)> {
    Checkpoint::of_bytes(bytes.to_vec()).ok().map(|found| (found.n_iterations, found.content))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn written() -> (tempfile::TempDir, PathBuf, Checkpoint) {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("state");
        let checkpoint = Checkpoint { n_iterations: 7, content: b"content".to_vec() };
        checkpoint.write(&path).unwrap();
        (folder, path, checkpoint)
    }

    #[test]
    fn what_was_written_is_read() {
        let (folder, path, mut checkpoint) = written();
        assert_eq!(Checkpoint::read(&path).unwrap(), Some(checkpoint.clone()));
        checkpoint.content.clear();
        checkpoint.write(&path).unwrap();
        assert_eq!(Checkpoint::read(&path).unwrap(), Some(checkpoint));
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1);
        assert_eq!(Checkpoint::read(&folder.path().join("none")).unwrap(), None);
    }

    /// A killed writer leaves a part of the next checkpoint, of any length, beside the previous one.
    #[test]
    fn a_kill_while_a_checkpoint_is_written_leaves_the_one_before() {
        let (folder, path, before) = written();
        let next = Checkpoint { n_iterations: 8, content: b"further content".to_vec() };
        next.write(&folder.path().join("whole")).unwrap();
        let whole = fs::read(folder.path().join("whole")).unwrap();
        for n_bytes in 0..=whole.len() {
            fs::write(folder.path().join("state.new"), &whole[..n_bytes]).unwrap();
            assert_eq!(Checkpoint::read(&path).unwrap().as_ref(), Some(&before), "{n_bytes}");
        }
        next.write(&path).unwrap();
        assert_eq!(Checkpoint::read(&path).unwrap(), Some(next));
    }

    /// Runs in a process that may write only so many bytes to a file, which behaves like a full disk.
    #[test]
    fn a_checkpoint_that_cannot_be_written_to_its_end_leaves_the_one_before() {
        const STEPS: [u64; 6] = [0, 1, 63, 64, 70, 71];
        let (folder, path, before) = written();
        let me = std::env::current_exe().unwrap();
        for n_bytes in STEPS {
            let mut limited = std::process::Command::new("prlimit");
            limited.args(["--core=0", &format!("--fsize={n_bytes}")]).arg(&me).args([
                "--exact",
                WRITER,
                "--ignored",
            ]);
            let ended = limited.env("CHECKPOINT", &path).output().expect("prlimit is installed");
            let n_written = fs::metadata(folder.path().join("state.new")).unwrap().len();
            assert_eq!((ended.status.success(), n_written), (false, n_bytes), "{ended:?}");
            assert_eq!(Checkpoint::read(&path).unwrap().as_ref(), Some(&before), "{n_bytes}");
        }
    }

    const WRITER: &str = "checkpoint::tests::writer";

    /// Writer for the test above: a signal ends it at its limit.
    #[test]
    #[ignore = "run by another test"]
    fn writer() {
        let path = std::env::var_os("CHECKPOINT").map(PathBuf::from).expect("run by another test");
        let next = Checkpoint { n_iterations: 8, content: b"further content".to_vec() };
        next.write(&path).unwrap();
    }

    /// Checkpoint that version 1 wrote after 7 iterations.
    const SAMPLE: &[u8] = include_bytes!("../tests/samples/checkpoint-v1/state");

    #[test]
    fn files_of_earlier_versions_are_read() {
        assert_eq!(of_bytes(SAMPLE), Some((7, b"content".to_vec())));
    }

    /// Checks that a checkpoint is read as it was written, or refused.
    #[test]
    fn other_files_are_refused() {
        for at in 0..SAMPLE.len() {
            let is_magic = at < MAGIC.len();
            let cut = Checkpoint::of_bytes(SAMPLE[..at].to_vec()).unwrap_err();
            assert_eq!(cut, if is_magic { Fault::Foreign } else { Fault::Damaged }, "{at} bytes");
            for bit in 0..8 {
                let mut bytes = SAMPLE.to_vec();
                bytes[at] ^= 1 << bit;
                let expected = match at {
                    0..8 => Fault::Foreign,
                    8..12 => Fault::Version(VERSION ^ (1 << (8 * (at - 8) + bit))),
                    _ => Fault::Damaged,
                };
                let found = Checkpoint::of_bytes(bytes).unwrap_err();
                assert_eq!(found, expected, "bit {bit} of byte {at}");
            }
        }
        let longer = [SAMPLE, b"x"].concat();
        assert_eq!(Checkpoint::of_bytes(longer), Err(Fault::Damaged));
    }

    #[test]
    fn a_file_that_cannot_be_used_is_named() {
        let (_folder, path, _) = written();
        for (bytes, expected) in [(&b"x"[..], "is not a checkpoint"), (&SAMPLE[..70], "is damaged")]
        {
            fs::write(&path, bytes).unwrap();
            let said = Checkpoint::read(&path).unwrap_err().to_string();
            assert!(said.contains(expected), "{said}");
        }
    }

    #[test]
    fn a_folder_that_is_not_there_is_told() {
        let checkpoint = Checkpoint { n_iterations: 0, content: Vec::new() };
        let error = checkpoint.write(Path::new("/nowhere/at/all")).unwrap_err();
        assert!(matches!(error, CheckpointError::Write { .. }));
    }
}
