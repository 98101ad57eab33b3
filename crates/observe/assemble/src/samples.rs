//! Hand-made reports for tests: 2 ticks are 1 ns, and the run started 1 s before the first clock point.

use events::{Clock, Peer, ProcessKey, Rank, RegionCounters, SizeHistogram, Ticks, WorldId};
use run_record::measured::MeasuredRun;
use wire::{ProcessReport, ThreadReport};

/// Start time of the command.
pub(super) const STARTED_S: f64 = 1_000_000.0;
/// First clock point of every process, in ticks.
pub(super) const FIRST_TICKS: u64 = 7_000_000_000;
const FIRST_NS: u64 = 1_000_001_000_000_000;
/// Ticks per second.
pub(super) const SECOND: u64 = 2_000_000_000;

/// Address at which rank 0 maps the program; other ranks map it some pages further on.
pub(super) const TEXT: u64 = 0x5500_0000_0000;

/// Returns rank `rank` of 2 in world `world` on node `node0`, which ran for 10 s, finalized, and did nothing.
pub(super) fn process(world: u64, rank: u32) -> ProcessReport {
    let start = text_of(rank);
    ProcessReport {
        key: ProcessKey { pid: 100 + rank, started: FIRST_TICKS },
        node: "node0".into(),
        host: "node0".into(),
        world: WorldId(world),
        rank: Rank(rank),
        size: 2,
        finalizing: true,
        gone: true,
        clock: Clock {
            first_ticks: FIRST_TICKS,
            first_ns: FIRST_NS,
            last_ticks: FIRST_TICKS + 10 * SECOND,
            last_ns: FIRST_NS + 10_000_000_000,
        },
        now: Ticks(FIRST_TICKS + 11 * SECOND),
        init_end: Ticks(FIRST_TICKS),
        finalize_begin: Some(Ticks(FIRST_TICKS + 10 * SECOND)),
        cost_ns_per_call: 15.0,
        reserved_bytes: 1000,
        library: "Open MPI v4.1.4, package: Debian OpenMPI, ident: 4.1.4".into(),
        program: "/bin/fire".into(),
        modules: format!("{start:x}-{:x} r-xp 00001000 08:01 7 /bin/fire", start + 0x1000),
        threads: vec![thread(0, Vec::new())],
        ..ProcessReport::default()
    }
}

/// Returns such a process with these regions of its only thread.
pub(super) fn process_with(world: u64, rank: u32, regions: Vec<RegionCounters>) -> ProcessReport {
    ProcessReport { threads: vec![thread(0, regions)], ..process(world, rank) }
}

/// Returns a run with these processes.
pub(super) fn measured(processes: impl Into<Vec<ProcessReport>>) -> MeasuredRun {
    MeasuredRun { processes: processes.into(), ..MeasuredRun::default() }
}

/// Returns the address at which a rank maps the program.
pub(super) fn text_of(rank: u32) -> u64 {
    TEXT + u64::from(rank) * 0x10_0000
}

/// Returns a thread with these regions.
pub(super) fn thread(idx: u32, regions: Vec<RegionCounters>) -> ThreadReport {
    let since = Ticks(FIRST_TICKS + 10 * SECOND);
    ThreadReport { idx, tid: 100 + idx, regions, since, ..ThreadReport::default() }
}

/// Returns `n_calls` calls of 64 bytes that took `mpi_s` seconds in total, after `compute_s` of computation.
/// Addresses are offsets in the text of `rank`, except 0, which stays 0.
pub(super) fn region(
    rank: u32,
    (previous, address): (u64, u64),
    operation: &str,
    n_calls: u32,
    (mpi_s, compute_s): (f64, f64),
) -> RegionCounters {
    let at = |offset: u64| if offset == 0 { 0 } else { text_of(rank) + offset };
    let mut counts = [0; events::size_histogram::N_BINS];
    counts[SizeHistogram::bin_of(64)] = n_calls;
    RegionCounters {
        address: at(address),
        previous: at(previous),
        operation: operation_number(operation),
        n_calls: u64::from(n_calls),
        mpi_ticks: ticks(mpi_s),
        compute_ticks: ticks(compute_s),
        mpi_ticks_max: ticks(mpi_s) / u64::from(n_calls.max(1)),
        bytes: 64 * u64::from(n_calls),
        sizes: SizeHistogram::from_counts(counts),
        ..RegionCounters::default()
    }
}

/// Traffic with a peer.
pub(super) fn peer(n_sent: u64, bytes_sent: u64, n_received: u64, bytes_received: u64) -> Peer {
    Peer { n_sent, bytes_sent, n_received, bytes_received, ..Peer::default() }
}

/// Returns the number of an operation in the table.
pub(super) fn operation_number(name: &str) -> u16 {
    mpi_abi::find(name).expect("an operation of the table").0
}

#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "small positive times")]
fn ticks(seconds: f64) -> u64 {
    (seconds * SECOND as f64) as u64
}
