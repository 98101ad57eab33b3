//! The words of a malleable program: its status, a wish for another size, and what became of a resize.
//!
//! A program writes its [`JobStatus`] where others can read it, reads a [`Wish`] that others wrote, and keeps a
//! [`Resize`] for each time that it changed its size or did not. All of them are JSON.
//!
//! # Not here
//! Files and who may write them: crate `malleable`.

mod phase;
mod resize;
mod status;
mod wish;

pub use phase::Phase;
pub use resize::{Bytes, Decision, Outcome, Resize, Seconds, Spawn, Started, Strategy};
pub use status::{Answer, JobStatus, Sizes, State};
pub use wish::Wish;
