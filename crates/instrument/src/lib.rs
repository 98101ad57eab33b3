//! Puts probes at entries and exits of functions of the running process, and takes them out.
//!
//! # Invariants
//! - A program with probes computes what it computes without: all registers, flags and unwinding stay.
//! - On the way of a passage: no lock, no allocation, no system call.
//! - What cannot be done safely is refused with its reason, and the code stays as it was.
//!
//! # Not here
//! Names and debug information (`symbols`), who asks for probes (`probe::control`), rings (`ring`).

mod asm;
mod context;
mod gather;
pub mod guard;
pub mod live;
mod near;
mod passage;
mod patch;
mod plan;
mod probes;
mod shadow;
pub mod site;
mod stub;
mod thread;

pub use probes::Instrument;
pub use site::{Action, Attribute, Point, Refusal, Site, Source, StartError, ThreadHooks};
pub use thread::{ThreadWords, forget_thread};
