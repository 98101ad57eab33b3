//! Framing of messages in a byte stream: a length of four bytes, little-endian, then the message.

use serde::Serialize;
use serde::de::DeserializeOwned;

/// Longest message in bytes; the report of a process with many threads and full region tables must fit.
pub const FRAME_BYTES_MAX: usize = 32 << 20;

const LENGTH_BYTES: usize = size_of::<u32>();

/// Failure to encode or decode a message.
#[derive(Debug, thiserror::Error, PartialEq, Eq)]
#[non_exhaustive]
pub enum WireError {
    /// A frame is longer than the receiver accepts.
    #[error(
        "a message of {bytes} bytes exceeds the limit of {bytes_max}; use one version of Sintonia on all nodes"
    )]
    Oversized {
        /// Length of the frame.
        bytes: usize,
        /// Longest frame accepted.
        bytes_max: usize,
    },
    /// The stream ended inside a frame.
    #[error("the connection ended {missing} bytes before the end of a message")]
    Truncated {
        /// Number of missing bytes.
        missing: usize,
    },
    /// The bytes of a frame are not a message of this version.
    #[error("a message cannot be decoded; use one version of Sintonia on all nodes")]
    Unknown {
        /// Error of the decoder.
        source: postcard::Error,
    },
    /// The other side uses another version.
    #[error(
        "the other side uses protocol version {theirs}, this side version {}; use one version of Sintonia on all nodes",
        crate::PROTOCOL
    )]
    Version {
        /// Version of the other side.
        theirs: u16,
    },
    /// A message is followed by further bytes in its frame.
    #[error(
        "a message is followed by {bytes} unexpected bytes; use one version of Sintonia on all nodes"
    )]
    Trailing {
        /// Number of further bytes.
        bytes: usize,
    },
}

/// Appends `message` to `stream` as a frame.
///
/// # Errors
/// When the message is longer than [`FRAME_BYTES_MAX`]; `stream` is then unchanged.
pub fn encode<M: Serialize>(message: &M, stream: &mut Vec<u8>) -> Result<(), WireError> {
    let body = to_bytes(message)?;
    #[expect(clippy::cast_possible_truncation, reason = "FRAME_BYTES_MAX fits in four bytes")]
    let length = body.len() as u32;
    stream.extend_from_slice(&length.to_le_bytes());
    stream.extend_from_slice(&body);
    Ok(())
}

/// Encodes `message` without a frame, for a file that has its own framing.
///
/// # Errors
/// When the message is longer than [`FRAME_BYTES_MAX`].
pub fn to_bytes<M: Serialize>(message: &M) -> Result<Vec<u8>, WireError> {
    let body = postcard::to_allocvec(message).map_err(|source| WireError::Unknown { source })?;
    if FRAME_BYTES_MAX < body.len() {
        return Err(WireError::Oversized { bytes: body.len(), bytes_max: FRAME_BYTES_MAX });
    }
    Ok(body)
}

/// Decodes the message in `body`, the bytes of one frame without its length.
///
/// # Errors
/// When the bytes are not a message of type `M`, or continue after it.
pub fn decode<M: DeserializeOwned>(body: &[u8]) -> Result<M, WireError> {
    let (message, rest) =
        postcard::take_from_bytes(body).map_err(|source| WireError::Unknown { source })?;
    if rest.is_empty() { Ok(message) } else { Err(WireError::Trailing { bytes: rest.len() }) }
}

/// Buffer that splits incoming bytes into messages.
#[derive(Debug)]
pub struct FrameBuffer {
    bytes: Vec<u8>,
    /// Bytes at the front that belong to messages already taken.
    taken: usize,
    frame_bytes_max: usize,
}

impl FrameBuffer {
    /// Creates a buffer that accepts messages of at most `frame_bytes_max` bytes.
    pub fn new(frame_bytes_max: usize) -> Self {
        Self { bytes: Vec::new(), taken: 0, frame_bytes_max }
    }

    /// Appends received bytes.
    pub fn push(&mut self, bytes: &[u8]) {
        self.bytes.drain(..self.taken);
        self.taken = 0;
        self.bytes.extend_from_slice(bytes);
    }

    /// Returns the next message once it is complete.
    ///
    /// # Errors
    /// When the frame is too long or not a message of type `M`; the connection is then unusable.
    pub fn next_message<M: DeserializeOwned>(&mut self) -> Result<Option<M>, WireError> {
        let waiting = &self.bytes[self.taken..];
        let Some((length, rest)) = waiting.split_first_chunk::<LENGTH_BYTES>() else {
            return Ok(None);
        };
        let bytes = u32::from_le_bytes(*length) as usize;
        if self.frame_bytes_max < bytes {
            return Err(WireError::Oversized { bytes, bytes_max: self.frame_bytes_max });
        }
        let Some(body) = rest.get(..bytes) else { return Ok(None) };
        let message = decode(body)?;
        self.taken += LENGTH_BYTES + bytes;
        Ok(Some(message))
    }

    /// Checks, at the end of the stream, that the stream ended between messages.
    ///
    /// # Errors
    /// When the stream ended inside a message.
    pub fn finish(&self) -> Result<(), WireError> {
        let waiting = &self.bytes[self.taken..];
        let missing = match waiting.split_first_chunk::<LENGTH_BYTES>() {
            None if waiting.is_empty() => return Ok(()),
            None => LENGTH_BYTES - waiting.len(),
            Some((length, rest)) => {
                (u32::from_le_bytes(*length) as usize).saturating_sub(rest.len())
            }
        };
        if missing == 0 { Ok(()) } else { Err(WireError::Truncated { missing }) }
    }
}
