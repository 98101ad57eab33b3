//! Programs of a master and workers that tune themselves.
mod checkpoint;
mod error;
mod ledger;
mod map;
mod master;
mod message;
mod options;
mod panics;
mod program;
mod protocol;
mod report;
mod run;
mod staff;
mod tool;
mod worker;

pub use checkpoint::CheckpointError;
pub use error::Error;
pub use map::map;
pub use master::{lead, lead_staff};
pub use message::{Message, MessageError, Plain, from_bytes, to_bytes};
pub use options::{Cancel, Options, OptionsError, Prefetch, Talk, Workers};
pub use program::{BoxError, Iteration, Program};
pub use report::{IterationReport, Report, WorkerReport};
pub use run::{Outcome, outcome, run};
pub use staff::{Change, Parked, Staff};
pub use worker::serve;
