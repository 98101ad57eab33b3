//! Shared memory of a monitored process: the process writes measurements, a collector reads them.
//!
//! One *segment* (a file in `/dev/shm`) per process: a header, texts, and a block per thread that called
//! MPI. A block holds statistics (counters per region, traffic per peer) and, in traced runs, a bounded
//! ring of [`events::CallRecord`]s. One thread writes a block, one collector reads it; neither ever waits
//! for the other, and the data outlive the writer. A tunable process also has two mailboxes
//! ([`control`]): orders from the collector, and answers to it.
//!
//! # Invariants
//! - Memory is reserved (`fallocate`) before it is touched: a full `/dev/shm` refuses a thread and never
//!   raises SIGBUS in the program.
//! - Writing is plain stores: no lock, no allocation, no system call.
//! - Each side may find anything in the memory that the other one writes, since the program may write anywhere:
//!   both keep the numbers that their own memory safety depends on in their own memory.
//! - The reader advances `acknowledged` only for records that are stored safely elsewhere; the death of a reader
//!   loses nothing.
//!
//! # Not here
//! Meaning of a record (`events`), interception of MPI calls (`probe`), draining of the rings (`collector`).

#![expect(unsafe_code, reason = "memory shared between processes")]

pub mod board;
pub mod clock;
pub mod control;
pub mod futex;
pub mod layout;
mod mapping;
pub mod private;
pub mod reader;
pub mod samples;
pub mod writer;

pub use layout::{Capacity, LifeState};
pub use mapping::SegmentError;
pub use reader::{ProcessView, SegmentReader, ThreadView};
pub use writer::{RingCursor, SegmentWriter, ThreadWriter};
