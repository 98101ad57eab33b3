//! `sintonia run`, `attach`, `tune`, `learnt` and `report`: everything that runs beside a watched program, whether it is started or attached
//! to, and the report afterwards.
//!
//! # Not here
//! Measuring in the ranks (`probe`), reading their shared memory (`collector`), storing (`server`), tuning (`tuner`), pictures
//! and texts of runs (`report`).

#![expect(clippy::missing_errors_doc, reason = "`run` fails with a sentence for the user")]

#[macro_use]
extern crate user_io;

pub mod attach;
pub mod collector;
pub mod environment;
mod finish;
pub mod learnt;
mod lesson;
mod levers;
pub mod limits;
mod listening;
mod live;
mod observation;
pub mod options;
mod programs;
mod record;
pub mod report;
pub mod run;
mod stack;
mod stall;
pub mod tune;
mod tuning;
