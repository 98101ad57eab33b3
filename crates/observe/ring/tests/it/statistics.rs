//! Counters, texts, and blocks of threads.

use crate::{pair, ring_crate};
use events::{AwaitedRequest, CollectiveCalls, CommunicatorKey};
use ring_crate::{Capacity, SegmentError, SegmentReader};
use std::sync::atomic::Ordering;

#[test]
fn what_is_counted_is_read() {
    let pair = pair(2, 8, 0);
    let mut thread = pair.writer.attach_thread(9).expect("room for a thread");
    thread.region(0x10, 0, 3).count(5, 7, 8);
    thread.region(0x10, 0, 3).count(50, 1, 1024);
    thread.region(0x20, 0x10, 4).count(1, 1, 0);
    thread.peer(2).expect("a peer of the world").sent(8, 5);
    thread.peer(2).expect("a peer of the world").received(16);
    assert!(thread.peer(4).is_none(), "beyond the capacity");

    let view = pair.reader.threads().next().expect("one thread");
    let regions = view.regions();
    assert_eq!(view.tid(), 9);
    assert_eq!(regions.len(), 2);
    assert_eq!((regions[0].n_calls, regions[0].mpi_ticks, regions[0].compute_ticks), (2, 55, 8));
    assert_eq!((regions[0].mpi_ticks_max, regions[0].bytes), (50, 1032));
    assert_eq!((regions[0].sizes.counts()[4], regions[0].sizes.counts()[11]), (1, 1));
    assert_eq!((regions[1].address, regions[1].previous, regions[1].operation), (0x20, 0x10, 4));
    let peers = view.peers();
    assert_eq!(peers.len(), 1);
    assert_eq!((peers[0].0, peers[0].1.bytes_sent, peers[0].1.n_received), (2, 8, 1));
}

#[test]
fn a_full_table_keeps_totals_by_operation() {
    let pair = pair(1, 4, 0);
    let mut thread = pair.writer.attach_thread(1).expect("room for a thread");
    for address in 1..=100 {
        thread.region(address, 0, 3).count(1, 1, 1);
        thread.region(address, 0, 5).count(1, 1, 1);
    }
    let view = pair.reader.threads().next().expect("one thread");
    let regions = view.regions();
    let calls = |operation| {
        let of_it = regions.iter().filter(|region| region.operation == operation);
        of_it.map(|region| region.n_calls).sum::<u64>()
    };
    assert_eq!((calls(3), calls(5)), (100, 100));
    assert_eq!(regions.len(), 6, "four regions and two totals");
    assert_eq!(view.calls_without_region(), 196);
}

#[test]
fn a_block_is_handed_on_when_its_thread_ends() {
    let pair = pair(2, 8, 0);
    let mut first = pair.writer.attach_thread(1).expect("room for a thread");
    first.region(0x10, 0, 3).count(1, 1, 1);
    let _second = pair.writer.attach_thread(2).expect("room for a second thread");
    assert!(pair.writer.attach_thread(3).is_none(), "no third block");
    first.detach();
    let mut third = pair.writer.attach_thread(3).expect("the block of the first");
    third.region(0x10, 0, 3).count(1, 1, 1);

    let view = pair.reader.threads().next().expect("the first block");
    assert_eq!((view.tid(), view.regions().len(), view.regions()[0].n_calls), (3, 1, 2));
    assert_eq!(pair.reader.process().threads_refused, 1);
}

#[test]
fn the_call_in_progress_is_seen() {
    let pair = pair(1, 8, 0);
    let (thread, view) = pair.thread();
    thread.enter(0, 0x10, 5);
    let in_call = view.in_call().expect("inside the first operation of the table");
    assert_eq!((in_call.operation, in_call.address, view.since_ticks()), (0, 0x10, 5));
    thread.leave(6);
    assert_eq!((view.in_call(), view.since_ticks()), (None, 6));
    assert_eq!(view.last_call(), Some(in_call));
}

