//! What tools need to know of a program's checkpoint: its iteration, and whether the program is done.
//!
//! # Not here
//! The format of the whole file: crate `malleable`.

use serde::Deserialize;

/// Ending of an empty file beside a checkpoint. Who restarts a program creates it, and the program removes it when it is
/// done: an exit code says too little, since a launcher may fail after the end of the program.
pub const UNFINISHED: &str = "unfinished";
/// Number of bytes at the start of a checkpoint that say where its index is.
pub const HEAD_BYTES: usize = 48;

const MAGIC: &[u8] = b"SINTOCKP";

/// Returns the position and the length of the index; `None` for bytes that begin no checkpoint.
#[must_use]
pub fn index_place(head: &[u8; HEAD_BYTES]) -> Option<(u64, u64)> {
    let word = |at: usize| {
        let bytes = head.get(8 * at..)?.first_chunk()?;
        Some(u64::from_le_bytes(*bytes))
    };
    // The magic word, the version, an id, the bytes of the body and of the index, and a checksum.
    let at = word(3)?.checked_add(HEAD_BYTES as u64)?;
    head.starts_with(MAGIC).then_some((at, word(4)?))
}

/// Part of the index, which is JSON.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
pub struct CheckpointIndex {
    /// Number of the next iteration.
    pub iteration: u64,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_place_of_the_index_is_read() {
        let head = |magic: &[u8; 8], n_body: u64| {
            let mut head = [0; HEAD_BYTES];
            head[..8].copy_from_slice(magic);
            head[24..32].copy_from_slice(&n_body.to_le_bytes());
            head[32..40].copy_from_slice(&7_u64.to_le_bytes());
            head
        };
        assert_eq!(index_place(&head(b"SINTOCKP", 100)), Some((148, 7)));
        assert_eq!(index_place(&head(b"SINTOCKP", u64::MAX)), None);
        assert_eq!(index_place(&head(b"anything", 100)), None);
    }
}
