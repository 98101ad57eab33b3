//! Records as bytes and back.

use std::io::{self, Read};

use serde::{Deserialize, Serialize};

use crate::book::Record;

/// Longest record: a submission, or an end with all that the task wrote.
pub const RECORD_BYTES_MAX: usize = 1 << 20;
/// The beginning of a journal, with its version. Kinds of records only ever come behind those that there are, with
/// a new version: journals of older ones are read, and are of this one from then on.
pub(super) const HEADER: &[u8; 20] = b"sintonia-journal\x02\0\0\0";
/// Without starts and stories.
pub(super) const HEADER_1: &[u8; 20] = b"sintonia-journal\x01\0\0\0";

const FRAME_BYTES: usize = 8;

/// Why a record cannot be written.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum FormatError {
    /// It is too long.
    #[error(
        "a record of {n_bytes} bytes is longer than the {RECORD_BYTES_MAX} that a journal takes"
    )]
    TooLong {
        /// Its length.
        n_bytes: usize,
    },
    /// It cannot be said in bytes.
    #[error("a record cannot be encoded")]
    Encoding {
        /// What the encoder says.
        source: postcard::Error,
    },
}

/// What is in a file.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) enum Line {
    /// Whose it is.
    Node { name: String },
    /// What happened.
    Record(Record),
}

/// The same, to be written without a copy.
#[derive(Serialize)]
enum LineRef<'a> {
    Node { name: &'a str },
    Record(&'a Record),
}

/// Appends a record.
///
/// # Errors
/// When it is longer than [`RECORD_BYTES_MAX`]; nothing is appended then.
pub fn encode(record: &Record, to: &mut Vec<u8>) -> Result<(), FormatError> {
    encode_line(&LineRef::Record(record), to)
}

/// The header, and the name of the node.
pub(super) fn encode_header(name: &str, to: &mut Vec<u8>) -> Result<(), FormatError> {
    to.extend_from_slice(HEADER);
    encode_line(&LineRef::Node { name }, to)
}

fn encode_line(line: &LineRef<'_>, to: &mut Vec<u8>) -> Result<(), FormatError> {
    let begin = to.len();
    to.extend_from_slice(&[0; FRAME_BYTES]);
    let written = postcard::to_extend(line, std::mem::take(to));
    *to = written.map_err(|source| FormatError::Encoding { source })?;
    let n_bytes = to.len() - begin - FRAME_BYTES;
    if RECORD_BYTES_MAX < n_bytes {
        to.truncate(begin);
        return Err(FormatError::TooLong { n_bytes });
    }
    #[expect(clippy::cast_possible_truncation, reason = "RECORD_BYTES_MAX fits in four bytes")]
    let length = (n_bytes as u32).to_le_bytes();
    let crc = crc_of(length, &to[begin + FRAME_BYTES..]);
    to[begin..begin + 4].copy_from_slice(&length);
    to[begin + 4..begin + FRAME_BYTES].copy_from_slice(&crc.to_le_bytes());
    Ok(())
}

/// Reads records, `from` behind the header, until there are no more that are whole. Returns how many bytes those
/// have.
///
/// # Errors
/// When `from` cannot be read: that its bytes make no sense is no error.
pub fn read(from: &mut impl Read, mut take: impl FnMut(Record)) -> io::Result<u64> {
    read_lines(from, |line| {
        if let Line::Record(record) = line {
            take(record);
        }
    })
}

/// The same, with the name of the node.
pub(super) fn read_lines(from: &mut impl Read, mut take: impl FnMut(Line)) -> io::Result<u64> {
    let mut payload = Vec::new();
    let mut n_bytes_good = 0;
    while let Some(line) = read_line(from, &mut payload)? {
        n_bytes_good += (FRAME_BYTES + payload.len()) as u64;
        take(line);
    }
    Ok(n_bytes_good)
}

fn read_line(from: &mut impl Read, payload: &mut Vec<u8>) -> io::Result<Option<Line>> {
    let mut frame = [0; FRAME_BYTES];
    if read_fully(from, &mut frame)? < FRAME_BYTES {
        return Ok(None);
    }
    let [a, b, c, d, e, f, g, h] = frame;
    let (length, crc) = ([a, b, c, d], u32::from_le_bytes([e, f, g, h]));
    let n_bytes = u32::from_le_bytes(length) as usize;
    if n_bytes == 0 || RECORD_BYTES_MAX < n_bytes {
        return Ok(None);
    }
    payload.resize(n_bytes, 0);
    if read_fully(from, payload)? < n_bytes || crc_of(length, payload) != crc {
        return Ok(None);
    }
    Ok(postcard::from_bytes(payload).ok())
}

fn crc_of(length: [u8; 4], payload: &[u8]) -> u32 {
    let mut crc = crc32fast::Hasher::new();
    crc.update(&length);
    crc.update(payload);
    crc.finalize()
}

/// Reads until `to` is full or there is nothing more.
pub(super) fn read_fully(from: &mut impl Read, to: &mut [u8]) -> io::Result<usize> {
    let mut n_read = 0;
    while n_read < to.len() {
        match from.read(&mut to[n_read..]) {
            Ok(0) => break,
            Ok(n) => n_read += n,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
    Ok(n_read)
}

#[cfg(test)]
mod tests;
