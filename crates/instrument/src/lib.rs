//! Puts probes at entries and exits of functions of the running process, and takes them out.
//!
//! # Invariants
//! - A program with probes computes what it computes without: all registers, flags and unwinding stay.
//! - On the way of a passage: no lock, no allocation, no system call.
//! - What cannot be done safely is refused with its reason, and the code stays as it was.
//!
//! # Not here
//! Names and debug information (`symbols`), who asks for probes (`probe::control`), rings (`ring`).

pub mod guard;
pub mod live;
mod patch;
pub mod site;

pub use site::{Attribute, Instrument, Point, Refusal, Site, Source, StartError, ThreadHooks};
