//! Tuner of a run: from the processes' events and answers to the conductor, and from the conductor's decisions to orders.
//!
//! It tracks the processes and their clocks ([`directory`]), turns records into news ([`performance`], [`sums`]), and
//! sends the conductor's decisions to the processes as orders ([`order_queue`], [`actions`]).
//!
//! # Invariants
//! - Pure: time is an argument, and whatever the tuner does leaves through [`Outlet`].
//! - Only ranks of the first world of the described program are tuned; all other processes may go on at once.
//!
//! # Not here
//! The decisions (`tunlets`), the thread that runs the tuner and the resolution of names (`server`).

mod actions;
mod directory;
mod order_queue;
mod overload;
mod performance;
pub mod plan;
mod sums;
mod tuner;
mod value_reader;
mod warnings;

pub use plan::{PlannedChange, PlannedPoint, TuningPlan};
pub use tuner::Tuner;

use app_description::Application;
use events::tuning::{TuningLine, TuningMode};
use events::{CodeAddress, ProcessKey};
use tunlets::Tunlet;
use tunlets::conductor::Options;
use wire::{OrderAnswer, ProcessReport, Records, SummaryBatch, ToCollector};

/// Options for tuning.
pub struct TuningOptions {
    /// Application description.
    pub application: Application,
    /// Plan with the description's names resolved in the program.
    pub plan: TuningPlan,
    /// Tunlets in command-line order.
    pub tunlets: Vec<Box<dyn Tunlet>>,
    /// Permissions of the tunlets.
    pub mode: TuningMode,
    /// Windows and timeouts of the conductor.
    pub options: Options,
    /// True if passages of functions chosen by pattern arrive individually, instead of being summed on their nodes.
    pub every_passage: bool,
}

impl std::fmt::Debug for TuningOptions {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let names: Vec<_> = self.tunlets.iter().map(|tunlet| tunlet.spec().name).collect();
        f.debug_struct("TuningOptions").field("tunlets", &names).finish_non_exhaustive()
    }
}

/// Item received from a collector.
#[derive(Debug)]
pub enum TuningInput {
    /// The collector of a node (re)connected and accepts orders.
    Collector {
        /// Name of the node.
        node: String,
    },
    /// A report of a process.
    Report {
        /// The report.
        report: Box<ProcessReport>,
        /// Offset in ns to add to a time of its node.
        offset_ns: i64,
    },
    /// An answer of a process.
    Answer {
        /// Name of the node.
        node: String,
        /// The process.
        process: ProcessKey,
        /// Its answer.
        answer: OrderAnswer,
    },
    /// Records of functions and actions.
    Records {
        /// Name of the node.
        node: String,
        /// The records.
        records: Records,
    },
    /// Sums of function events.
    Sums {
        /// Name of the node.
        node: String,
        /// The sums.
        batch: SummaryBatch,
    },
}

/// Outlet for what a tuner does, and its source of names.
pub trait Outlet {
    /// Sends a message to the collector of a node; returns false if none is connected.
    fn say(&self, node: &str, message: &ToCollector) -> bool;

    /// Appends a line to the record.
    fn record(&mut self, line: TuningLine);

    /// Returns the name of the place before a return address.
    fn name(&mut self, address: &CodeAddress<'_>) -> String;
}
