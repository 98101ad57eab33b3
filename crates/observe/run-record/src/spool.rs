//! File of messages in the order of their arrival; complete frames survive the death of the writer.
//!
//! A file is a header (8 bytes magic, version as little-endian `u32`, 4 bytes zero) and checked frames.
//!
//! # Invariants
//! - A frame is passed to the system in one write before `append` returns, so it survives the death of this
//!   process. Only [`SpoolWriter::sync`] makes it survive a crash of the machine.
//! - A frame that could not be written completely is cut off again, so that later frames stay readable.
//! - A reader returns all frames before the first damaged byte, and reports the damage.

use crate::file_error::FileError;
use frame::{Format, FrameError};
use std::fs::{File, OpenOptions};
use std::io::{BufReader, ErrorKind, Read, Take, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use thiserror::Error;

const MAGIC: [u8; 8] = *b"SINTSPL\n";
const VERSION: u32 = 1;
const HEADER_BYTES: usize = 16;

/// Largest payload of a frame in bytes; a larger length is damage.
pub const PAYLOAD_BYTES_MAX: usize = 64 << 20;
const FRAMES: Format = Format::checked(PAYLOAD_BYTES_MAX);

/// Writer that appends frames to a new file.
#[derive(Debug)]
pub struct SpoolWriter {
    path: PathBuf,
    file: File,
    /// Length of the file up to its last whole frame.
    n_bytes: u64,
    frame: Vec<u8>,
}

impl SpoolWriter {
    /// Starts a new file.
    ///
    /// # Errors
    /// When the file exists or cannot be written.
    pub fn create(path: &Path) -> Result<Self, SpoolError> {
        // Mode 0600 whatever the `umask`: in `/tmp`, a file that others may write is not read again.
        let file = OpenOptions::new()
            .append(true)
            .create_new(true)
            .mode(0o600)
            .open(path)
            .map_err(|e| FileError::new(path, e))?;
        Self::start(path, file)
    }

    fn start(path: &Path, mut file: File) -> Result<Self, SpoolError> {
        let mut header = [0; HEADER_BYTES];
        header[..8].copy_from_slice(&MAGIC);
        header[8..12].copy_from_slice(&VERSION.to_le_bytes());
        file.write_all(&header).map_err(|e| FileError::new(path, e))?;
        let n_bytes = HEADER_BYTES as u64;
        Ok(Self { path: path.to_owned(), file, n_bytes, frame: Vec::new() })
    }

    /// Appends one frame; its payload is given in pieces.
    ///
    /// # Errors
    /// When the payload is larger than [`PAYLOAD_BYTES_MAX`] or the file cannot be written; the file then
    /// ends with the previous frame, and later frames may be appended.
    pub fn append(&mut self, payload: &[&[u8]]) -> Result<(), SpoolError> {
        self.frame.clear();
        FRAMES.append(payload, &mut self.frame).map_err(SpoolError::TooLarge)?;
        if let Err(error) = self.file.write_all(&self.frame) {
            // Best effort: if even this fails, the reader stops at the torn frame and reports it.
            self.file.set_len(self.n_bytes).ok();
            return Err(FileError::new(&self.path, error).into());
        }
        self.n_bytes += self.frame.len() as u64;
        Ok(())
    }

    /// Makes all frames survive a crash of the machine.
    ///
    /// # Errors
    /// When the disk reports a failure.
    pub fn sync(&mut self) -> Result<(), SpoolError> {
        Ok(self.file.sync_data().map_err(|e| FileError::new(&self.path, e))?)
    }

    /// Length of the file.
    pub fn n_bytes(&self) -> u64 {
        self.n_bytes
    }
}

/// Reader of the frames of a file.
#[derive(Debug)]
pub struct SpoolReader {
    path: PathBuf,
    file: BufReader<Take<File>>,
    /// Length of the file when it was opened.
    n_bytes: u64,
    /// Start of the next frame.
    position: u64,
    problem: Option<SpoolProblem>,
}

impl SpoolReader {
    /// Opens a file.
    ///
    /// # Errors
    /// When the file cannot be read, is not a spool, or another version wrote it. A file cut inside its
    /// header is an empty spool with a problem.
    pub fn open(path: &Path) -> Result<Self, SpoolError> {
        let file = File::open(path).map_err(|e| FileError::new(path, e))?;
        let n_bytes = file.metadata().map_err(|e| FileError::new(path, e))?.len();
        let (path, file) = (path.to_owned(), BufReader::new(file.take(n_bytes)));
        let mut reader = Self { path, file, n_bytes, position: 0, problem: None };
        reader.read_header()?;
        Ok(reader)
    }

    /// Reads the next complete frame into `payload`; returns false at the end of the file or at damage.
    ///
    /// # Errors
    /// When the file cannot be read.
    pub fn next_frame(&mut self, payload: &mut Vec<u8>) -> Result<bool, SpoolError> {
        if self.problem.is_some() {
            return Ok(false);
        }
        match FRAMES.read(&mut self.file, payload) {
            Ok(is_there) => {
                let n_waiting = self.file.buffer().len() as u64 + self.file.get_ref().limit();
                self.position = self.n_bytes.saturating_sub(n_waiting);
                Ok(is_there)
            }
            Err(FrameError::Stream(ErrorKind::UnexpectedEof)) => Ok(self.stop(Damage::Torn)),
            Err(FrameError::Stream(kind)) => Err(FileError::new(&self.path, kind.into()).into()),
            Err(_) => Ok(self.stop(Damage::Checksum)),
        }
    }

    /// Returns the damage found so far, if any.
    pub fn problem(&self) -> Option<&SpoolProblem> {
        self.problem.as_ref()
    }

    fn read_header(&mut self) -> Result<(), SpoolError> {
        let mut header = [0; HEADER_BYTES];
        if self.n_bytes < header.len() as u64 {
            self.stop(Damage::Torn);
            return Ok(());
        }
        self.file.read_exact(&mut header).map_err(|e| FileError::new(&self.path, e))?;
        let [v0, v1, v2, v3] = [header[8], header[9], header[10], header[11]];
        let version = u32::from_le_bytes([v0, v1, v2, v3]);
        if header[..8] != MAGIC {
            return Err(SpoolError::NotASpool(self.path.clone()));
        }
        if version != VERSION {
            return Err(SpoolError::OtherVersion { path: self.path.clone(), version });
        }
        self.position = HEADER_BYTES as u64;
        Ok(())
    }

    fn stop(&mut self, damage: Damage) -> bool {
        let n_bytes_lost = self.n_bytes - self.position;
        self.problem = Some(SpoolProblem { damage, at_byte: self.position, n_bytes_lost });
        false
    }
}

/// Reason why the rest of a spool file was not read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SpoolProblem {
    /// Kind of damage.
    pub damage: Damage,
    /// Start of the first frame that could not be read, in bytes from the start of the file.
    pub at_byte: u64,
    /// Bytes from there to the end of the file.
    pub n_bytes_lost: u64,
}

