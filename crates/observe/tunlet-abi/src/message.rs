//! Messages between a run and the process of a tunlet, in frames.
//!
//! # Not here
//! A version: both ends are the same program.

use app_description::Application;
use frame::{Format, FrameBuffer, FrameError};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use std::io::{Read, Write};
use tunlets::{Decision, News, Requests, TunletSpec, World};

/// Frames of answers.
pub(crate) const ANSWERS: Format = Format::plain(4 << 20);
/// Frames of orders.
pub(crate) const ORDERS: Format = Format::plain(64 << 20);

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

/// Reason why a stream of messages is no longer usable.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub(crate) enum MessageError {
    /// A message is too long, the bytes are no frame, or the pipe failed.
    #[error(transparent)]
    Frame(#[from] FrameError),
    /// The bytes of a frame cannot be decoded.
    #[error("a message cannot be understood")]
    Unknown(#[from] postcard::Error),
}

/// Writes a message.
pub(crate) fn write<M: Serialize>(
    to: &mut impl Write,
    message: &M,
    format: Format,
) -> Result<(), MessageError> {
    let mut bytes = Vec::new();
    format.append(&[&postcard::to_allocvec(message)?], &mut bytes)?;
    Ok(to.write_all(&bytes).map_err(FrameError::from)?)
}

/// Waits for a message; returns `None` at the end of the stream.
pub(crate) fn read<M: DeserializeOwned>(
    from: &mut impl Read,
    format: Format,
) -> Result<Option<M>, MessageError> {
    let mut payload = Vec::new();
    let is_there = format.read(from, &mut payload)?;
    Ok(is_there.then(|| postcard::from_bytes(&payload)).transpose()?)
}

/// Returns the next message of a stream once it is complete.
pub(crate) fn next<M: DeserializeOwned>(
    frames: &mut FrameBuffer,
) -> Result<Option<M>, MessageError> {
    Ok(frames.next_frame()?.map(postcard::from_bytes).transpose()?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_written_is_read() {
        let (mut pipe, format) = (Vec::new(), Format::plain(10));
        write(&mut pipe, &vec![1_u8, 2], format).unwrap();
        let mut from = pipe.as_slice();
        assert_eq!(read::<Vec<u8>>(&mut from, format).unwrap(), Some(vec![1, 2]));
        assert_eq!(read::<Vec<u8>>(&mut from, format).unwrap(), None);
        let long = write(&mut pipe, &vec![0_u8; 11], format);
        assert!(matches!(long, Err(MessageError::Frame(FrameError::Oversized { .. }))));
        let foreign = read::<Vec<u8>>(&mut [1, 0, 0, 0, 9].as_slice(), format);
        assert!(matches!(foreign, Err(MessageError::Unknown(_))));
    }
}
