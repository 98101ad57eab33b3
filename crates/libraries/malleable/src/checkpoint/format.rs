//! Format of checkpoint files, for any source of bytes: a header, arrays, and in the first file an index of both files.
//!
//! # Invariants
//! - Only what was written is accepted: the header is checked word for word, the rest has a checksum that shows every
//!   change of a word, and the index must describe the arrays to the last byte.
//! - A file of constant data has the id that the index names, whatever the file is called.

use super::index::Index;
use bytemuck::{Pod, Zeroable};
use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;

const MAGIC: [u8; 8] = *b"SINTOCKP";
const VERSION: u64 = 1;

/// Header of a file.
#[derive(Clone, Copy, Debug, Default, Pod, Zeroable)]
#[repr(C)]
pub(super) struct FileHeader {
    magic: [u8; 8],
    version: u64,
    /// Id of the checkpoint's constant data, which both files have.
    id: u64,
    n_body: u64,
    n_index: u64,
    /// Checksum of all that follows.
    checksum: u64,
}

pub(super) const HEADER_BYTES: u64 = size_of::<FileHeader>() as u64;

/// Defect of a checkpoint file.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum FileFault {
    /// It cannot be read.
    #[error("cannot be read as a checkpoint: {0}")]
    Unread(#[from] io::Error),
    /// It is another kind of file.
    #[error("is not a checkpoint; name another file with `--checkpoint`")]
    Foreign,
    /// Another version of this library wrote it.
    #[error(
        "is a checkpoint of version {0}, and this program reads version {VERSION}; go on with the program that wrote it, or remove it to \
         start anew"
    )]
    Version(u64),
    /// There are fewer or more bytes than were written.
    #[error("is a checkpoint that is cut off; remove it to start anew")]
    Truncated,
    /// The bytes differ from the written ones.
    #[error("is a checkpoint that is damaged; remove it to start anew")]
    Damaged,
}

/// Bytes that can be read at any position.
pub(super) trait Bytes {
    fn n_bytes(&self) -> io::Result<u64>;
    fn read_at(&self, bytes: &mut [u8], at: u64) -> io::Result<()>;
}

impl Bytes for File {
    fn n_bytes(&self) -> io::Result<u64> {
        Ok(self.metadata()?.len())
    }

    fn read_at(&self, bytes: &mut [u8], at: u64) -> io::Result<()> {
        self.read_exact_at(bytes, at)
    }
}

impl Bytes for &[u8] {
    fn n_bytes(&self) -> io::Result<u64> {
        Ok(self.len() as u64)
    }

    fn read_at(&self, bytes: &mut [u8], at: u64) -> io::Result<()> {
        let from = usize::try_from(at).ok().and_then(|at| self.get(at..));
        let from = from.and_then(|rest| rest.get(..bytes.len()));
        bytes.copy_from_slice(from.ok_or(io::ErrorKind::UnexpectedEof)?);
        Ok(())
    }
}

impl FileHeader {
    /// Creates the header for the rest of the file.
    pub(super) fn of(
        file: &impl Bytes,
        (id, n_body, n_index): (u64, u64, u64),
    ) -> io::Result<Self> {
        let checksum = checksum(file)?;
        Ok(Self { magic: MAGIC, version: VERSION, id, n_body, n_index, checksum })
    }
}

/// Reads the header and the index of the first file.
pub(super) fn first(file: &impl Bytes) -> Result<(FileHeader, Index), FileFault> {
    let header = examine(file)?;
    let mut text = vec![0; usize::try_from(header.n_index).unwrap_or(0)];
    file.read_at(&mut text, HEADER_BYTES + header.n_body)?;
    let index: Index = serde_json::from_slice(&text).map_err(|_| FileFault::Damaged)?;
    if header.id == index.constants { Ok((header, index)) } else { Err(FileFault::Damaged) }
}

