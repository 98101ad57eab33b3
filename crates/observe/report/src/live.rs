//! Live view of a run: efficiencies, ranks, calls and the program's output, refreshed every interval, in a
//! terminal with at least 60 columns and 15 lines; or one line per interval for a pipe.
//!
//! The caller measures and creates [`Snapshot`]s; [`LiveState`] holds the state of the view and processes keys;
//! [`draw()`] draws on any ratatui frame; [`LiveScreen`] is a real terminal.
//!
//! # Invariants
//! - The terminal is restored when the screen is stopped, dropped, or the program panics.
//! - Without color, the view carries the same information: color only repeats words and bars.
//! - History and output are bounded.

mod draw;
mod screen;
mod state;

pub use draw::draw;
pub(crate) use draw::{colored, dim, strong, tab};
pub use screen::{LiveError, LiveScreen};
pub use state::{KeyEffect, LiveState, Tab};

use crate::place;
use display::text::harmless;
use display::units::{percent, plural, rate, seconds};
use run_record::summary::{CallSite, Efficiencies};

/// State of a run at a moment, and rates of its last interval.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Snapshot {
    /// Time since the first `MPI_Init`, in s.
    pub elapsed_s: f64,
    /// State of the run, in a word or two: `waiting for MPI`, `running`, `ending`.
    pub state: String,
    /// Sentences about a standstill: for whom ranks wait; empty while the program goes on.
    pub waits: Vec<String>,
    /// Number of nodes with ranks.
    pub n_nodes: usize,
    /// All ranks, by world and rank.
    pub ranks: Vec<RankNow>,
    /// Efficiencies since the start.
    pub so_far: Efficiencies,
    /// Efficiencies of the last interval.
    pub last_interval: Efficiencies,
    /// Operations of the last interval, in descending order of time.
    pub operations: Vec<OperationRate>,
    /// Call sites since the start, in descending order of time; per-rank times and sizes are not needed.
    pub call_sites: Vec<CallSite>,
    /// Lines written by the program since the last snapshot, oldest first.
    pub output: Vec<String>,
    /// Time that observation adds to an MPI call, in ns.
    pub ns_per_call: f64,
    /// Share of the ranks' time taken by observation, 0..=1.
    pub tool_share: f64,
    /// Number of records that found a ring full.
    pub records_dropped: u64,
}

/// State of a rank in the last interval.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct RankNow {
    /// Position among the worlds of the run.
    pub world: usize,
    /// Rank in its world.
    pub rank: u32,
    /// Node on which it runs.
    pub node: String,
    /// Share of the interval that it computed, 0..=1.
    pub useful_share: f64,
    /// Share of the interval spent in MPI, 0..=1.
    pub mpi_share: f64,
    /// Current MPI call; `None` while computing.
    pub call: Option<String>,
    /// Time since it entered that call, or started computing, in s.
    pub since_s: f64,
    /// MPI calls per second.
    pub calls_per_s: f64,
    /// True if the rank has finalized or died.
    pub ended: bool,
}

/// An MPI operation in the last interval, over all ranks.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct OperationRate {
    /// MPI name.
    pub name: String,
    /// Class of the operation.
    pub class: String,
    /// Calls per second.
    pub calls_per_s: f64,
    /// Bytes per second.
    pub bytes_per_s: f64,
    /// Share of the ranks' time spent in it, 0..=1.
    pub time_share: f64,
}

/// Formats a snapshot as one line without a line feed.
#[must_use]
pub fn plain_line(snapshot: &Snapshot) -> String {
    let start = format!("sintonia: {} {}", seconds(snapshot.elapsed_s), harmless(&snapshot.state));
    if snapshot.ranks.is_empty() {
        return start;
    }
    let now = &snapshot.last_interval;
    let calls_per_s: f64 = snapshot.ranks.iter().map(|rank| rank.calls_per_s).sum();
    let parts = [
        start,
        plural(snapshot.ranks.len(), "rank"),
        format!(
            "parallel efficiency {} ({} so far)",
            percent(now.parallel_efficiency),
            percent(snapshot.so_far.parallel_efficiency)
        ),
        format!("load balance {}", percent(now.load_balance)),
        format!("communication {}", percent(now.communication_efficiency)),
        format!("{} calls/s", rate(calls_per_s)),
    ];
    let line = parts.join(", ");
    match snapshot.call_sites.first() {
        Some(site) => {
            let operation = harmless(&site.operation);
            format!("{line}, most time in {operation} {}", place::location(&site.place))
        }
        None => line,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sample;

    #[test]
    fn a_line_for_each_state() {
        let waiting = Snapshot { state: "waiting for MPI".to_owned(), ..Snapshot::default() };
        assert_eq!(plain_line(&waiting), "sintonia: 0 s waiting for MPI");
        assert_eq!(
            plain_line(&sample::snapshot(8)),
            "sintonia: 12.5 s running, 8 ranks, parallel efficiency 60.1 % (68.9 % so far), \
             load balance 73.4 %, communication 93.9 %, 2.13 k calls/s, most time in MPI_Recv xfire.c:412",
        );
    }
}
