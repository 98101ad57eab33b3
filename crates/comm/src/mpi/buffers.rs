//! Memory that messages use again.

/// Buffers that are kept.
const N_MAX: usize = 256;
/// Larger ones are not kept.
const BYTES_MAX: usize = 1 << 20;

/// Buffers that wait for their next message.
#[derive(Debug, Default)]
pub(super) struct Buffers(Vec<Vec<u8>>);

impl Buffers {
    /// An empty buffer.
    pub(super) fn take(&mut self) -> Vec<u8> {
        self.0.pop().unwrap_or_default()
    }

    /// Keeps a buffer for later.
    pub(super) fn give(&mut self, bytes: Option<Vec<u8>>) {
        let Some(mut bytes) = bytes else { return };
        if self.0.len() < N_MAX && bytes.capacity() <= BYTES_MAX {
            bytes.clear();
            self.0.push(bytes);
        }
    }
}
