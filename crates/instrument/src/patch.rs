//! A change of code bytes that puts a probe in.
//!
//! # Not here
//! When it is safe to write while threads run (`live`), what the bytes are (`plan`, `stub`).

/// Bytes of code to be exchanged. A single `0xcc` is an int3 that stays: its address is known to
/// `live::trap_at` before.
#[derive(Clone, Debug)]
pub struct Patch {
    /// The first byte that changes.
    pub address: usize,
    /// What is there.
    pub original: Vec<u8>,
    /// What is put there; as long.
    pub replacement: Vec<u8>,
    /// Where whoever arrives at `address` goes on.
    pub stub: usize,
    /// Each displaced instruction's address, and that of its copy in the stub. Empty where no thread can
    /// be (padding).
    pub moved: Vec<(usize, usize)>,
}
