//! Checksums of the files of a finished record, so that a damaged file is reported instead of read.
//!
//! File formats detect only some damage; a changed number in a column or in JSON is as valid as the original.

use crate::file_error::FileError;
use serde::{Deserialize, Serialize};
use std::fs::File;
use std::io::{self, Read};
use std::path::Path;

const PIECE_BYTES: usize = 1 << 16;

/// Length and CRC-32 of a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Checksum {
    /// Length in bytes.
    pub bytes: u64,
    /// CRC-32 of the whole content.
    pub crc32: u32,
}

impl Checksum {
    /// Computes the checksum of the file at `path`; `None` if there is no file.
    pub(crate) fn of(path: &Path) -> Result<Option<Self>, FileError> {
        match File::open(path) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
            opened => {
                let read = opened.and_then(Self::read);
                read.map(Some).map_err(|error| FileError::new(path, error))
            }
        }
    }

    fn read(mut file: File) -> io::Result<Self> {
        let (mut hasher, mut bytes, mut piece) =
            (crc32fast::Hasher::new(), 0, vec![0; PIECE_BYTES]);
        loop {
            match file.read(&mut piece) {
                Ok(0) => return Ok(Self { bytes, crc32: hasher.finalize() }),
                Ok(n) => {
                    hasher.update(&piece[..n]);
                    bytes += n as u64;
                }
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
    }
}
