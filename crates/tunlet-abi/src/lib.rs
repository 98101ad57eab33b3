//! Tunlets in shared libraries: the C interface, for those who write them and for those who load them.
//!
//! | module | for whom |
//! |---|---|
//! | [`abi`] | both sides, in any language: `include/sintonia_tunlet.h` is made from it |
//! | [`standalone`] | a tunlet in Rust that depends on nothing but these files |
//! | [`exported`] | a tunlet in Rust that implements [`tunlets::Tunlet`]: [`export!`] |
//! | [`loaded`] | a host that loads a library into its own process |
//! | [`child`] | the process in which a run keeps a foreign tunlet |
//! | [`host`] | the run, which hears of the end of that process and goes on |
//!
//! # Invariants
//! - A foreign tunlet never runs in the process of a run: what it breaks is its own process.
//! - A run never waits for a tunlet once it has begun; news that a slow tunlet cannot take are counted.
//!
//! # Not here
//! What tunlets are (`tunlets`), and what becomes of their decisions (`tunlets::conductor`).

#![expect(unsafe_code, reason = "functions and data of foreign libraries")]
#![expect(
    clippy::multiple_unsafe_ops_per_block,
    reason = "fields of one struct of C are read for one and the same reason"
)]

pub mod abi;
pub mod child;
pub mod exported;
mod frame;
pub mod host;
pub mod loaded;
pub mod standalone;

pub use host::{ForeignTunlet, ForeignTunletError};
pub use loaded::{LoadError, LoadedTunlet};