/// Checks that the file of constant data belongs to the first file.
pub(super) fn second(
    file: &impl Bytes,
    first: &FileHeader,
    index: &Index,
) -> Result<(), FileFault> {
    let header = examine(file)?;
    let is_alone = header.id == first.id && header.n_index == 0;
    let is_whole = is_alone && index.describes([first.n_body, header.n_body]);
    is_whole.then_some(()).ok_or(FileFault::Damaged)
}

/// Reads the header of a file and checks that the file is complete.
fn examine(file: &impl Bytes) -> Result<FileHeader, FileFault> {
    let n_bytes = file.n_bytes()?;
    let mut header = FileHeader::default();
    if n_bytes < HEADER_BYTES {
        return Err(FileFault::Truncated);
    }
    file.read_at(bytemuck::bytes_of_mut(&mut header), 0)?;
    if header.magic != MAGIC {
        return Err(FileFault::Foreign);
    }
    if header.version != VERSION {
        return Err(FileFault::Version(header.version));
    }
    if n_bytes != HEADER_BYTES.saturating_add(header.n_body).saturating_add(header.n_index) {
        return Err(FileFault::Truncated);
    }
    if header.checksum != checksum(file)? {
        return Err(FileFault::Damaged);
    }
    Ok(header)
}

/// Checksum of all that follows the header, mixed word by word.
fn checksum(file: &impl Bytes) -> io::Result<u64> {
    const PRIME: u64 = 0x0100_0000_01b3;
    let end = file.n_bytes()?;
    let mut mixed = 0xcbf2_9ce4_8422_2325_u64;
    let mut piece = Vec::new();
    for at in (HEADER_BYTES..end).step_by(super::PIECE_BYTES) {
        let n_here = usize::try_from(end - at).unwrap_or(usize::MAX).min(super::PIECE_BYTES);
        piece.resize(n_here, 0);
        file.read_at(&mut piece, at)?;
        let (words, rest) = piece.as_chunks::<8>();
        for word in words {
            mixed = (mixed ^ u64::from_le_bytes(*word)).wrapping_mul(PRIME).rotate_left(23);
        }
        for byte in rest {
            mixed = (mixed ^ u64::from(*byte)).wrapping_mul(PRIME);
        }
    }
    Ok(mixed)
}

/// Returns whether these are the two files of a checkpoint.
#[must_use]
pub fn are_checkpoint(variable: &[u8], constants: &[u8]) -> bool {
    let found = first(&variable);
    found.is_ok_and(|(header, index)| second(&constants, &header, &index).is_ok())
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::path::Path;

    /// Files of a rod of 12 rows, as version 1 wrote them.
    fn sample() -> [Vec<u8>; 2] {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/samples/checkpoint-v1");
        let names = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
        let (constants, variable) =
            names.partition::<Vec<_>, _>(|path| path.to_string_lossy().contains(".constant-"));
        [variable, constants].map(|paths| std::fs::read(&paths[0]).unwrap())
    }

    /// Regression: a flipped bit in the id of a header went unnoticed: constant data of another run were taken for this
    /// run's.
    #[test]
    fn no_byte_can_be_another_one() {
        let whole = sample();
        assert!(are_checkpoint(&whole[0], &whole[1]));
        for which in 0..2 {
            for bit in 0..8 * whole[which].len() {
                let mut files = whole.clone();
                files[which][bit / 8] ^= 1 << (bit % 8);
                assert!(!are_checkpoint(&files[0], &files[1]), "bit {bit} of file {which}");
            }
        }
    }

    #[test]
    fn no_byte_can_be_missing_or_too_many() {
        let whole = sample();
        for which in 0..2 {
            for n_bytes in 0..whole[which].len() {
                let mut files = whole.clone();
                files[which].truncate(n_bytes);
                assert!(!are_checkpoint(&files[0], &files[1]), "{n_bytes} bytes");
            }
            let mut files = whole.clone();
            files[which].push(0);
            assert!(!are_checkpoint(&files[0], &files[1]));
        }
        assert!(!are_checkpoint(&whole[1], &whole[0]));
        assert!(!are_checkpoint(&whole[0], &whole[0]));
    }
}
