//! Target: the stream between a collector and the analyzer, as a stranger or a cut connection may leave it.

use ::wire::{FrameBuffer, ToAnalyzer, ToCollector};
use serde::de::DeserializeOwned;

/// Limit of a frame, in bytes, about as much as strangers are allowed.
const FRAME_BYTES_MAX: usize = 64 * 1024;

/// Reads the bytes as the messages to either side, in pieces whose length is the first byte.
pub(crate) fn run(bytes: &[u8]) {
    let Some((piece, stream)) = bytes.split_first() else { return };
    hear::<ToAnalyzer>(usize::from(*piece).max(1), stream);
    hear::<ToCollector>(usize::from(*piece).max(1), stream);
}

fn hear<M: DeserializeOwned>(piece: usize, stream: &[u8]) {
    let mut buffer = FrameBuffer::new(FRAME_BYTES_MAX);
    for piece in stream.chunks(piece) {
        buffer.push(piece);
        while let Ok(Some(_)) = buffer.next_message::<M>() {}
    }
}
