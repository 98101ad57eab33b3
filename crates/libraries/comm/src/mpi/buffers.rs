//! Reuse of message buffers.

/// Largest number of buffers kept.
const N_MAX: usize = 256;
/// Capacity above which a buffer is not kept, in bytes.
const BYTES_MAX: usize = 1 << 20;

/// Unused buffers.
#[derive(Debug, Default)]
pub(super) struct Buffers(Vec<Vec<u8>>);

impl Buffers {
    /// Returns an empty buffer.
    pub(super) fn take(&mut self) -> Vec<u8> {
        self.0.pop().unwrap_or_default()
    }

    /// Keeps a buffer for reuse.
    pub(super) fn give(&mut self, bytes: Option<Vec<u8>>) {
        let Some(mut bytes) = bytes else { return };
        if self.0.len() < N_MAX && bytes.capacity() <= BYTES_MAX {
            bytes.clear();
            self.0.push(bytes);
        }
    }
}
