//! Analytic models of measured times: values in, values out.
//!
//! # Invariants
//! - Pure: no clock, file, socket, thread or environment (I1).
//! - A model that cannot answer says so; it never guesses.
//!
//! # Not here
//! Sources of the values (`assemble`, `run-record`); tables and pages of the results (`report`).

pub mod action;
pub mod delays;
pub mod ideal_network;
pub mod master_worker;
pub mod matching;
pub mod network;
pub mod pop;
pub mod thread_timeline;

pub use action::{CallEffect, Flow, Interpreter, MessageEnd};
pub use ideal_network::{IdealRun, Stalled};
pub use thread_timeline::{CallSpan, ThreadTimeline, ThreadTimelineBuilder};
