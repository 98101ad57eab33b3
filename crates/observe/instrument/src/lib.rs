//! Installs probes at entries and exits of functions of the running process, and removes them.
//!
//! # Invariants
//! - A program with probes computes the same results: registers, flags and unwinding are preserved.
//! - During a passage: no lock, no allocation, no system call.
//! - Requests that cannot be met safely are refused with the reason, and the code stays unchanged.
//!
//! # Not here
//! Names and debug information (`symbols`), requests for probes (`probe::control`), rings (`ring`).

mod armed_callbacks;
mod asm;
mod capture;
mod context;
mod frame;
pub mod guard;
pub mod live;
mod near;
mod passage;
mod plan;
mod probes;
mod shadow;
pub mod site;
mod stub;
mod thread;

pub use frame::Passage;
pub use near::Mappings;
pub use probes::Instrument;
pub use site::{
    Attribute, Callback, N_WAY_STEPS_MAX, Refusal, Site, SiteEvent, StartError, ThreadHooks,
    ValueSource, Way, WayStart,
};
pub use thread::{ThreadWords, forget_thread};
