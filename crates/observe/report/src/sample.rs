//! Sample runs and clusters with realistic values, for previews and tests.

mod balance;
mod dealt;
mod functions;
mod resizes;
mod tuning;

pub use balance::{explanation, nodes, tasks};
pub use dealt::dealt;
pub use functions::functions;
pub use resizes::resizes;
pub use tuning::tuning;

use crate::live::{OperationRate, RankNow, Snapshot};
use crate::timeline::{MessageRole, Timeline, TimelineCall, TimelineOptions};
use run_record::summary::{
    CallSite, CommandOutcome, Efficiencies, FORMAT_VERSION, Finding, OperationTotals, RankTotals,
    Region, SourceLocation, Summary, ToolCost, Traffic, World,
};
use std::collections::BTreeMap;

const ELAPSED_S: f64 = 41.8;
const PROGRAM: &str = "/home/ana/xfire/xfire";

/// Returns a run of a master and seven workers on two nodes.
#[must_use]
pub fn summary() -> Summary {
    summary_of(8)
}

/// Returns a run of a master and workers, in which a worker with a higher rank has more work.
#[must_use]
pub fn summary_of(n_ranks: u32) -> Summary {
    let ranks: Vec<RankTotals> = (0..n_ranks).map(|rank| rank_totals(rank, n_ranks)).collect();
    let pop = efficiencies(&ranks);
    let n_nodes = n_ranks.div_ceil(4) as usize;
    Summary {
        format_version: FORMAT_VERSION,
        sintonia_version: "0.1.0".to_owned(),
        command: command(n_ranks),
        started_s: 1_795_248_000.0,
        outcome: CommandOutcome { exit_code: Some(0), complete: true, ..CommandOutcome::default() },
        elapsed_s: ELAPSED_S,
        wall_s: ELAPSED_S + 0.9,
        n_ranks: ranks.len(),
        n_nodes,
        mpi: "Open MPI v4.1.4, package: Debian OpenMPI, ident: 4.1.4, repo rev: v4.1.4".to_owned(),
        pop,
        operations: operations(&ranks),
        call_sites: call_sites(&ranks),
        regions: regions(&ranks),
        worlds: vec![World {
            n_ranks: ranks.len(),
            size: ranks.len(),
            program: PROGRAM.to_owned(),
            start_s: 0.4,
            elapsed_s: ELAPSED_S,
            pop,
        }],
        traffic: traffic(n_ranks),
        findings: findings(),
        tool: tool_cost(&ranks),
        ranks,
        ..Summary::default()
    }
}

fn command(n_ranks: u32) -> Vec<String> {
    let words =
        ["mpirun", "-np", &n_ranks.to_string(), "./xfire", "fires/gestosa.toml", "--end", "3600"];
    words.map(ToOwned::to_owned).to_vec()
}

/// Returns a reproducible pseudo-random number in 0..1.
fn noise(seed: u32) -> f64 {
    f64::from(seed.wrapping_mul(2_654_435_761).rotate_left(7) % 1000) / 1000.0
}

fn rank_totals(rank: u32, n_ranks: u32) -> RankTotals {
    let slope = 0.55 + 0.4 * f64::from(rank) / f64::from(n_ranks.max(2) - 1);
    let useful_share =
        if rank == 0 && n_ranks > 1 { 0.12 } else { (slope - 0.05 * noise(rank)).min(1.0) };
    let elapsed_s = ELAPSED_S - 0.02 * noise(rank + 77);
    RankTotals {
        world: 0,
        rank,
        node: format!("node{:02}", rank / 4 + 1),
        pid: 21_340 + rank,
        n_threads: 1,
        elapsed_s,
        useful_s: elapsed_s * useful_share,
        mpi_s: elapsed_s * (1.0 - useful_share),
        calls: if rank == 0 { 4_000 * u64::from(n_ranks) } else { 8_130 + u64::from(rank) },
        bytes: if rank == 0 { 61_000_000 * u64::from(n_ranks) } else { 61_000_000 },
        end: "finalized".to_owned(),
        last_seen_in: None,
        usage: None,
    }
}

fn efficiencies(ranks: &[RankTotals]) -> Efficiencies {
    let useful = || ranks.iter().map(|rank| rank.useful_s);
    let longest_s = useful().fold(0.0, f64::max);
    let average_s = useful().sum::<f64>() / ranks.len().max(1) as f64;
    if longest_s <= 0.0 {
        return Efficiencies::default();
    }
    Efficiencies {
        parallel_efficiency: average_s / ELAPSED_S,
        mpi_parallel_efficiency: average_s / ELAPSED_S,
        core_availability: None,
        communication_efficiency: longest_s / ELAPSED_S,
        load_balance: average_s / longest_s,
        load_balance_in: (average_s / longest_s).sqrt(),
        load_balance_out: (average_s / longest_s).sqrt(),
        serialization_efficiency: Some((longest_s / ELAPSED_S).powf(0.8)),
        transfer_efficiency: Some((longest_s / ELAPSED_S).powf(0.2)),
        ..Efficiencies::default()
    }
}

