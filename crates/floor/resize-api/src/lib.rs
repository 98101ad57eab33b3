//! JSON formats of a malleable program: its status, requests for another size, and records of resizes.
//!
//! A program writes its [`JobStatus`] where others can read it, reads a [`ResizeRequest`] that others wrote, and keeps a
//! [`Resize`] for each attempt to change its size. All of them are JSON.
//!
//! # Not here
//! The files and their permissions: crate `malleable`.

mod checkpoint;
mod request;
mod resize;
mod status;

pub use checkpoint::{CheckpointIndex, HEAD_BYTES, UNFINISHED, index_place};
pub use request::ResizeRequest;
pub use resize::{
    BytesMoved, ModelDecision, Resize, ResizeOutcome, ResizePhase, Seconds, Spawn, Started,
    Strategy,
};
pub use status::{JobStatus, ResizeAnswer, ResizeState, SizeForecast, SizeJudgment, Sizes};
