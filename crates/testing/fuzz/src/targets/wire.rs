//! Target: the stream between a collector and the analyzer, as a stranger or a cut connection may leave it.

use ::frame::FrameBuffer;
use ::wire::{FRAMES, ToAnalyzer, ToCollector};
use serde::de::DeserializeOwned;

/// Reads the bytes as the messages to either side, in pieces whose length is the first byte.
pub(crate) fn run(bytes: &[u8]) {
    let Some((piece, stream)) = bytes.split_first() else { return };
    hear::<ToAnalyzer>(usize::from(*piece).max(1), stream);
    hear::<ToCollector>(usize::from(*piece).max(1), stream);
}

fn hear<M: DeserializeOwned>(piece: usize, stream: &[u8]) {
    let mut buffer = FrameBuffer::new(FRAMES);
    for piece in stream.chunks(piece) {
        buffer.push(piece);
        while let Ok(Some(_)) = buffer.next_message::<M>() {}
    }
}
