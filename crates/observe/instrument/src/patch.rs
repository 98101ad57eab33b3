//! Change of code bytes that installs a probe.
//!
//! # Not here
//! Safe writing while threads run (`live`), computation of the bytes (`plan`, `stub`).

/// Bytes of code to be replaced. A single `0xcc` is an int3 that stays: its address must have been
/// registered by `live::trap_at` before.
#[derive(Clone, Debug)]
pub struct Patch {
    /// Address of the first byte that changes.
    pub address: usize,
    /// Bytes before the change.
    pub original: Vec<u8>,
    /// Bytes after the change, equally many.
    pub replacement: Vec<u8>,
    /// Address at which a thread that reaches `address` continues.
    pub stub: usize,
    /// Address of each displaced instruction, and of its copy in the stub. Empty where no thread can be (padding).
    pub moved: Vec<(usize, usize)>,
}
