//! Embeds in a program's executable what tools may measure and change in it.
//!
//! An ELF note holds the text, an application description. Tables in a separate section map names to the addresses of
//! variables and functions, since `strip` removes the names of symbols that are not exported. The crate `symbols` reads
//! both (`symbols::Program::description`).
//!
//! ```
//! # #![allow(unsafe_code)]
//! points::variables! {
//!     /// Variables that tools see.
//!     Variables:
//!     /// Rounds so far.
//!     doc_round: i32 = 0;
//! }
//! mod at {
//!     points::functions! {
//!         fn doc_turn() { std::hint::black_box("turn"); }
//!     }
//!     pub(crate) fn turn() { doc_turn(); }
//! }
//! points::description!("name = \"turns\"\n");
//!
//! // Linkers keep what is referred to.
//! std::hint::black_box((&NOTE, &ENTRIES, &at::ENTRIES));
//! at::turn();
//! points::set(Variables::doc_round(), 1);
//! ```
//!
//! # Invariants
//! - Variables have the types of C: debug information says `i32`, nothing wrapped. They are read and written as atomics.
//! - Functions have names that no compiler mangles, and are never inlined.
//!
//! # Not here
//! The variables and functions themselves (`master-worker`, `malleable`). A program carries one description.

mod entry;
mod note;
mod shared;

pub use entry::Entry;
pub use note::Note;
pub use shared::{Shared, get, set};
