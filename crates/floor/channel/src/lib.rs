//! Encrypted connections between processes that share a key, and bounds on connections that do not prove it.
//!
//! The connecting side speaks first, and its first record already proves the key (Noise `NNpsk0`), so
//! strangers get no answer. Until a connection has proved the key, it is one of a small number of the
//! [`Unauthenticated`]: it is short-lived, and the oldest is dropped when there is no room.
//!
//! Each record on the wire is a length (2 bytes, big endian) and that many bytes of ciphertext. Both sides
//! number the records, so that none can be left out, repeated or reordered.
//!
//! # Invariants
//! - Nothing is read from a record before its authentication tag is verified.
//! - A flood of connections takes a bounded number of threads and files, and no processor time while the
//!   system refuses more of them.
//!
//! # Not here
//! Contents: messages between nodes (`node-daemon`), between collectors and the analyzer (`wire`).

mod acceptor;
mod deadline_stream;
mod noise;
mod record;
mod unauthenticated;

pub use acceptor::{AcceptedConnection, Acceptor, listen};
pub use deadline_stream::DeadlineStream;
pub use noise::{Handshake, Opener, Sealer};
pub use record::{ChannelError, append_record, read_record};
pub use unauthenticated::{AdmissionSlot, StrangerLimits, Unauthenticated};

/// Bytes of a key.
pub const KEY_BYTES: usize = 32;
