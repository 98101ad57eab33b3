//! Tunlets in shared libraries: the C interface, for authors of tunlets and for hosts.
//!
//! | module | used by |
//! |---|---|
//! | [`abi`] | both sides, in any language: `include/sintonia_tunlet.h` is generated from it |
//! | [`standalone`] | a tunlet in Rust that depends on nothing but these files |
//! | [`exported`] | a tunlet in Rust that implements [`tunlets::Tunlet`]: [`export!`] |
//! | [`loaded`] | a host that loads a library into its own process |
//! | [`child`] | the process in which a run executes a foreign tunlet |
//! | [`host`] | the run, which is told when that process ends and goes on |
//!
//! # Invariants
//! - A foreign tunlet never runs in the process of a run: it can only damage its own process.
//! - A run never waits for a tunlet that has begun; news that a slow tunlet cannot take are dropped and counted.
//!
//! # Not here
//! Tunlets themselves (`tunlets`), and the handling of their decisions (`tunlets::conductor`).

#![expect(unsafe_code, reason = "functions and data of foreign libraries")]
#![expect(
    clippy::multiple_unsafe_ops_per_block,
    reason = "fields of one struct of C are read for one and the same reason"
)]

pub mod abi;
pub mod child;
pub mod exported;
pub mod host;
pub mod loaded;
mod message;
pub mod standalone;

pub use host::{ForeignTunlet, ForeignTunletError};
pub use loaded::{LoadError, LoadedTunlet};
