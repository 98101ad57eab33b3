//! Snapshots for a live view: the run so far, and what changed since the last snapshot.

use assemble::summarize;
use models::pop::{RankTime, efficiencies};
use report::live::{OperationRate, RankNow, Snapshot};
use run_record::Summary;
use run_record::measured::{MeasuredRun, RunFacts};
use run_record::summary::{Efficiencies, RankTotals};
use std::collections::HashMap;
use std::time::Instant;
use symbols::Resolver;
use wire::ProcessReport;

/// Number of call sites shown.
const N_CALL_SITES: usize = 50;

/// Makes the snapshots of a run, one after the other.
pub(super) struct Snapshots {
    facts: RunFacts,
    resolver: Resolver,
    last: Summary,
    started: Instant,
}

impl Snapshots {
    pub(super) fn new(facts: &RunFacts) -> Self {
        Self {
            facts: facts.clone(),
            resolver: Resolver::new(),
            last: Summary::default(),
            started: Instant::now(),
        }
    }

    /// Snapshot of the moment at which `measured` was taken.
    pub(super) fn next(&mut self, measured: MeasuredRun) -> Snapshot {
        let mut facts = self.facts.clone();
        facts.wall_s = self.started.elapsed().as_secs_f64();
        let now = summarize(&measured, &facts, &mut self.resolver);
        let snapshot = snapshot(&self.last, &now, &measured.processes);
        self.last = now;
        snapshot
    }
}

fn snapshot(last: &Summary, now: &Summary, processes: &[ProcessReport]) -> Snapshot {
    let changes = changes(last, now);
    let mut call_sites = now.call_sites.clone();
    call_sites.truncate(N_CALL_SITES);
    let elapsed_s = changes.iter().map(|change| change.elapsed_s).sum();
    Snapshot {
        elapsed_s: now.elapsed_s,
        state: state(now).to_owned(),
        waits: Vec::new(),
        n_nodes: now.n_nodes,
        ranks: changes.iter().map(|change| rank_now(change, processes)).collect(),
        so_far: now.pop,
        last_interval: interval_efficiencies(&changes, now),
        operations: operation_rates(last, now, elapsed_s),
        call_sites,
        output: Vec::new(),
        ns_per_call: now.tool.ns_per_call,
        tool_share: now.tool.share_of_time,
        records_dropped: now.tool.records_dropped,
    }
}

fn state(now: &Summary) -> &'static str {
    let is_running = |rank: &RankTotals| rank.end == "running";
    if now.ranks.is_empty() {
        "waiting for MPI"
    } else if now.ranks.iter().any(is_running) {
        "running"
    } else {
        "ending"
    }
}

/// Changes of a rank since the last snapshot.
struct Change<'a> {
    rank: &'a RankTotals,
    elapsed_s: f64,
    useful_s: f64,
    mpi_s: f64,
    calls: u64,
}

fn changes<'a>(last: &Summary, now: &'a Summary) -> Vec<Change<'a>> {
    let key = |rank: &RankTotals| (rank.node.clone(), rank.pid, rank.rank);
    let before: HashMap<_, _> = last.ranks.iter().map(|rank| (key(rank), rank)).collect();
    let new = RankTotals::default();
    let change = |rank: &'a RankTotals| {
        let before = before.get(&key(rank)).copied().unwrap_or(&new);
        Change {
            rank,
            elapsed_s: (rank.elapsed_s - before.elapsed_s).max(0.0),
            useful_s: (rank.useful_s - before.useful_s).max(0.0),
            mpi_s: (rank.mpi_s - before.mpi_s).max(0.0),
            calls: rank.calls.saturating_sub(before.calls),
        }
    };
    now.ranks.iter().map(change).collect()
}

fn rank_now(change: &Change<'_>, processes: &[ProcessReport]) -> RankNow {
    let share = |part_s: f64| if change.elapsed_s == 0.0 { 0.0 } else { part_s / change.elapsed_s };
    let rank = change.rank;
    let report = processes.iter().find(|p| p.key.pid == rank.pid && p.rank.0 == rank.rank);
    RankNow {
        world: rank.world,
        rank: rank.rank,
        node: rank.node.clone(),
        useful_share: share(change.useful_s).min(1.0),
        mpi_share: share(change.mpi_s).min(1.0),
        call: rank.last_seen_in.clone(),
        since_s: report.map_or(0.0, since_s),
        calls_per_s: share(change.calls as f64),
        ended: rank.end != "running",
    }
}

/// Time for which the main thread has been in its present call or computation, in s.
fn since_s(report: &ProcessReport) -> f64 {
    let main = report.threads.iter().find(|thread| thread.idx == report.main_thread);
    main.map_or(0.0, |thread| report.clock.seconds(report.now.0.saturating_sub(thread.since.0)))
}

