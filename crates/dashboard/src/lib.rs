//! What a person sees of a run: the report as text and as HTML, and the view while it runs; and of a cluster.
//!
//! A [`run_record::Summary`] goes in, a string comes out ([`terminal::report`], [`html::page`]); the live
//! view draws [`live::Snapshot`]s to a writer that it is given. [`balance`] does the same for nodes that share
//! out tasks.
//!
//! # Invariants
//! - Names that come from the observed program never reach a terminal or a page as control or markup.
//! - Every picture has a bound: thousands of ranks and millions of calls fold into what fits, and the
//!   report says what was left out.
//!
//! # Not here
//! Measuring and judging (`analyzer`, `models`): findings arrive as sentences. Printing, arguments and
//! files (`cli`).

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
mod story;
mod text;
mod units;
