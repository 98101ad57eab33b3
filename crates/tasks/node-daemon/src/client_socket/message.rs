//! Messages at the client socket: JSON in frames.

use std::io::{ErrorKind, Read, Write};

use frame::{Format, FrameError};
use serde::{Serialize, de::DeserializeOwned};

/// Longest request in bytes.
pub const REQUEST_BYTES_MAX: usize = 1 << 20;
/// Frames of requests.
pub(super) const REQUESTS: Format = Format::plain(REQUEST_BYTES_MAX);
/// Frames of answers.
pub(super) const ANSWERS: Format = Format::plain(64 << 20);

/// Reasons why a message cannot be read or written.
#[derive(Debug)]
pub(super) enum MessageError {
    /// The connection ended, or the other side did not read.
    Io(ErrorKind),
    /// The message is too long: the connection is of no more use.
    TooLong(usize),
    /// The bytes are no message; the next ones may be.
    Json(serde_json::Error),
}

impl From<FrameError> for MessageError {
    fn from(error: FrameError) -> Self {
        match error {
            FrameError::Oversized { n_bytes, .. } => Self::TooLong(n_bytes),
            FrameError::Stream(kind) => Self::Io(kind),
            FrameError::Damaged | FrameError::Unknown => Self::Io(ErrorKind::InvalidData),
        }
    }
}

pub(super) fn read<M: DeserializeOwned>(
    stream: &mut impl Read,
    format: Format,
) -> Result<M, MessageError> {
    let mut json = Vec::new();
    match format.read(stream, &mut json)? {
        true => serde_json::from_slice(&json).map_err(MessageError::Json),
        false => Err(MessageError::Io(ErrorKind::UnexpectedEof)),
    }
}

pub(super) fn write<M: Serialize>(
    stream: &mut impl Write,
    message: &M,
    format: Format,
) -> Result<(), MessageError> {
    let json = serde_json::to_vec(message).map_err(MessageError::Json)?;
    let mut bytes = Vec::new();
    format.append(&[&json], &mut bytes)?;
    Ok(stream.write_all(&bytes).map_err(FrameError::from)?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_message_comes_back_and_a_long_one_is_refused_on_both_sides() {
        let (mut bytes, six, seven) = (Vec::new(), Format::plain(6), Format::plain(7));
        write(&mut bytes, &"hello", seven).unwrap();
        assert_eq!(read::<String>(&mut bytes.as_slice(), seven).unwrap(), "hello");
        assert!(matches!(
            read::<String>(&mut bytes.as_slice(), six),
            Err(MessageError::TooLong(7))
        ));
        assert!(matches!(write(&mut bytes, &"hello", six), Err(MessageError::TooLong(7))));
        assert!(matches!(read::<u8>(&mut bytes.as_slice(), seven), Err(MessageError::Json(_))));
        let cut = read::<String>(&mut &bytes[..6], seven);
        assert!(matches!(cut, Err(MessageError::Io(ErrorKind::UnexpectedEof))));
    }
}
