//! `sintonia simulate`: runs policies in simulated time, before a program uses them.

mod balance;
mod cases;
mod chunking;
mod jobs;
mod queue;
mod sizes;

use clap::{Args, Subcommand};
use std::process::ExitCode;
use user_io::terminal::Terminal;

/// Try policies in simulated time
///
/// Runs the code of the policies themselves, on a described machine and workload.
#[derive(Args, Debug)]
pub(crate) struct Options {
    #[command(subcommand)]
    what: What,
}

#[derive(Debug, Subcommand)]
enum What {
    Balance(Box<balance::BalanceOptions>),
    Cases(cases::CasesOptions),
    Chunking(chunking::ChunkingOptions),
    Jobs(jobs::JobsOptions),
    Queue(Box<queue::QueueOptions>),
    Sizes(sizes::SizesOptions),
}

/// Simulates and shows the results.
pub(crate) fn run(options: &Options, _: Terminal) -> anyhow::Result<ExitCode> {
    match &options.what {
        What::Balance(options) => balance::balance(options),
        What::Cases(options) => cases::cases(options),
        What::Chunking(options) => chunking::chunking(options),
        What::Jobs(options) => jobs::jobs(options),
        What::Queue(options) => queue::queue(options),
        What::Sizes(options) => sizes::sizes(options),
    }
}