#[test]
fn what_a_call_waits_for_is_seen() {
    let pair = pair(1, 8, 0);
    let (thread, view) = pair.thread();
    let communicator = CommunicatorKey { id: 7, ordinal: 1 };
    let made = AwaitedRequest { operation: 3, peer: 2, tag: 9, communicator };
    thread.note_request(0x55, &made);
    thread.count_collective(1, communicator, (4, 0x20));
    thread.count_collective(1, communicator, (5, 0x30));
    thread.enter(0, 0x10, 5);
    thread.awaited().publish(communicator, (2, -1), 64);
    thread.await_request(0, 0x55);
    thread.await_request(1, 0x56);
    thread.await_request(10_000, 0x57);
    thread.awaited().n_requests.store(10_000, Ordering::Relaxed);
    let awaited = view.awaited();
    assert_eq!((awaited.communicator, awaited.peer, awaited.tag), (communicator, 2, -1));
    assert_eq!((awaited.count, awaited.n_requests), (64, 10_000));
    assert_eq!(awaited.requests, [made], "the second request was made elsewhere");
    let calls = CollectiveCalls { communicator, n_calls: 2, operation: 5, address: 0x30 };
    assert_eq!(pair.reader.collectives(), [calls]);
}

#[test]
fn texts_and_communicators_arrive_whole() {
    let pair = pair(1, 8, 0);
    let header = pair.writer.header();
    pair.writer.write_text(&header.library, "Some MPI 1.0".as_bytes());
    pair.writer.write_modules(b"1-2 r-xp 0 0 0 /a\n");
    pair.writer.define_communicator(5, &[3, 1, u32::MAX]);
    pair.writer.define_communicator(6, &[]);
    pair.writer.define_communicator(5, &[3, 1, u32::MAX]);
    // Texts do not change once a reader exists.
    let process = SegmentReader::open(pair.writer.path()).expect("published").process();
    assert_eq!((process.library.as_str(), process.key.started), ("Some MPI 1.0", 77));
    assert_eq!(pair.reader.modules(), "1-2 r-xp 0 0 0 /a\n");
    assert_eq!(pair.reader.communicators(), [(5, vec![3, 1, u32::MAX]), (6, vec![])]);
}

#[test]
fn a_file_that_is_no_segment_is_refused() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let path = folder.path().join("text");
    std::fs::write(&path, vec![7; 100_000]).expect("a file");
    assert!(matches!(SegmentReader::open(&path), Err(SegmentError::NotASegment(_))));
    std::fs::write(&path, b"short").expect("a file");
    assert!(matches!(SegmentReader::open(&path), Err(SegmentError::NotASegment(_))));
    let missing = folder.path().join("missing");
    assert!(matches!(SegmentReader::open(&missing), Err(SegmentError::System { .. })));
}

#[test]
fn a_segment_keeps_no_file_open() {
    let pair = pair(2, 8, 64);
    let open = std::fs::read_dir("/proc/self/fd").expect("the system lists open files");
    let files: Vec<_> =
        open.flatten().filter_map(|file| std::fs::read_link(file.path()).ok()).collect();
    assert!(!files.iter().any(|file| file == pair.writer.path()), "{files:?}");
    assert!(pair.writer.attach_thread(1).is_some_and(|thread| thread.has_ring()));
}

#[test]
fn a_segment_that_is_left_keeps_its_numbers_and_takes_no_more() {
    let pair = pair(2, 8, 64);
    let mut thread = pair.writer.attach_thread(1).expect("room for a thread");
    thread.region(0x10, 0, 3).count(1, 1, 1);
    pair.writer.detach();
    // A thread in the middle of a call.
    thread.region(0x10, 0, 3).count(1, 1, 1);
    thread.region(0x20, 0, 3).count(1, 1, 1);
    thread.push(&events::CallRecord::default());
    thread.detach();
    let process = pair.reader.process();
    assert!(process.is_detached && process.finalizing);
    let view = pair.reader.threads().next().expect("its block");
    assert_eq!((view.regions().len(), view.regions()[0].n_calls, view.n_written()), (1, 1, 0));
    let maps = std::fs::read_to_string("/proc/self/maps").expect("the system lists mappings");
    let path = pair.writer.path().to_str().expect("a plain path");
    // The reader's own mapping is the only one.
    assert_eq!(maps.lines().filter(|line| line.ends_with(path)).count(), 1);
}

#[test]
fn a_segment_gets_smaller_where_there_is_little_room() {
    let wanted = Capacity { n_threads: 8, n_regions: 800, n_peers: 4, n_records: 1024 };
    let check = |room: usize, expected: Option<(u32, u32)>| {
        let got = wanted.shrunk_to(room as u64).map(|got| (got.n_threads, got.n_records));
        assert_eq!(got, expected, "{room} bytes");
    };
    let whole = wanted.segment_bytes();
    check(whole, Some((8, 1024)));
    check(whole - 1, Some((4, 1024)));
    let one_thread = Capacity { n_threads: 1, ..wanted }.segment_bytes();
    check(one_thread, Some((1, 1024)));
    check(one_thread - 1, Some((1, 512)));
    check(4096, None);
}
