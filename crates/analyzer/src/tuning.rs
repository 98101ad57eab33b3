//! Tuning: from what processes say to the conductor, and from the conductor to processes.
//!
//! A thread of its own hears what collectors bring after it is on disk ([`inbox`]), knows the processes
//! and their clocks ([`directory`]), makes news of it ([`decoding`], [`performance`]), and carries the
//! conductor's wishes to them as orders ([`post`]) and its lines to the record.
//!
//! # Invariants
//! - The way of records to the disk never waits for tunlets: events that come too fast are not heard of, and
//!   counted. Answers and actions are always heard.
//! - Only ranks of the first world of the described program are tuned; all others are let go at once.
//!
//! # Not here
//! What is decided (`tunlets`), the lines' form (`run_record::tuning`).

pub(crate) mod decoding;
mod directory;
mod floods;
mod holdings;
pub(crate) mod inbox;
mod joined;
mod lines;
mod performance;
pub mod plan;
mod post;
pub mod resolve;
mod runtime;
mod sums;

pub use plan::{Plan, PlannedChange, PlannedPoint};

use application::Application;
use std::path::PathBuf;
use tunlets::Tunlet;
use tunlets::conductor::{Mode, Options};

pub(crate) use inbox::{Heard, Inbox};
pub(crate) use post::Collectors;
pub(crate) use runtime::Runtime;

/// What a server needs in order to tune.
pub struct TuningOptions {
    /// The description.
    pub application: Application,
    /// The same, looked up in the program.
    pub plan: Plan,
    /// In the order of the command line.
    pub tunlets: Vec<Box<dyn Tunlet>>,
    /// What they may do.
    pub mode: Mode,
    /// Windows and times.
    pub options: Options,
    /// Passages of functions that a pattern chose come one by one; else they are added up on their nodes.
    pub every_passage: bool,
    /// `tuning.jsonl`.
    pub lines: PathBuf,
}

impl std::fmt::Debug for TuningOptions {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let names: Vec<_> = self.tunlets.iter().map(|tunlet| tunlet.spec().name).collect();
        f.debug_struct("TuningOptions").field("tunlets", &names).finish_non_exhaustive()
    }
}
