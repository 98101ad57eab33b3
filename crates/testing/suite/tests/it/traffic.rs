//! Tests of the traffic matrix with known messages.

use suite::library::Library;
use suite::{TestProgram, watch};

/// Runs a program in which rank i sends j + 1 messages of 100 (i + 1) bytes to rank j.
#[track_caller]
fn check(library: Library, n_ranks: u32) {
    let n = usize::try_from(n_ranks).expect("a few ranks");
    let summary = watch(&library.launch(n, &TestProgram::c("traffic").built(library))).summary;
    let mut seen: Vec<(u32, u32, u64, u64)> = summary
        .traffic
        .iter()
        .map(|pair| (pair.from, pair.to, pair.messages, pair.bytes))
        .collect();
    seen.sort_unstable();
    let pairs = (0..n_ranks).flat_map(|from| (0..n_ranks).map(move |to| (from, to)));
    let expected: Vec<(u32, u32, u64, u64)> = pairs
        .filter(|(from, to)| from != to)
        .map(|(from, to)| {
            (from, to, u64::from(to) + 1, 100 * (u64::from(from) + 1) * (u64::from(to) + 1))
        })
        .collect();
    assert_eq!(seen, expected, "{library:?}");
}

#[test]
fn every_pair_has_its_messages_and_bytes() {
    check(Library::OpenMpi4, 3);
    check(Library::Mpich4, 5);
    check(Library::OpenMpi5, 2);
    check(Library::Mpich5, 3);
}

#[test]
fn sizes_fall_in_their_bins() {
    for library in Library::SYSTEM {
        let summary = watch(&library.launch(2, &TestProgram::c("traffic").built(library))).summary;
        // Two messages of 100 bytes in the bin from 64 on, one of 200 in the bin from 128 on.
        assert_eq!(summary.operations["MPI_Isend"].sizes, vec![(64, 2), (128, 1)], "{library:?}");
    }
}

#[test]
fn calls_that_complete_receives_have_what_came_in() {
    for library in Library::SYSTEM {
        let summary = watch(&library.launch(2, &TestProgram::c("arrivals").built(library))).summary;
        let bytes = |operation: &str| summary.operations[operation].bytes;
        let found = ["Wait", "Waitall", "Waitany", "Test", "Waitsome", "Testall"]
            .map(|name| bytes(&format!("MPI_{name}")));
        let room = 1 << 20;
        // Where statuses are ignored, it is not known what several requests received.
        let (waitall, testall) = (100 * (room / 100), 3 * room);
        assert_eq!(found, [10, waitall, 10, 10, 30, testall], "{library:?}");
        assert_eq!(bytes("MPI_Irecv"), room + 105 * (room / 100), "{library:?}");
        let site = summary.call_sites.iter().find(|site| site.operation == "MPI_Waitall");
        assert_eq!(site.expect("it was called").bytes, waitall, "{library:?}");
        // The sums of a rank have each message once, by the room for it.
        let all = bytes("MPI_Irecv") + bytes("MPI_Recv_init") + 4096;
        assert_eq!(summary.ranks[1].bytes, all, "{library:?}");
    }
}
