//! Encrypted connections between processes that know one key, and what becomes of connections that do not prove it.
//!
//! The one that connects speaks first, and its first record already proves the key (Noise `NNpsk0`), so strangers are
//! answered nothing. Until a connection has proved it, it is one of few [`Strangers`]: short-lived, and the oldest goes
//! when there is no room.
//!
//! On the wire there are records: a length (2 bytes, big endian) and so many bytes of ciphertext. Both sides number
//! them, so none can be left out, repeated or moved.
//!
//! # Invariants
//! - Nothing is read out of a record before its check holds.
//! - A flood of connections takes a bounded number of threads and files, and no processor while none can be had.
//!
//! # Not here
//! What is said: messages between nodes (`balancer`), between collectors and the analyzer (`wire`).

mod noise;
mod patient;
mod reception;
mod record;
mod strangers;

pub use noise::{ChannelError, Opener, Sealer, Shake};
pub use patient::Patient;
pub use reception::{Guest, Reception, listen};
pub use record::{append_record, read_record};
pub use strangers::{Limits, Seat, Strangers};

/// Bytes of a key.
pub const KEY_BYTES: usize = 32;
