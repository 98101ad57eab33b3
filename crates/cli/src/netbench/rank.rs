//! One of the ranks that measure.

use super::{MARK, Pair};
use clap::Args;
use comm::netbench::{Plan, answer, measure};
use comm::{MpiTransport, Transport};
use std::io::Write;
use std::process::ExitCode;
use std::time::Duration;

/// Measure as one rank of `sintonia netbench`
#[derive(Args, Debug)]
pub(crate) struct NetbenchRankOptions {
    /// Time for each pair of ranks
    #[arg(long)]
    seconds: f64,
}

/// Rank 0 measures with one rank after the other; each of them answers in its turn.
pub(crate) fn be_rank(options: &NetbenchRankOptions) -> anyhow::Result<ExitCode> {
    let at_most = Duration::try_from_secs_f64(options.seconds)?;
    let plan = Plan { at_most, n_rounds: u32::MAX - 1, ..Plan::default() };
    let mut end = MpiTransport::init()?;
    anyhow::ensure!(1 < end.n_ranks(), "one rank has nobody to talk to; start at least two");
    let patience = Duration::from_mins(1) + at_most * end.n_ranks();
    let mut pairs = Vec::new();
    for to in 1..end.n_ranks() {
        if end.rank() == 0 {
            let model = measure(&mut end, to, &plan)?;
            pairs.extend(model.map(|model| Pair { from: 0, to, model }));
        } else if end.rank() == to {
            answer(&mut end, 0)?;
        }
        // The others must not disturb, and sleep as they wait.
        end.barrier(patience)?;
    }
    if end.rank() == 0 {
        let line = format!("{MARK}{}\n", serde_json::to_string(&pairs)?);
        std::io::stdout().write_all(line.as_bytes())?;
    }
    end.leave(patience)?;
    Ok(ExitCode::SUCCESS)
}
