//! Messages between a node's collector and the analyzer of a run, as bytes and back.
//!
//! A message travels as a *frame*: its length in four bytes, little-endian, then the message in
//! `postcard`'s encoding. The first message of a connection carries a magic number and the protocol's
//! version; only that message keeps its form for ever. Both sides prove that they know the run's
//! [`Secret`] before either believes anything else.
//!
//! # Invariants
//! - Pure: no clock, file, socket, thread or environment (I1).
//! - No bytes make decoding panic or reserve more memory than the frame's bound.
//! - `decode(encode(message)) == message`.
//!
//! # Not here
//! Sockets, retries and timeouts (`analyzer`), and shared memory between probe and collector (`ring`).

pub mod authentication;
pub mod control;
pub mod frame;
pub mod message;
pub mod report;
pub mod summary;

pub use authentication::{Mac, Nonce, Role, Secret, SecretError, Session};
pub use control::{Answer, Order};
pub use frame::{FrameBuffer, WireError, decode, encode, to_bytes};
pub use message::{Hello, MAGIC, PROTOCOL, Records, ToAnalyzer, ToCollector};
pub use report::{CommunicatorReport, InCall, ProcessReport, ThreadReport};
pub use summary::{EventShape, EventSummary, ProcessSum, SummaryBatch, ThreadRange};
