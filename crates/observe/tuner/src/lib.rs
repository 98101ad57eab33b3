//! Tuning: from the processes' events and answers to the conductor, and from the conductor's decisions to the processes.
//!
//! A thread of its own receives the collectors' data after they are on disk ([`inbox`]), tracks the processes and
//! their clocks ([`directory`]), turns records into news ([`decoding`], [`performance`]), sends the conductor's
//! decisions to the processes as orders ([`order_queue`]), and writes its lines to the record.
//!
//! # Invariants
//! - Writing records to disk never waits for tunlets: events that arrive too fast are not delivered to them, and
//!   are counted. Answers and actions are always delivered.
//! - Only ranks of the first world of the described program are tuned; all other processes may go on at once.
//!
//! # Not here
//! The decisions (`tunlets`), the format of the lines (`run_record::tuning`).

mod aggregator;
mod directory;
pub mod inbox;
mod lines;
mod order_queue;
mod overload;
mod performance;
pub mod plan;
pub mod resolve;
mod runtime;
mod sums;
mod value_reader;

pub use plan::{Plan, PlannedChange, PlannedPoint};

use app_description::Application;
use std::path::PathBuf;
use tunlets::Tunlet;
use tunlets::conductor::{Mode, Options};

pub use inbox::{Inbox, TuningInput};
pub use order_queue::Collectors;
pub use runtime::Runtime;

/// Options for tuning.
pub struct TuningOptions {
    /// Application description.
    pub application: Application,
    /// Plan with the description's names resolved in the program.
    pub plan: Plan,
    /// Tunlets in command-line order.
    pub tunlets: Vec<Box<dyn Tunlet>>,
    /// Permissions of the tunlets.
    pub mode: Mode,
    /// Windows and timeouts of the conductor.
    pub options: Options,
    /// True if passages of functions chosen by pattern arrive individually, instead of being summed on their nodes.
    pub every_passage: bool,
    /// Path of `tuning.jsonl`.
    pub lines: PathBuf,
}

impl std::fmt::Debug for TuningOptions {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let names: Vec<_> = self.tunlets.iter().map(|tunlet| tunlet.spec().name).collect();
        f.debug_struct("TuningOptions").field("tunlets", &names).finish_non_exhaustive()
    }
}
