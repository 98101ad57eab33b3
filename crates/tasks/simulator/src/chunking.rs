//! Simulates a master that deals tasks to workers.
//!
//! A worker asks for a chunk; the master serves one request at a time, which takes `serve_s`; `overhead_s` later
//! the worker begins to compute. When it has computed, it returns the chunk and asks for the next. With `prefetch`
//! it asks so early that the next chunk is there when the present one ends, as if it knew when that will be, but
//! not before the present one begins: it never has more than two chunks. An iteration ends with its last chunk, and
//! the next one begins then.
//!
//! The *ideal* is all work split so that all workers end together: the time `T` at which
//! `sum over workers of (integral of the speed from 0 to T)` is the work of all iterations, without overhead, and
//! with divisible tasks. A worker that slows down is slower in the ideal too, from the same moment: the given
//! fraction of the ideal time of a machine on which nothing slows down. No policy that deals whole tasks can be
//! faster.
//!
//! # Not here
//! The policies (crate `chunking`): they are called as in a program.

pub mod cases;
mod describe;
mod machine;
mod run;
mod workload;

pub use describe::{Block, DescribeError, Distribution};
pub use machine::{Machine, MachineError, Slowdown};
pub use run::{ChunkSpan, ChunkingResults, Scenario, simulate};
pub use workload::{Workload, WorkloadError};
