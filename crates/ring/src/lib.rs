//! What a process under observation writes in shared memory, and how a collector reads it.
//!
//! One *segment* (a file in `/dev/shm`) per process: a header, texts, and a block per thread that called
//! MPI. A block holds statistics (counters per region, traffic per peer) and, in traced runs, a bounded
//! ring of [`events::CallRecord`]s. One thread writes a block, one collector reads it; neither ever waits
//! for the other, and what is written outlives the writer. A process that may be tuned also has two
//! mailboxes ([`control`]): orders from the collector, and its answers.
//!
//! # Invariants
//! - Memory is reserved (`fallocate`) before it is touched: a full `/dev/shm` refuses a thread and never
//!   raises SIGBUS in the program.
//! - Writing is plain stores: no lock, no allocation, no system call.
//! - Each side may find anything in what the other one writes, since the program may write anywhere: both keep what
//!   decides over their own memory in memory of their own.
//! - The reader advances `acknowledged` only for records that are safe elsewhere; a reader that dies
//!   loses nothing.
//!
//! # Not here
//! What a record means (`events`), who calls MPI (`probe`), who drains (`analyzer`).

#![expect(unsafe_code, reason = "memory shared between processes")]

pub mod clock;
pub mod control;
mod counters;
pub mod layout;
mod mapping;
pub mod private;
pub mod reader;
pub mod writer;

pub use layout::{Capacity, LifeState};
pub use mapping::SegmentError;
pub use reader::{InCall, ProcessView, SegmentReader, ThreadView};
pub use writer::{RingCursor, SegmentWriter, ThreadWriter};
