//! Checks of this repository, as a library so that they run as tests, too.
//!
//! [`tidy`](tidy::tidy) compares the tree with `arrows.toml` and the rules of CONTRIBUTING.md; [`alignment`] checks
//! compiled code against the processor's rules.
//!
//! # Invariants
//! - The rules ([`alignment`], [`arrows`], [`circles`], [`decisions`], [`rules`], [`threats`], [`types`]) are pure: text or bytes in, problems
//!   out.
//! - Only [`tree`] reads files and starts `git`.
//!
//! # Not here
//! Formatting and lints of Rust: `cargo fmt` and `cargo clippy`; `make lint` runs all.

pub mod alignment;
pub mod arrows;
pub mod circles;
pub mod code;
pub mod decisions;
mod error;
mod items;
pub mod manifest;
mod modules;
pub mod problem;
pub mod rules;
pub mod threats;
pub mod tidy;
pub mod tree;
pub mod types;

pub use error::TidyError;
pub use problem::Problem;
pub use tidy::tidy;
