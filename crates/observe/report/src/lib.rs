//! Presentation of a run: the report as text and as HTML, and the live view; the same for a cluster.
//!
//! The input is a [`run_record::Summary`], the output a string ([`terminal::report`], [`html::page`]); the live
//! view draws [`live::Snapshot`]s to a given writer. [`balance`] does the same for nodes that balance tasks.
//!
//! # Invariants
//! - Names from the observed program never reach a terminal or a page as control characters or markup.
//! - Every picture is bounded: thousands of ranks and millions of calls are condensed, and the report
//!   says what was left out.
//!
//! # Not here
//! Measuring and judging (`assemble`, `models`): findings arrive as sentences. Printing, arguments and files (crates of `command`).

pub mod balance;
pub mod html;
pub mod live;
pub mod terminal;
pub mod timeline;

pub use place::call_label;

mod efficiency;
mod functions;
mod place;
mod ranking;
mod resizes;
#[doc(hidden)]
pub mod sample;
mod sampled;
mod svg;
mod tables;
mod tuning_text;