fn interval_efficiencies(changes: &[Change<'_>], now: &Summary) -> Efficiencies {
    let mut nodes: Vec<&str> = now.ranks.iter().map(|rank| rank.node.as_str()).collect();
    nodes.sort_unstable();
    nodes.dedup();
    let running = changes.iter().filter(|change| 0.0 < change.elapsed_s);
    let times: Vec<RankTime> = running
        .map(|change| RankTime {
            node: nodes.partition_point(|node| *node < change.rank.node.as_str()),
            elapsed_s: change.elapsed_s,
            mpi_s: (change.elapsed_s - change.useful_s).max(0.0),
        })
        .collect();
    efficiencies(&times).map_or(Efficiencies::default(), |found| Efficiencies {
        parallel_efficiency: found.parallel,
        mpi_parallel_efficiency: found.parallel,
        communication_efficiency: found.communication,
        load_balance: found.load_balance,
        load_balance_in: found.load_balance_in,
        load_balance_out: found.load_balance_out,
        ..Efficiencies::default()
    })
}

/// Rates over the interval; `elapsed_s` is its length summed over ranks.
fn operation_rates(last: &Summary, now: &Summary, elapsed_s: f64) -> Vec<OperationRate> {
    let n_ranks = now.ranks.len().max(1) as f64;
    if elapsed_s == 0.0 {
        return Vec::new();
    }
    let interval_s = elapsed_s / n_ranks;
    let mut rates: Vec<OperationRate> = now
        .operations
        .iter()
        .map(|(name, totals)| {
            let before = last.operations.get(name).cloned().unwrap_or_default();
            OperationRate {
                name: name.clone(),
                class: totals.class.clone(),
                calls_per_s: totals.calls.saturating_sub(before.calls) as f64 / interval_s,
                bytes_per_s: totals.bytes.saturating_sub(before.bytes) as f64 / interval_s,
                time_share: ((totals.time_s - before.time_s) / elapsed_s).clamp(0.0, 1.0),
            }
        })
        .filter(|rate| 0.0 < rate.calls_per_s || 0.0 < rate.time_share)
        .collect();
    rates.sort_by(|a, b| b.time_share.total_cmp(&a.time_share));
    rates
}

#[cfg(test)]
mod tests {
    use super::*;
    use run_record::summary::OperationTotals;

    fn moment(elapsed_s: f64, useful_s: [f64; 2], calls: u64) -> Summary {
        let rank = |rank: u32, useful_s: f64| RankTotals {
            rank,
            pid: 10 + rank,
            node: "n".to_owned(),
            elapsed_s,
            useful_s,
            mpi_s: elapsed_s - useful_s,
            calls,
            end: "running".to_owned(),
            ..RankTotals::default()
        };
        let sends =
            OperationTotals { calls: 2 * calls, time_s: elapsed_s, ..OperationTotals::default() };
        Summary {
            ranks: vec![rank(0, useful_s[0]), rank(1, useful_s[1])],
            operations: [("MPI_Send".to_owned(), sends)].into(),
            elapsed_s,
            ..Summary::default()
        }
    }

    #[test]
    fn a_moment_shows_what_changed() {
        let shown = snapshot(&moment(10.0, [5.0, 5.0], 100), &moment(12.0, [7.0, 6.0], 300), &[]);
        let [first, second] = &shown.ranks[..] else { panic!("two ranks") };
        assert!((first.useful_share - 1.0).abs() < 1e-9);
        assert!((second.useful_share - 0.5).abs() < 1e-9 && (second.mpi_share - 0.5).abs() < 1e-9);
        assert!((first.calls_per_s - 100.0).abs() < 1e-9);
        assert!((shown.last_interval.parallel_efficiency - 0.75).abs() < 1e-9);
        assert!((shown.last_interval.load_balance - 0.75).abs() < 1e-9);
        assert!((shown.operations[0].calls_per_s - 200.0).abs() < 1e-9);
        assert!((shown.operations[0].time_share - 0.5).abs() < 1e-9);
        assert_eq!(shown.state, "running");
    }

    #[test]
    fn the_first_moment_has_nothing_before_it() {
        let shown = snapshot(&Summary::default(), &Summary::default(), &[]);
        assert_eq!((shown.state.as_str(), shown.ranks.len()), ("waiting for MPI", 0));
        let shown = snapshot(&Summary::default(), &moment(1.0, [0.5, 0.5], 10), &[]);
        assert!((shown.last_interval.parallel_efficiency - 0.5).abs() < 1e-9);
    }
}
