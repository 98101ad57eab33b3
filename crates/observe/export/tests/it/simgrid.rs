//! Time-independent traces, checked and replayed.

use crate::replay;
use crate::sample::{self, Sample, call, requests, with};
use events::RecordKind;
use export::{ExportError, SimgridOptions};
use run_record::Event;
use std::fs;

fn export(sample: &Sample) -> Vec<String> {
    export::simgrid(&sample.record, sample.dir.path(), &SimgridOptions::default()).unwrap()
}

#[test]
fn a_trace_as_simgrid_reads_it() {
    let sample = sample::three_ranks();
    let notes = export(&sample);
    let read = |name: &str| fs::read_to_string(sample.dir.path().join(name)).unwrap();
    let names = ["trace.txt", "hostfile", "platform.xml", "rank-0.txt", "rank-1.txt", "rank-2.txt"];
    let files: Vec<String> =
        names.iter().map(|name| format!("--- {name}\n{}", read(name))).collect();
    insta::assert_snapshot!("simgrid", files.concat());
    insta::assert_snapshot!("simgrid_notes", notes.join("\n"));
    replay::validate(sample.dir.path());
}

#[test]
fn the_small_trace_is_replayed_in_its_own_time() {
    let sample = sample::three_ranks();
    export(&sample);
    let Some(simulated_s) = replay::run(sample.dir.path(), 3) else { return };
    // Only rank 1 computes, for 6.3 microseconds; the rest is the platform's network.
    assert!((6e-6..1e-3).contains(&simulated_s), "{simulated_s}");
}

/// Returns a trace with every action, on four ranks that compute for a second between calls.
fn all_actions() -> Sample {
    let mut events = Vec::new();
    let second = 1_000_000_000;
    let rooted =
        ["MPI_Bcast", "MPI_Reduce", "MPI_Gather", "MPI_Gatherv", "MPI_Scatter", "MPI_Scatterv"];
    let symmetric = [
        "MPI_Barrier",
        "MPI_Allreduce",
        "MPI_Allgather",
        "MPI_Allgatherv",
        "MPI_Alltoall",
        "MPI_Alltoallv",
        "MPI_Alltoallw",
        "MPI_Reduce_scatter",
        "MPI_Reduce_scatter_block",
        "MPI_Scan",
        "MPI_Exscan",
        "MPI_Comm_split",
    ];
    for rank in 0..4_u32 {
        let mut at_ns = 1000;
        let mut next = |name: &str| {
            at_ns += 2 * second;
            call(rank, name, at_ns - second, at_ns)
        };
        let (right, left) = (((rank + 1) % 4).cast_signed(), ((rank + 3) % 4).cast_signed());
        for name in rooted {
            let bytes = if name.ends_with('v') { 100 * u64::from(rank + 1) } else { 1000 };
            let bytes = if rank == 2 && name.starts_with("MPI_Scatter") { 4000 } else { bytes };
            events.push(with(2, -1, bytes, next(name)));
        }
        events.extend(symmetric.map(|name| with(-1, -1, 4096, next(name))));
        events.push(Event { request: 2, ..next("MPI_Ibarrier") });
        // Communicators of half the world.
        for name in ["MPI_Bcast", "MPI_Reduce", "MPI_Allreduce", "MPI_Alltoall"] {
            let root = if rank < 2 { 1 } else { 3 };
            events.push(Event { communicator: 40 + rank / 2, ..with(root, -1, 900, next(name)) });
        }
        // A ring of large messages, using each way of sending and receiving once.
        events.push(Event { request: 1, ..with(left, 5, 1 << 20, next("MPI_Irecv")) });
        events.push(with(right, 5, 1 << 20, next("MPI_Send")));
        events.push(Event { request: 1, ..next("MPI_Wait") });
        let both = next("MPI_Sendrecv");
        events.push(with(right, 6, 1 << 20, both));
        events.push(Event { kind: RecordKind::ReceiveHalf, ..with(left, 6, 1 << 20, both) });
        events.push(with(right, 7, 1 << 20, next("MPI_Bsend")));
        events.push(with(left, 7, 1 << 20, next("MPI_Recv")));
        events.push(Event { request: 3, communicator: 77, ..with(right, 7, 9, next("MPI_Isend")) });
        events.push(Event { request: 4, communicator: 77, ..with(left, -1, 9, next("MPI_Irecv")) });
        let all = next("MPI_Waitall");
        events.extend([all, requests(3, 4, all)]);
        events.push(Event { request: 8, ..with(right, 1, 70_000, next("MPI_Send_init")) });
        events.push(Event { request: 9, ..with(left, 1, 70_000, next("MPI_Recv_init")) });
        for _round in 0..2 {
            let start = next("MPI_Startall");
            let all = next("MPI_Waitall");
            events.extend([start, requests(9, 8, start), all, requests(8, 9, all)]);
        }
    }
    sample::record(&events, &["n1", "n2", "n1", "n2"])
}

#[test]
fn every_action_is_well_formed_and_replayed() {
    let sample = all_actions();
    let notes = export(&sample);
    replay::validate(sample.dir.path());
    assert!(notes.iter().any(|note| note.contains("4 calls of MPI_Ibarrier")), "{notes:?}");
    assert!(
        notes.iter().any(|note| note.starts_with("4 calls of MPI_Reduce on a part")),
        "{notes:?}"
    );
    let Some(simulated_s) = replay::run(sample.dir.path(), 4) else { return };
    // There are 37 calls with a second of computation before each; the
    // first call starts a second after the world, and the messages take some milliseconds.
    assert!((38.0..38.1).contains(&simulated_s), "{simulated_s}");
}

#[test]
fn a_collective_that_some_rank_lacks_is_computation() {
    let events = [
        call(0, "MPI_Barrier", 2000, 3000),
        call(0, "MPI_Barrier", 4000, 5000),
        call(1, "MPI_Barrier", 2000, 3000),
    ];
    let sample = sample::record(&events, &["a", "a"]);
    let notes = export(&sample);
    replay::validate(sample.dir.path());
    let rank = fs::read_to_string(sample.dir.path().join("rank-0.txt")).unwrap();
    assert_eq!(rank, "0 init\n0 compute 1000\n0 barrier\n0 compute 2000\n0 finalize\n");
    assert!(notes.iter().any(|note| note.starts_with("1 calls of MPI_Barrier")), "{notes:?}");
}

#[test]
fn a_world_without_events_is_refused_by_name() {
    let sample = sample::three_ranks();
    let options = SimgridOptions { world: 3, ..SimgridOptions::default() };
    let error = export::simgrid(&sample.record, sample.dir.path(), &options).unwrap_err();
    assert!(matches!(error, ExportError::NoSuchWorld { world: 3, .. }), "{error}");
}
