//! Values for this crate's own tests.

use events::{Clock, ProcessKey, Rank, Ticks, WorldId};
use wire::ProcessReport;

/// Returns a report of rank `rank`.
pub(crate) fn report(rank: u32) -> ProcessReport {
    ProcessReport {
        key: ProcessKey { pid: 100 + rank, started: 1 },
        node: "node".to_owned(),
        host: "host".to_owned(),
        world: WorldId(1),
        rank: Rank(rank),
        size: 4,
        spawned: false,
        finalizing: false,
        left: false,
        gone: false,
        clock: Clock { first_ticks: 0, first_ns: 0, last_ticks: 1000, last_ns: 1000 },
        now: Ticks(1000),
        init_end: Ticks(10),
        finalize_begin: None,
        cost_ns_per_call: 10.0,
        threads_refused: 0,
        main_thread: 0,
        reserved_bytes: 4096,
        library: "MPI".to_owned(),
        program: "/bin/program".to_owned(),
        modules: String::new(),
        communicators: Vec::new(),
        threads: Vec::new(),
    }
}
