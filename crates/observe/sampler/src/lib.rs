//! Samples of running processes: the call path of each thread, at equal intervals of its processor time.
//!
//! The kernel's performance events save a thread's registers and the top of its stack; [`Sampler`] reads them from
//! outside of the process, follows the unwind tables of its modules, and counts call paths.
//!
//! # Invariants
//! - The observed process is neither stopped nor changed, and runs no code of this crate.
//! - All memory is bounded: what finds no room is counted.
//! - Where the system does not allow it, nothing is sampled, and the reason is kept.
//!
//! # Not here
//! Names of functions (`symbols`), sums over ranks (`assemble`).
#![expect(unsafe_code, reason = "system calls, and memory that the kernel writes")]

mod call_path;
mod pace;
mod paths;
mod perf;
mod process;
mod sampler;
mod sections;
mod unwind;

pub use call_path::CallPaths;
pub use perf::{PerfError, has_hardware_counters};
pub use sampler::Sampler;
pub use unwind::CallPath;
