//! A traced run in the formats of other tools.
//!
//! | function | for |
//! |---|---|
//! | [`chrome`] | Perfetto (ui.perfetto.dev), `chrome://tracing`, Speedscope |
//! | [`paraver`] | Paraver and the tools that read `.prv` |
//! | [`simgrid`] | `smpirun -replay`: the run on a platform that one describes |
//!
//! Each returns sentences about what the format could not hold.
//!
//! # Invariants
//! - The record is only read. An export reads the event file twice and keeps in memory what pairs
//!   messages, at most about 64 bytes per call.
//! - Nothing is invented: a message of which one end is missing is no message.
//!
//! # Not here
//! Our own report and timeline (`dashboard`).

mod chrome;
mod error;
mod lanes;
mod messages;
mod paraver;
mod place;
mod simgrid;

pub use chrome::chrome;
pub use error::ExportError;
pub use paraver::paraver;
pub use simgrid::{SimgridOptions, simgrid};
