//! Roles of a test's other processes: this binary, started again to play one role.
//!
//! A role is an ignored test, so that it can be started by name but does not run with the others.

use collector::{Collector, CollectorOptions, RunEnvironment, place};
use events::CallRecord;
use ring::{Capacity, SegmentWriter, ThreadWriter, clock};
use std::io::Read;
use std::os::unix::net::UnixDatagram;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// Behavior of a rank after writing its records: see [`crate::stage::Rank`].
pub(crate) const ENDING: &str = "TEST_ENDING";
pub(crate) const RANK: &str = "TEST_RANK";
pub(crate) const N_RECORDS: &str = "TEST_RECORDS";
/// Number of records in a ring: fewer than a rank writes.
pub(crate) const RING_RECORDS: u32 = 256;
/// Number of records in the ring of a rank that passes functions.
pub(crate) const SUMMED_RING_RECORDS: u32 = 4096;
/// Return address that is in no module.
pub(crate) const ADDRESS: u64 = 0x1234;

fn variable(name: &str) -> String {
    std::env::var(name).expect("set by the test")
}

fn number(name: &str) -> u64 {
    variable(name).parse().expect("set by the test")
}

#[test]
#[ignore = "a role in other tests, started by them"]
fn collector() {
    let environment =
        RunEnvironment::from_variables(|name| std::env::var_os(name)).expect("set by the test");
    let options =
        CollectorOptions { patience: Duration::from_secs(1), ..CollectorOptions::default() };
    if let Some(collector) =
        Collector::take(&environment, options).expect("a folder that can be used")
    {
        collector.run();
    }
}

#[test]
#[ignore = "a role in other tests, started by them"]
fn rank() {
    let environment =
        RunEnvironment::from_variables(|name| std::env::var_os(name)).expect("set by the test");
    let folder = environment.run_dir().join(place::node_name());
    std::fs::create_dir_all(&folder).expect("a folder that can be used");
    let started = clock::ticks();
    let path = folder.join(format!("{}-{started:x}.segment", std::process::id()));
    let n_records = number(N_RECORDS);
    let capacity = Capacity {
        n_threads: 2,
        n_regions: 1024,
        n_peers: 4,
        n_records: match variable(ENDING).as_str() {
            "summed" => SUMMED_RING_RECORDS,
            _ if n_records == 0 => 0,
            _ => RING_RECORDS,
        },
    };
    let segment = SegmentWriter::create(&path, capacity, started).expect("room for a segment");
    describe(&segment);
    let mut thread = segment.attach_thread(1).expect("a block for the only thread");
    let control = ["tuned", "summed"]
        .contains(&&*variable(ENDING))
        .then(|| segment.open_control().expect("room for it"));
    segment.publish();
    ring_doorbell(&folder);
    if variable(ENDING) == "tuned" {
        let control = control.expect("opened above");
        crate::tuned_role::iterate(control, &mut thread, &folder);
        return finalize(&segment, &folder);
    }
    if variable(ENDING) == "summed" {
        let control = control.expect("opened above");
        crate::summed_role::pass(control, &folder, &mut thread, n_records);
        return finalize(&segment, &folder);
    }
    work(&mut thread, n_records);
    match variable(ENDING).as_str() {
        "finalize" => finalize(&segment, &folder),
        "wait" => {
            thread.enter(7, ADDRESS, clock::ticks());
            wait_for_input();
        }
        _ => {}
    }
}

fn describe(segment: &SegmentWriter) {
    use std::sync::atomic::Ordering::Relaxed;
    let header = segment.header();
    let (ticks, ns) = clock::point();
    header.rank.store(u32::try_from(number(RANK)).expect("small"), Relaxed);
    header.size.store(4, Relaxed);
    header.world.store(77, Relaxed);
    header.first_ticks.store(ticks, Relaxed);
    header.first_ns.store(ns, Relaxed);
    header.init_end_ticks.store(ticks, Relaxed);
    segment.write_text(&header.program, b"/bin/test");
}

/// Writes records numbered by their `bytes`, waiting for room so that none is dropped.
fn work(thread: &mut ThreadWriter, n_records: u64) {
    for number in 0..n_records {
        thread.region(ADDRESS, 0, 7).count(10, 20, number);
        let record = CallRecord { bytes: number, operation: 7, ..CallRecord::default() };
        while !thread.append(&record) {
            std::thread::yield_now();
        }
    }
    if n_records == 0 {
        thread.region(ADDRESS, 0, 7).count(10, 20, 3);
    }
}

fn finalize(segment: &SegmentWriter, folder: &Path) {
    use std::sync::atomic::Ordering::{Relaxed, Release};
    let (ticks, ns) = clock::point();
    segment.header().last_ticks.store(ticks, Relaxed);
    segment.header().last_ns.store(ns, Relaxed);
    segment.header().finalize_begin_ticks.store(ticks, Relaxed);
    segment.header().state.store(ring::LifeState::Finalizing as u32, Release);
    ring_doorbell(folder);
}

pub(crate) fn ring_doorbell(folder: &Path) {
    let socket = UnixDatagram::unbound().expect("a socket");
    // Without a collector, there is no receiver.
    socket.send_to(b"!", PathBuf::from(folder).join(place::DOORBELL)).ok();
}

/// Waits until the test ends, or closes the input.
fn wait_for_input() {
    std::io::stdin().read_to_end(&mut Vec::new()).ok();
}