/// Operation, class, function, line, share of the MPI time, bytes per call, and whether the master calls it.
type Call = (&'static str, &'static str, &'static str, u32, f64, u64, bool);

const CALLS: [Call; 7] = [
    ("MPI_Recv", "point-to-point", "global_receivework", 412, 0.58, 61_440, false),
    ("MPI_Recv", "point-to-point", "global_sendreceive", 298, 0.21, 30_720, true),
    ("MPI_Bcast", "collective", "broadcast_wind", 177, 0.09, 48, false),
    ("MPI_Send", "point-to-point", "global_sendwork", 251, 0.06, 61_440, true),
    ("MPI_Send", "point-to-point", "work_loop", 430, 0.04, 30_720, false),
    ("MPI_Waitall", "completion", "finish_iteration", 318, 0.015, 0, true),
    ("MPI_Barrier", "collective", "main", 96, 0.005, 0, false),
];

fn call_sites(ranks: &[RankTotals]) -> Vec<CallSite> {
    CALLS.iter().enumerate().map(|(id, call)| call_site(id, call, ranks)).collect()
}

fn call_site(id: usize, call: &Call, ranks: &[RankTotals]) -> CallSite {
    let (operation, _, function, line, share, call_bytes, by_master) = *call;
    let takes_part = |rank: &RankTotals| (rank.rank == 0) == by_master || ranks.len() == 1;
    let time_by_rank_s: Vec<f64> =
        ranks.iter().map(|rank| if takes_part(rank) { share * rank.mpi_s } else { 0.0 }).collect();
    let calls = ranks.iter().filter(|rank| takes_part(rank)).map(|rank| rank.calls / 4).sum();
    CallSite {
        id,
        operation: operation.to_owned(),
        place: SourceLocation {
            function: function.to_owned(),
            file: "/home/ana/xfire/src/xfire.c".to_owned(),
            line,
            module: PROGRAM.to_owned(),
            offset: 0x4a10 + 0x33 * u64::from(line),
        },
        calls,
        bytes: calls * call_bytes,
        time_s: time_by_rank_s.iter().sum(),
        time_max_s: 0.31 * share,
        time_by_rank_s,
        sizes: sizes(calls, call_bytes),
    }
}

fn sizes(calls: u64, call_bytes: u64) -> Vec<(u64, u64)> {
    let smallest = call_bytes.checked_ilog2().map_or(0, |bits| 1 << bits);
    let mut sizes = vec![(smallest, calls - calls / 7)];
    if smallest > 64 {
        sizes.push((smallest >> 1, calls / 9));
        sizes.push((smallest >> 4, calls / 7 - calls / 9));
    }
    sizes.sort_unstable();
    sizes
}

fn operations(ranks: &[RankTotals]) -> BTreeMap<String, OperationTotals> {
    let mut operations: BTreeMap<String, OperationTotals> = BTreeMap::new();
    for (call, site) in CALLS.iter().zip(call_sites(ranks)) {
        let totals = operations.entry(call.0.to_owned()).or_default();
        totals.class = call.1.to_owned();
        totals.calls += site.calls;
        totals.bytes += site.bytes;
        totals.time_s += site.time_s;
        totals.sizes.extend(site.sizes);
    }
    operations
}

fn regions(ranks: &[RankTotals]) -> Vec<Region> {
    let region = |from: Option<usize>, to: Option<usize>, share: f64, mpi_share: f64| {
        let compute_by_rank_s: Vec<f64> = ranks.iter().map(|rank| share * rank.useful_s).collect();
        let mpi_s = ranks.iter().map(|rank| mpi_share * rank.mpi_s).sum();
        Region {
            from,
            to,
            calls: 16_260,
            compute_s: compute_by_rank_s.iter().sum(),
            mpi_s,
            bytes: 499_000_000,
            compute_by_rank_s,
            sampled: None,
        }
    };
    vec![
        region(Some(0), Some(4), 0.88, 0.04),
        region(Some(1), Some(3), 0.06, 0.06),
        region(Some(4), Some(0), 0.03, 0.58),
        region(None, Some(2), 0.02, 0.09),
        region(Some(6), None, 0.01, 0.0),
    ]
}

fn traffic(n_ranks: u32) -> Vec<Traffic> {
    let message = |from, to, bytes| Traffic { world: 0, from, to, messages: 2_032, bytes };
    let with_master = (1..n_ranks).flat_map(|worker| {
        let work = 61_440 * 2_032 + 40_960 * u64::from(worker) * 90;
        [message(0, worker, work), message(worker, 0, work / 2)]
    });
    let neighbors = (2..n_ranks).map(|worker| message(worker - 1, worker, 4_096 * 2_032));
    with_master.chain(neighbors).collect()
}

fn findings() -> Vec<Finding> {
    let finding =
        |text: &str, call_site, share| Finding { text: text.to_owned(), call_site, share };
    vec![
        finding(
            "Work is dealt unevenly: rank 7 computes 1.7 times as long as rank 1, and the others wait for it \
             when they receive their next piece of work.",
            Some(0),
            0.183,
        ),
        finding("The master waits for results from one worker at a time.", Some(1), 0.057),
        finding(
            "6 % of the time goes into sending work; the messages are large enough to overlap with computation.",
            Some(3),
            0.021,
        ),
    ]
}

fn tool_cost(ranks: &[RankTotals]) -> ToolCost {
    let calls: u64 = ranks.iter().map(|rank| rank.calls).sum();
    ToolCost {
        ns_per_call: 21.4,
        calls,
        share_of_time: 21.4e-9 * calls as f64 / (ELAPSED_S * ranks.len().max(1) as f64),
        shared_memory_bytes: 4_718_592 * ranks.len() as u64,
        records: calls,
        ..ToolCost::default()
    }
}

/// Returns a run of `n_ranks` after some seconds.
#[must_use]
pub fn snapshot(n_ranks: u32) -> Snapshot {
    let summary = summary_of(n_ranks);
    let so_far = summary.pop;
    let operations = summary.operations.iter().map(|(name, totals)| OperationRate {
        name: name.clone(),
        class: totals.class.clone(),
        calls_per_s: totals.calls as f64 / summary.elapsed_s,
        bytes_per_s: totals.bytes as f64 / summary.elapsed_s,
        time_share: totals.time_s / summary.elapsed_s / f64::from(n_ranks),
    });
    Snapshot {
        elapsed_s: 12.5,
        state: "running".to_owned(),
        waits: Vec::new(),
        n_nodes: summary.n_nodes,
        ranks: summary.ranks.iter().map(rank_now).collect(),
        so_far,
        last_interval: Efficiencies {
            parallel_efficiency: so_far.parallel_efficiency - 0.088,
            ..so_far
        },
        operations: operations.collect(),
        call_sites: summary.call_sites,
        output: (0..12)
            .map(|n| format!("iteration {n}: 48213 points, residual 3.1e-0{}", n % 7))
            .collect(),
        ns_per_call: 21.4,
        tool_share: 0.000_06,
        records_dropped: 0,
    }
}

fn rank_now(rank: &RankTotals) -> RankNow {
    let useful_share = rank.useful_s / rank.elapsed_s;
    RankNow {
        world: rank.world,
        rank: rank.rank,
        node: rank.node.clone(),
        useful_share,
        mpi_share: 1.0 - useful_share,
        call: (rank.rank % 3 == 1).then(|| "MPI_Recv".to_owned()),
        since_s: 0.04 * noise(rank.rank + 3),
        calls_per_s: rank.calls as f64 / rank.elapsed_s,
        ended: rank.rank == 6,
    }
}

/// Number of calls of a rank per iteration.
const N_CALLS: u32 = 4;
const ITERATION_NS: i64 = 100_000;

/// Returns a timeline of about `n_events` calls on `n_ranks` ranks.
#[must_use]
pub fn timeline(n_ranks: u32, n_events: u32) -> Timeline {
    let n_iterations = n_events / N_CALLS / n_ranks.max(1);
    let events = (0..n_ranks).flat_map(move |rank| {
        (0..n_iterations).flat_map(move |iteration| calls_of(rank, n_ranks, iteration))
    });
    Timeline::from_events(events, TimelineOptions::default())
}

fn calls_of(rank: u32, n_ranks: u32, iteration: u32) -> [TimelineCall<'static>; 4] {
    let first_ns = i64::from(iteration) * ITERATION_NS;
    let left = (rank + n_ranks - 1) % n_ranks;
    let right = (rank + 1) % n_ranks;
    let slow = if iteration % 97 < 20 { 0.25 } else { 0.0 };
    let position = f64::from(rank) / f64::from(n_ranks);
    let computed = 0.42 + 0.2 * noise(rank * 7919 + iteration) + slow * position;
    let call = |from: f64, to: f64, operation, class, call_site, peer: Option<u32>| TimelineCall {
        world: 0,
        rank,
        thread: 0,
        start_ns: first_ns + part_ns(from),
        end_ns: first_ns + part_ns(to),
        operation,
        class,
        call_site: Some(call_site),
        peer,
        bytes: peer.map_or(0, |peer| 4096 + u64::from(peer)),
        role: MessageRole::of(operation),
    };
    let collective = if iteration % 10 == 9 { "MPI_Allreduce" } else { "MPI_Barrier" };
    let sent = computed + 0.03;
    let waited = sent + 0.08;
    [
        call(0.01, 0.02, "MPI_Irecv", "point-to-point", 0, Some(left)),
        call(computed, sent, "MPI_Send", "point-to-point", 4, Some(right)),
        call(sent, waited, "MPI_Waitall", "completion", 5, None),
        call(waited, 1.0, collective, "collective", 6, None),
    ]
}

fn part_ns(share: f64) -> i64 {
    #[expect(clippy::cast_possible_truncation, reason = "a share of an iteration")]
    let part_ns = (share * ITERATION_NS as f64) as i64;
    part_ns
}