/// Kinds of damage of a frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Damage {
    /// The file ends inside the frame: the writer died, or the disk was full.
    Torn,
    /// The checksum does not match.
    Checksum,
}

/// Failure to read or write a spool.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum SpoolError {
    /// The message does not fit into a frame.
    #[error("a message does not fit into a frame: split it")]
    TooLarge(#[source] FrameError),
    /// The file is of another kind.
    #[error("`{0}` is not a spool file: remove it from the record")]
    NotASpool(PathBuf),
    /// Another version wrote the file.
    #[error(
        "`{path}` has spool version {version}, not {VERSION}: read it with the Sintonia that wrote it"
    )]
    OtherVersion {
        /// Path of the file.
        path: PathBuf,
        /// Spool version of the file.
        version: u32,
    },
    /// The file could not be read or written.
    #[error(transparent)]
    File(#[from] FileError),
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_full_disk_is_named() {
        let full = Path::new("/dev/full");
        let file = OpenOptions::new().append(true).open(full).unwrap();
        let error = SpoolWriter::start(full, file).unwrap_err();
        assert!(matches!(error, SpoolError::File(FileError::StorageFull { .. })), "{error}");
    }

    #[test]
    fn a_message_above_the_limit_is_refused() {
        let dir = tempfile::tempdir().unwrap();
        let mut spool = SpoolWriter::create(&dir.path().join("s")).unwrap();
        let large = vec![0; PAYLOAD_BYTES_MAX / 2 + 1];
        assert!(matches!(spool.append(&[&large, &large]), Err(SpoolError::TooLarge(_))));
        assert_eq!(spool.n_bytes(), HEADER_BYTES as u64);
    }
}
