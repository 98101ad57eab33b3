//! Messages in a stream of bytes: a length of four bytes, little-endian, then the message.

use serde::Serialize;
use serde::de::DeserializeOwned;

/// Longest message: the report of a process with many threads and full region tables.
pub const FRAME_BYTES_MAX: usize = 32 << 20;

const LENGTH_BYTES: usize = size_of::<u32>();

/// Why bytes are not a message.
#[derive(Debug, thiserror::Error, PartialEq, Eq)]
#[non_exhaustive]
pub enum WireError {
    /// A frame is longer than the receiver takes.
    #[error(
        "a message of {bytes} bytes is longer than the {bytes_max} that are taken; use one version of Sintonia everywhere"
    )]
    Oversized {
        /// Its length.
        bytes: usize,
        /// The bound.
        bytes_max: usize,
    },
    /// The stream ended inside a frame.
    #[error("the connection ended {missing} bytes before the end of a message")]
    Truncated {
        /// Bytes that did not come.
        missing: usize,
    },
    /// The bytes of a frame are no message of this version.
    #[error("a message cannot be understood; use one version of Sintonia everywhere")]
    Unknown {
        /// What the decoder says.
        source: postcard::Error,
    },
    /// The other side speaks another version.
    #[error(
        "the other side speaks version {theirs} of these messages and this one version {}; use one version of Sintonia on all nodes",
        crate::PROTOCOL
    )]
    Version {
        /// Its version.
        theirs: u16,
    },
    /// A message is followed by something else in its frame.
    #[error("a message has {bytes} bytes too many; use one version of Sintonia everywhere")]
    Trailing {
        /// How many.
        bytes: usize,
    },
}

/// Appends `message` to `stream` as a frame.
///
/// # Errors
/// When it is longer than [`FRAME_BYTES_MAX`]; `stream` is then unchanged.
pub fn encode<M: Serialize>(message: &M, stream: &mut Vec<u8>) -> Result<(), WireError> {
    let body = to_bytes(message)?;
    #[expect(clippy::cast_possible_truncation, reason = "FRAME_BYTES_MAX fits in four bytes")]
    let length = body.len() as u32;
    stream.extend_from_slice(&length.to_le_bytes());
    stream.extend_from_slice(&body);
    Ok(())
}

/// The bytes of `message` without a frame, for a file that has frames of its own.
///
/// # Errors
/// When it is longer than [`FRAME_BYTES_MAX`].
pub fn to_bytes<M: Serialize>(message: &M) -> Result<Vec<u8>, WireError> {
    let body = postcard::to_allocvec(message).map_err(|source| WireError::Unknown { source })?;
    if FRAME_BYTES_MAX < body.len() {
        return Err(WireError::Oversized { bytes: body.len(), bytes_max: FRAME_BYTES_MAX });
    }
    Ok(body)
}

/// The message in `body`, the bytes of one frame without its length.
///
/// # Errors
/// When the bytes are no such message, or more than one.
pub fn decode<M: DeserializeOwned>(body: &[u8]) -> Result<M, WireError> {
    let (message, rest) =
        postcard::take_from_bytes(body).map_err(|source| WireError::Unknown { source })?;
    if rest.is_empty() { Ok(message) } else { Err(WireError::Trailing { bytes: rest.len() }) }
}

/// Bytes as they arrive, cut into messages.
#[derive(Debug)]
pub struct FrameBuffer {
    bytes: Vec<u8>,
    /// Bytes at the front that belong to messages already taken.
    taken: usize,
    frame_bytes_max: usize,
}

impl FrameBuffer {
    /// Takes messages of at most `frame_bytes_max` bytes.
    pub fn new(frame_bytes_max: usize) -> Self {
        Self { bytes: Vec::new(), taken: 0, frame_bytes_max }
    }

    /// Adds bytes that arrived.
    pub fn push(&mut self, bytes: &[u8]) {
        self.bytes.drain(..self.taken);
        self.taken = 0;
        self.bytes.extend_from_slice(bytes);
    }

    /// The next message, when it is complete.
    ///
    /// # Errors
    /// When the frame is too long or no such message; the connection is of no more use.
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

    /// Checks, at the end of the stream, that it ended between messages.
    ///
    /// # Errors
    /// When it ended inside one.
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
