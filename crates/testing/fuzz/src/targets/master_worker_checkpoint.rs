//! Target: the checkpoint of a master, as a fault or another version may have left it.

/// Reads the bytes; a valid checkpoint has all its bytes.
pub(crate) fn run(bytes: &[u8]) {
    if let Some((_, content)) = master_worker::reading::checkpoint(bytes) {
        assert!(content.len() < bytes.len() && bytes.ends_with(&content), "its content is its own");
    }
}
