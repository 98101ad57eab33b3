//! Target: frames of both formats, in a file and in whatever pieces a stream brings them.

use ::frame::{Format, FrameBuffer};

/// Reads the bytes in pieces whose length is the first byte, and in one go; what was read is written to the same bytes.
pub(crate) fn run(bytes: &[u8]) {
    let Some((piece, stream)) = bytes.split_first() else { return };
    for format in [Format::plain(1 << 10), Format::checked(1 << 10)] {
        let (mut buffer, mut written) = (FrameBuffer::new(format), Vec::new());
        for piece in stream.chunks(usize::from(*piece).max(1)) {
            buffer.push(piece);
            while let Ok(Some(payload)) = buffer.next_frame() {
                format.append(&[payload], &mut written).expect("it was a frame");
            }
        }
        assert!(stream.starts_with(&written), "what was read is written to the same bytes");
        let (mut rest, mut payload) = (stream, Vec::new());
        while let Ok(true) = format.read(&mut rest, &mut payload) {
            let n_read = stream.len() - rest.len();
            assert!(written[..n_read].ends_with(&payload), "pieces make no difference");
        }
    }
}
