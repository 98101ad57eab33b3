//! Messages between a node's collector and the analyzer of a run, their encoding, and the sums that they carry.
//!
//! A message travels as a frame in `postcard`'s encoding, encrypted, on a connection whose sides have proved that
//! they know the run's [`Secret`]. The first two messages are [`Hello`] and [`Verdict`], with the protocol's version
//! in front, an encoding that never changes.
//!
//! # Invariants
//! - Pure: no clock, file, socket, thread or environment (I1).
//! - Decoding never panics and never reserves more memory than the bound of a frame, whatever the bytes.
//! - `decode(encode(message)) == message`.
//!
//! # Not here
//! Encryption (`channel`), sockets, retries and timeouts (`collector`, `server`), and shared memory (`ring`).

pub mod control;
pub mod earlier;
pub mod facts;
pub mod hello;
pub mod message;
pub mod report;
pub mod samples;
pub mod secret;
pub mod sum_builder;
pub mod summary;

pub use control::{Order, OrderAnswer};
pub use events::InCall;
pub use facts::{EventFacts, ProbedFunction};
pub use frame::{decode, to_bytes};
pub use hello::{Hello, PROTOCOL, Verdict, WireError};
pub use message::{Records, ToAnalyzer, ToCollector};
pub use report::{CommunicatorReport, ProcessReport, ThreadReport, ThreadState};
pub use samples::{PathNode, ProcessSamples};
pub use secret::{Secret, SecretError};
pub use summary::{
    BatchTotals, CoveredRecords, EventShape, EventSummary, ProcessSum, SummaryBatch, ThreadRange,
};

/// Frames of messages; the report of a process with many threads and full region tables must fit.
pub const FRAMES: frame::Format = frame::Format::plain(32 << 20);
