//! Gravitating bodies, advanced by a master and its workers.
//!
//! In every step each worker gets all bodies and a range of them to advance: acceleration from all others,
//! then velocity, then position. The master collects the ranges. The method is the leapfrog in the order
//! drift, kick, drift: symplectic, of second order, one computation of the forces per step.
//!
//! # Invariants
//! - The result is the same, bit for bit, on any number of ranks or threads, and after a resumed run.
//! - No `unsafe`.
//!
//! # Not here
//! Load balancing, tuning, checkpoints: crate `master-worker`.

#![forbid(unsafe_code)]

mod body;
mod gravity;

mod random;
mod start;

mod conservation;
mod simulation;

mod load;
mod picture;
mod view;
mod xyz;

mod arguments;
mod error;

pub use arguments::{Arguments, USAGE};
pub use body::Body;
pub use conservation::{Conservation, Motion};
pub use error::NbodyError;
pub use gravity::{Advanced, Law, advance, drift, energy};
pub use load::{LoadError, Slowdowns};
pub use simulation::Simulation;
pub use start::{Shape, Start, shape};
pub use xyz::{XyzError, read as read_xyz, write as write_xyz};
