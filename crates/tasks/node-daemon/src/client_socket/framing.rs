//! Framing of messages at the door: length and JSON.

use std::io::{self, ErrorKind, Read, Write};

use serde::{Serialize, de::DeserializeOwned};

/// Longest request in bytes.
pub const REQUEST_BYTES_MAX: usize = 1 << 20;
/// Longest answer in bytes.
pub const ANSWER_BYTES_MAX: usize = 64 << 20;

/// Reasons why a message cannot be read or written.
#[derive(Debug)]
pub(super) enum FrameError {
    /// The connection ended, or the other side did not read.
    Io(io::Error),
    /// The message is too long: the connection is of no more use.
    TooLong(usize),
    /// The bytes are no message; the next ones may be.
    Json(serde_json::Error),
}

impl From<io::Error> for FrameError {
    fn from(error: io::Error) -> Self {
        Self::Io(error)
    }
}

pub(super) fn read<M: DeserializeOwned>(
    stream: &mut impl Read,
    n_bytes_max: usize,
) -> Result<M, FrameError> {
    let mut length = [0; 4];
    stream.read_exact(&mut length)?;
    let n_bytes = usize::try_from(u32::from_le_bytes(length)).unwrap_or(usize::MAX);
    if n_bytes_max < n_bytes {
        return Err(FrameError::TooLong(n_bytes));
    }
    // Grows with the bytes that arrive: a length alone costs nothing.
    let mut json = Vec::new();
    let n_bytes_limit = u64::try_from(n_bytes).unwrap_or(u64::MAX);
    stream.take(n_bytes_limit).read_to_end(&mut json)?;
    if json.len() < n_bytes {
        return Err(FrameError::Io(ErrorKind::UnexpectedEof.into()));
    }
    serde_json::from_slice(&json).map_err(FrameError::Json)
}

pub(super) fn write<M: Serialize>(
    stream: &mut impl Write,
    message: &M,
    n_bytes_max: usize,
) -> Result<(), FrameError> {
    let mut frame = vec![0; 4];
    serde_json::to_writer(&mut frame, message).map_err(FrameError::Json)?;
    let n_bytes = frame.len() - 4;
    let length = u32::try_from(n_bytes).unwrap_or(u32::MAX);
    if n_bytes_max < n_bytes {
        return Err(FrameError::TooLong(n_bytes));
    }
    frame[..4].copy_from_slice(&length.to_le_bytes());
    Ok(stream.write_all(&frame)?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_message_comes_back_and_a_long_one_is_refused_on_both_sides() {
        let mut bytes = Vec::new();
        write(&mut bytes, &"hello", 7).unwrap();
        assert_eq!(bytes, b"\x07\0\0\0\"hello\"");
        assert_eq!(read::<String>(&mut bytes.as_slice(), 7).unwrap(), "hello");
        assert!(matches!(read::<String>(&mut bytes.as_slice(), 6), Err(FrameError::TooLong(7))));
        assert!(matches!(write(&mut bytes, &"hello", 6), Err(FrameError::TooLong(7))));
        assert!(matches!(read::<u8>(&mut bytes.as_slice(), 7), Err(FrameError::Json(_))));
        let cut = read::<String>(&mut &bytes[..6], 7);
        assert!(
            matches!(cut, Err(FrameError::Io(error)) if error.kind() == ErrorKind::UnexpectedEof)
        );
    }
}
