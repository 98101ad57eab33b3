//! Tuner of a run: from the processes' events and answers to the conductor, and from the conductor's decisions to orders.
//!
//! It tracks the processes and their clocks ([`directory`]), turns records and reports into news ([`performance`],
//! [`usage`], [`sums`]), and sends the conductor's decisions to the processes as orders ([`order_queue`], [`actions`]).
//! Iterations that nobody described are found in the sequence of a rank's MPI calls ([`iteration_finder`], [`period`]).
//!
//! # Invariants
//! - Pure: time is an argument, and whatever the tuner does leaves through [`Outlet`].
//! - Only ranks of the first world of the described program are tuned; all other processes may go on at once.
//!
//! # Not here
//! The decisions (`tunlets`), the thread that runs the tuner and the resolution of names (`server`).

mod actions;
mod directory;
mod iteration_finder;
mod order_queue;
mod overload;
mod performance;
mod period;
pub mod plan;
mod sample;
mod sums;
mod tuner;
mod usage;
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
#[derive(Default)]
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
    /// True if iterations are looked for in the sequence of MPI calls where the description has none.
    pub seeks_iterations: bool,
    /// True if passages of functions chosen by pattern arrive individually, instead of being summed on their nodes.
    pub every_passage: bool,
}

impl std::fmt::Debug for TuningOptions {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let names: Vec<_> = self.tunlets.iter().map(|tunlet| tunlet.spec().name).collect();
        f.debug_struct("TuningOptions").field("tunlets", &names).finish_non_exhaustive()
    }
}

/// Item received from the collector of a node.
#[derive(Debug)]
pub enum NodeInput {
    /// The collector (re)connected and accepts orders.
    Collector,
    /// A report of a process, and the offset in ns to add to a time of the node.
    Report(Box<ProcessReport>, i64),
    /// An answer of a process.
    Answer(ProcessKey, OrderAnswer),
    /// Records of functions and actions.
    Records(Records),
    /// Sums of function events.
    Sums(SummaryBatch),
    /// The user switches tuning on or off.
    Switch {
        /// On or off.
        is_on: bool,
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
