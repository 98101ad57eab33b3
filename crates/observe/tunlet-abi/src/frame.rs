//! Messages between a run and the process of a tunlet: a length of four bytes, little-endian, then the message.
//!
//! # Not here
//! A version: both ends are the same program.

use app_description::Application;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use std::io::{self, Read, Write};
use tunlets::{Decision, News, Requests, TunletSpec, World};

/// Maximum size of an answer, in bytes.
pub(crate) const ANSWER_BYTES_MAX: usize = 4 << 20;
/// Maximum size of an order, in bytes.
pub(crate) const ORDER_BYTES_MAX: usize = 64 << 20;

const LENGTH_BYTES: usize = size_of::<u32>();

/// Message from a run to the process of a tunlet.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) enum Order {
    /// The run begins.
    Begin { application: Box<Application>, world: World },
    /// News, in order.
    Hear(Vec<News>),
}

/// Message from the process of a tunlet; one for each order, after an initial unrequested `Opened`.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) enum Answer {
    /// Specification of the loaded tunlet, or the reason why it cannot be loaded.
    Opened(Result<TunletSpec, String>),
    /// Requests of the tunlet, or the reason why it cannot begin.
    Begun(Result<Requests, String>),
    /// Decisions on the news.
    Heard(Vec<Decision>),
}

/// Reason why a stream of frames is no longer usable.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub(crate) enum FrameError {
    /// A frame is longer than the receiver accepts.
    #[error("a message of {bytes} bytes is longer than the {bytes_max} that are taken")]
    Oversized { bytes: usize, bytes_max: usize },
    /// The bytes of a frame cannot be decoded.
    #[error("a message cannot be understood")]
    Unknown(#[from] postcard::Error),
    /// The stream failed.
    #[error("the pipe failed")]
    Pipe(#[from] io::Error),
}

/// Encodes a message with its frame.
pub(crate) fn encode<M: Serialize>(message: &M, bytes_max: usize) -> Result<Vec<u8>, FrameError> {
    let mut frame = postcard::to_extend(message, vec![0; LENGTH_BYTES])?;
    let bytes = frame.len() - LENGTH_BYTES;
    let length = u32::try_from(bytes).ok().filter(|_| bytes <= bytes_max);
    let length = length.ok_or(FrameError::Oversized { bytes, bytes_max })?;
    frame[..LENGTH_BYTES].copy_from_slice(&length.to_le_bytes());
    Ok(frame)
}

/// Writes a message.
pub(crate) fn write<M: Serialize>(
    to: &mut impl Write,
    message: &M,
    bytes_max: usize,
) -> Result<(), FrameError> {
    Ok(to.write_all(&encode(message, bytes_max)?)?)
}

/// Waits for a message; returns `None` at the end of the stream.
pub(crate) fn read<M: DeserializeOwned>(
    from: &mut impl Read,
    bytes_max: usize,
) -> Result<Option<M>, FrameError> {
    let mut buffer = FrameBuffer::new(bytes_max);
    let mut first = [0; LENGTH_BYTES];
    match from.read_exact(&mut first) {
        Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => return Ok(None),
        other => other?,
    }
    buffer.push(&first);
    let mut body = vec![0; buffer.missing()?];
    from.read_exact(&mut body)?;
    buffer.push(&body);
    buffer.next_message()
}

/// Buffer that splits arriving bytes into messages.
#[derive(Debug)]
pub(crate) struct FrameBuffer {
    bytes: Vec<u8>,
    bytes_max: usize,
}

impl FrameBuffer {
    /// Creates a buffer for messages of at most `bytes_max` bytes.
    pub(crate) fn new(bytes_max: usize) -> Self {
        Self { bytes: Vec::new(), bytes_max }
    }

    /// Adds bytes that arrived.
    pub(crate) fn push(&mut self, bytes: &[u8]) {
        self.bytes.extend_from_slice(bytes);
    }

    /// Returns the number of bytes missing from the first message, as far as is known.
    fn missing(&self) -> Result<usize, FrameError> {
        let Some((length, rest)) = self.bytes.split_first_chunk::<LENGTH_BYTES>() else {
            return Ok(LENGTH_BYTES - self.bytes.len());
        };
        let bytes = u32::from_le_bytes(*length) as usize;
        if self.bytes_max < bytes {
            return Err(FrameError::Oversized { bytes, bytes_max: self.bytes_max });
        }
        Ok(bytes.saturating_sub(rest.len()))
    }

    /// Returns the next message if it is complete.
    pub(crate) fn next_message<M: DeserializeOwned>(&mut self) -> Result<Option<M>, FrameError> {
        if self.bytes.len() < LENGTH_BYTES || 0 < self.missing()? {
            return Ok(None);
        }
        let (length, rest) = self.bytes.split_at(LENGTH_BYTES);
        let bytes = length.iter().rev().fold(0, |sum, byte| sum << 8 | usize::from(*byte));
        let message = postcard::from_bytes(&rest[..bytes])?;
        self.bytes.drain(..LENGTH_BYTES + bytes);
        Ok(Some(message))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Decodes `bytes` arriving in pieces of `n`; checks the lengths of the answers, and whether decoding fails.
    #[track_caller]
    fn check(bytes: &[u8], n: usize, expected: &[usize], fails: bool) {
        let mut buffer = FrameBuffer::new(100);
        let mut lengths = Vec::new();
        let mut failed = false;
        for piece in bytes.chunks(n) {
            buffer.push(piece);
            while !failed {
                match buffer.next_message::<Vec<u8>>() {
                    Ok(Some(message)) => lengths.push(message.len()),
                    Ok(None) => break,
                    Err(_) => failed = true,
                }
            }
        }
        assert_eq!((lengths.as_slice(), failed), (expected, fails));
    }

    #[test]
    fn messages_are_cut_wherever_they_were_torn() {
        let mut two = encode(&vec![7_u8; 3], 100).unwrap();
        two.extend(encode(&vec![7_u8; 90], 100).unwrap());
        for n in [1, 3, 4, 5, 100] {
            check(&two, n, &[3, 90], false);
        }
        check(&[], 1, &[], false);
        check(&[1, 0, 0], 1, &[], false);
        check(&[101, 0, 0, 0], 4, &[], true);
        check(&[1, 0, 0, 0, 9], 5, &[], true);
        check(b"hello, this is no frame", 7, &[], true);
    }

    #[test]
    fn what_is_written_is_read() {
        let mut pipe = Vec::new();
        write(&mut pipe, &vec![1_u8, 2], 10).unwrap();
        let mut from = pipe.as_slice();
        assert_eq!(read::<Vec<u8>>(&mut from, 10).unwrap(), Some(vec![1, 2]));
        assert_eq!(read::<Vec<u8>>(&mut from, 10).unwrap(), None);
        assert!(matches!(
            encode(&vec![0_u8; 11], 10),
            Err(FrameError::Oversized { bytes: 12, bytes_max: 10 })
        ));
    }
}
