//! Encoding of messages and their frames in a stream.

use frame::{Format, FrameBuffer, FrameError};
use serde::Serialize;
use serde::de::DeserializeOwned;

/// Frames of messages; the report of a process with many threads and full region tables must fit.
pub const FRAMES: Format = Format::plain(32 << 20);

/// Failure to encode or decode a message.
#[derive(Debug, thiserror::Error, PartialEq, Eq)]
#[non_exhaustive]
pub enum WireError {
    /// A message is too long, or the bytes are no frame.
    #[error("a message has no valid frame; use one version of Sintonia on all nodes")]
    Frame(#[from] FrameError),
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
/// When the message is too long; `stream` is then unchanged.
pub fn encode<M: Serialize>(message: &M, stream: &mut Vec<u8>) -> Result<(), WireError> {
    Ok(FRAMES.append(&[&to_bytes(message)?], stream)?)
}

/// Encodes `message` without a frame, for a file that has its own framing.
///
/// # Errors
/// When the message has no encoding.
pub fn to_bytes<M: Serialize>(message: &M) -> Result<Vec<u8>, WireError> {
    postcard::to_allocvec(message).map_err(|source| WireError::Unknown { source })
}

/// Decodes the message in `body`, the payload of one frame.
///
/// # Errors
/// When the bytes are not a message of type `M`, or continue after it.
pub fn decode<M: DeserializeOwned>(body: &[u8]) -> Result<M, WireError> {
    let (message, rest) =
        postcard::take_from_bytes(body).map_err(|source| WireError::Unknown { source })?;
    if rest.is_empty() { Ok(message) } else { Err(WireError::Trailing { bytes: rest.len() }) }
}

/// Returns the next message of a stream once it is complete.
///
/// # Errors
/// When the bytes are no frame, or not a message of type `M`; the connection is then unusable.
pub fn next_message<M: DeserializeOwned>(frames: &mut FrameBuffer) -> Result<Option<M>, WireError> {
    frames.next_frame()?.map(decode).transpose()
}
