//! Target: the shared memory in which a program is observed, as that program may leave it.

use super::folder::Folder;
use assemble::summarize;
use collector::{place, recover};
use ring::layout::{BLOCKS_OFFSET, N_RESERVED_REGIONS};
use ring::{Capacity, SegmentWriter};
use run_record::RunRecord;
use run_record::measured::{MeasuredRun, RunFacts};
use std::sync::LazyLock;
use std::sync::atomic::Ordering;
use symbols::Resolver;

const RUN: u64 = 0xf0;

/// Segment of a process with two threads, counters, records and a communicator.
static SEGMENT: LazyLock<Vec<u8>> = LazyLock::new(|| {
    let folder = Folder::new("segment-made");
    let path = folder.path().join("1-2.segment");
    let capacity =
        Capacity { n_threads: 3, n_regions: N_RESERVED_REGIONS + 8, n_peers: 4, n_records: 64 };
    let segment = SegmentWriter::create(&path, capacity, 2).expect("room for a segment");
    let header = segment.header();
    header.pid.store(1, Ordering::Relaxed);
    header.size.store(4, Ordering::Relaxed);
    header.first_ticks.store(1000, Ordering::Relaxed);
    header.first_ns.store(1_000_000, Ordering::Relaxed);
    header.last_ticks.store(9_000_000, Ordering::Relaxed);
    header.last_ns.store(10_000_000, Ordering::Relaxed);
    segment.write_text(&header.library, b"Some MPI 1.0");
    segment.write_modules(b"1000-2000 r-xp 0 00:00 0 /bin/true\n");
    segment.define_communicator(5, &[0, 1, u32::MAX]);
    for tid in 1..=2 {
        let mut thread = segment.attach_thread(tid).expect("room for a thread");
        for number in 0..20 {
            thread.region(0x1000 + number, 0, 3).count(5, 7, 8);
            thread.peer(1).expect("a peer of the world").sent(8, 0);
            let record = events::CallRecord {
                enter_ticks: 2000 + 10 * number,
                exit_ticks: 2005 + 10 * number,
                operation: 3,
                ..events::CallRecord::default()
            };
            thread.push(&record);
        }
        thread.enter(3, 0x1000, 3000);
    }
    segment.publish();
    std::fs::read(&path).expect("our segment")
});

/// Overwrites parts of a segment, then recovers the run from it as `sintonia report` does. The bytes are writes: a
/// place (two bytes: the part, and the offset in it in units of 8 bytes), the number of bytes (one), and these bytes.
pub(crate) fn run(bytes: &[u8]) {
    let mut segment = SEGMENT.clone();
    let mut rest = bytes;
    while let [part, at, n_bytes, value @ ..] = rest {
        let n_bytes = usize::from(*n_bytes).min(value.len());
        let start = start_of(*part).saturating_add(8 * usize::from(*at)).min(segment.len());
        let end = (start + n_bytes).min(segment.len());
        segment[start..end].copy_from_slice(&value[..end - start]);
        rest = &value[n_bytes..];
    }
    recover(&segment);
}

/// Starts of the parts that hold numbers, then places all over the segment.
fn start_of(part: u8) -> usize {
    let capacity =
        Capacity { n_threads: 3, n_regions: N_RESERVED_REGIONS + 8, n_peers: 4, n_records: 64 };
    match part {
        0..32 => 0,
        32..64 => ring::layout::CONTROL_OFFSET,
        64..96 => ring::layout::COMMUNICATORS_OFFSET,
        96..128 => BLOCKS_OFFSET,
        128..160 => capacity.block_offset(1),
        160..192 => BLOCKS_OFFSET + capacity.statistics_bytes(),
        _ => usize::from(part - 192) * 4096,
    }
}

fn recover(segment: &[u8]) {
    let folder = Folder::new("segment");
    let node = place::run_dir(folder.path(), RUN).join("node");
    files::private::claim(&place::run_dir(folder.path(), RUN)).expect("a folder of ours");
    files::private::claim(&node).expect("a folder of ours");
    let file = node.join("1-2.segment");
    let mut made = files::private::make_file(&file).expect("a folder of ours");
    std::io::Write::write_all(&mut made, segment).expect("room for it");
    let Ok(record) = RunRecord::create(&folder.path().join("record"), Default::default()) else {
        return;
    };
    let facts = RunFacts {
        run: format!("{RUN:016x}"),
        shm_dir: folder.path().to_owned(),
        ..RunFacts::default()
    };
    let measured = recover::complete(MeasuredRun::default(), &record, &facts);
    assert!(measured.processes.len() <= 1, "one segment is one process");
    assert!(measured.processes.iter().all(|report| report.key.pid == 1), "named by its file");
    let summary = summarize(&measured, &facts, &mut Resolver::new());
    assert_eq!(summary.n_ranks, measured.processes.len());
}
