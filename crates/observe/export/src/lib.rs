//! Export of a traced or sampled run to the formats of other tools.
//!
//! | format | used by |
//! |---|---|
//! | `chrome` | Perfetto (ui.perfetto.dev), `chrome://tracing`, Speedscope |
//! | [`mod@paraver`] | Paraver and the tools that read `.prv` |
//! | [`mod@simgrid`] | `smpirun -replay`: the run on a given platform |
//! | `speedscope` | speedscope.app: samples of the call paths |
//!
//! Each function returns sentences about what the format could not hold.
//!
//! # Invariants
//! - The record is only read. An export reads the event file several times, and keeps the data for pairing
//!   messages in memory, at most about 64 bytes per call.
//! - Nothing is invented: a message with a missing end is not exported.
//!
//! # Not here
//! The tool's own report and timeline (`report`).

mod chrome;
mod error;
mod format;
mod lanes;
mod messages;
mod paraver;
mod simgrid;
mod speedscope;

pub use error::ExportError;
pub use format::{ExportFormat, ExportWriter, FORMATS};
pub use paraver::paraver;
pub use simgrid::{NonblockingPlace, SimgridOptions, simgrid};
