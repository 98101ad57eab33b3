//! Cost of monitoring a call in this process, measured before the program continues.
#![allow(unsafe_code, reason = "calls through the way of a real call")]

use crate::call::MonitoredCall;
use crate::library::MpiLibrary;
use crate::next::MPI_SEND;
use crate::thread;
use ring::clock;
use ring::{Capacity, SegmentWriter};
use std::hint::black_box;
use std::path::Path;

const N_CALLS: u64 = 256;
const N_ROUNDS: usize = 8;

/// Returns the time added to a call in ps: the fastest of a few rounds over a scratch segment, since noise
/// only adds time; 0 if there is no room for the segment.
pub(crate) fn ps_per_call(folder: &Path, library: &MpiLibrary, is_traced: bool) -> u64 {
    let path = folder.join(format!("{}.cost", std::process::id()));
    let n_records = if is_traced { 4096 } else { 0 };
    let capacity = Capacity {
        n_threads: 1,
        n_regions: 16 + ring::layout::N_RESERVED_REGIONS,
        n_peers: 1,
        n_records,
    };
    let segment = SegmentWriter::create(&path, capacity, 0);
    let _gone = std::fs::remove_file(&path);
    let Some(writer) = segment.ok().and_then(|segment| segment.attach_thread(0)) else { return 0 };
    let scratch = Box::into_raw(Box::new(thread::new(writer, *library)));
    let fastest = (0..N_ROUNDS).map(|_| round(scratch)).min().unwrap_or(0);
    // SAFETY: made above, with no other reference.
    drop(unsafe { Box::from_raw(scratch) });
    ps(fastest) / N_CALLS
}

fn round(scratch: *mut thread::Thread) -> u64 {
    let begin = clock::ticks();
    for _ in 0..N_CALLS {
        if let Some(mut call) =
            MonitoredCall::start(black_box(scratch), MPI_SEND, black_box(1), false)
        {
            call.returned();
            call.moved(black_box(8));
            call.finish(MPI_SEND);
        }
    }
    clock::ticks().wrapping_sub(begin)
}

/// Converts a span of ticks to picoseconds, by two clock points a moment apart.
fn ps(ticks: u64) -> u64 {
    let (first_ticks, first_ns) = clock::point();
    while clock::ticks().wrapping_sub(first_ticks) < CALIBRATION_TICKS {
        std::hint::spin_loop();
    }
    let (last_ticks, last_ns) = clock::point();
    let ns = u128::from(last_ns.saturating_sub(first_ns));
    let span = u128::from(last_ticks.saturating_sub(first_ticks)).max(1);
    u64::try_from(u128::from(ticks) * ns * 1000 / span).unwrap_or(0)
}

/// Long enough (about 0.2 ms) for an accuracy of one percent.
const CALIBRATION_TICKS: u64 = 500_000;
