//! Handmade traces.

use events::RecordKind;
use run_record::summary::{CallSite, RankTotals, SourceLocation, World};
use run_record::{Event, RunRecord, RunStart, Summary};
use tempfile::TempDir;

/// Record in a folder that is removed with this value.
pub(crate) struct Sample {
    pub(crate) record: RunRecord,
    pub(crate) dir: TempDir,
}

/// Writes a record of these events; `nodes` gives the node of each rank.
pub(crate) fn record(events: &[Event], nodes: &[&str]) -> Sample {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("run");
    let record = RunRecord::create(&path, RunStart::default()).unwrap();
    let mut writer = record.event_writer().unwrap();
    writer.append(events).unwrap();
    writer.finish().unwrap();
    record.write_summary(&summary(nodes)).unwrap();
    Sample { record, dir }
}

fn summary(nodes: &[&str]) -> Summary {
    let rank = |(rank, node): (u32, &&str)| RankTotals {
        rank,
        node: (*node).to_owned(),
        elapsed_s: 20e-6,
        ..RankTotals::default()
    };
    let place = SourceLocation {
        function: "solve".to_owned(),
        file: "src/cg.c".to_owned(),
        line: 12,
        ..SourceLocation::default()
    };
    let unknown =
        SourceLocation { module: "a.out".to_owned(), offset: 0x40, ..SourceLocation::default() };
    Summary {
        command: vec!["mpirun".to_owned(), "./cg \"x\"".to_owned()],
        started_s: 1_735_689_599.0,
        mpi: "Open MPI".to_owned(),
        ranks: (0..).zip(nodes).map(rank).collect(),
        worlds: vec![World { size: nodes.len(), start_s: 1e-6, ..World::default() }],
        call_sites: vec![
            CallSite { id: 0, place, ..CallSite::default() },
            CallSite { id: 1, place: unknown, ..CallSite::default() },
        ],
        ..Summary::default()
    }
}

/// Returns a call of a rank's first thread, with all other fields empty.
pub(crate) fn call(rank: u32, name: &str, start_ns: u64, end_ns: u64) -> Event {
    Event {
        world: 0,
        rank,
        thread: 0,
        start_ns,
        end_ns,
        operation: mpi_abi::find(name).unwrap(),
        call_site: Some(0),
        peer: -1,
        tag: -1,
        communicator: 0,
        bytes: 0,
        request: 0,
        more: 0,
        kind: RecordKind::Call,
    }
}

/// Adds bytes moved to or from a peer, or the root of a collective, to a call.
pub(crate) fn with(peer: i32, tag: i32, bytes: u64, event: Event) -> Event {
    Event { peer, tag, bytes, ..event }
}

pub(crate) fn requests(request: u64, more: u64, event: Event) -> Event {
    Event { request, more, kind: RecordKind::Requests, ..event }
}

/// Returns a trace of three ranks on two nodes: every kind of message, the world and other communicators, a
/// second thread, and calls that no format can hold.
pub(crate) fn three_ranks() -> Sample {
    let half = |event: Event| Event { kind: RecordKind::ReceiveHalf, ..event };
    let events = [
        with(0, -1, 64, call(0, "MPI_Bcast", 2000, 2500)),
        with(0, -1, 64, call(1, "MPI_Bcast", 1500, 2600)),
        with(0, -1, 64, call(2, "MPI_Bcast", 2200, 2600)),
        with(1, 7, 100, call(0, "MPI_Send", 3000, 3300)),
        with(0, 7, 100, call(1, "MPI_Recv", 2700, 3400)),
        Event { request: 11, ..with(2, 8, 4096, call(0, "MPI_Isend", 3500, 3600)) },
        Event { request: 12, ..with(-1, -1, 400, call(0, "MPI_Irecv", 3600, 3700)) },
        with(0, 9, 40, call(1, "MPI_Ssend", 5000, 5100)),
        Event { request: 12, ..with(1, 9, 0, call(0, "MPI_Wait", 4000, 5200)) },
        Event { request: 21, ..with(0, 8, 4096, call(2, "MPI_Irecv", 2700, 2800)) },
        call(2, "MPI_Waitall", 4000, 4100),
        requests(21, 0, call(2, "MPI_Waitall", 4000, 4100)),
        call(0, "MPI_Waitall", 5300, 5400),
        requests(11, 0, call(0, "MPI_Waitall", 5300, 5400)),
        with(2, 1, 8, call(0, "MPI_Sendrecv", 6000, 6400)),
        half(with(2, 2, 16, call(0, "MPI_Sendrecv", 6000, 6400))),
        with(0, 2, 16, call(2, "MPI_Sendrecv", 6100, 6400)),
        half(with(0, 1, 8, call(2, "MPI_Sendrecv", 6100, 6400))),
        Event { call_site: Some(1), ..with(2, -1, 32, call(1, "MPI_Put", 6000, 6500)) },
        Event { thread: 1, call_site: None, ..with(0, 3, 5, call(2, "MPI_Send", 7000, 7100)) },
        Event { communicator: 5, ..call(0, "MPI_Barrier", 7000, 7500) },
        Event { communicator: 5, ..call(1, "MPI_Barrier", 7200, 7500) },
        with(-1, -1, 8, call(0, "MPI_Allreduce", 8000, 9000)),
        with(-1, -1, 8, call(1, "MPI_Allreduce", 8900, 9000)),
        with(-1, -1, 8, call(2, "MPI_Allreduce", 8200, 9000)),
        // From `MPI_PROC_NULL`: it looks like a receive from any rank, but declares no bytes.
        Event { request: 30, ..call(0, "MPI_Irecv", 9200, 9300) },
        call(0, "MPI_Finalize", 9500, 9900),
        call(1, "MPI_Finalize", 9600, 9900),
        call(2, "MPI_Finalize", 9700, 9900),
    ];
    record(&events, &["n1", "n1", "n2"])
}
