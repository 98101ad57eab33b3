//! Critical path of a trace: the computing and calling on which the end of the run depends.

use super::waits::Waits;
use super::{CallAt, Place, Sums, computing_before, computing_since, site};
use crate::thread_timeline::ThreadTimeline;

/// Returns the time of each rank and place on the critical path, from the end of the last rank back to a start.
pub(super) fn critical(timelines: &[ThreadTimeline], waits: &Waits) -> Sums {
    let mut sums = Sums::new();
    let last = (0..timelines.len()).max_by_key(|timeline| timelines[*timeline].span_ns.1);
    let mut next = last.map(|timeline| (timeline, timelines[timeline].span_ns.1));
    while let Some((timeline, until_ns)) = next {
        next = go_back(timelines, waits, (timeline, until_ns), &mut sums);
    }
    sums
}

/// Follows a timeline back from a time to its last wait; returns the timeline that was waited for, and until when.
fn go_back(
    timelines: &[ThreadTimeline],
    waits: &Waits,
    (timeline, until_ns): (usize, u64),
    sums: &mut Sums,
) -> Option<(usize, u64)> {
    let of = &timelines[timeline];
    let mut add = |place: Place, start_ns: u64, end_ns: u64| {
        let ns = end_ns.min(until_ns).saturating_sub(start_ns);
        *sums.entry((of.rank, place)).or_default() += ns as f64;
    };
    let first = of.calls.partition_point(|call| call.start_ns < until_ns);
    let next_ns = of.calls.get(first).map_or(u64::MAX, |call| call.start_ns);
    add(computing_before(of, first), computing_since(of, first), next_ns);
    for call in (0..first).rev() {
        let span = of.calls[call];
        let wait = waits.of_call(CallAt { timeline, call });
        // Time goes back at each change of the timeline, so the path ends.
        if let Some((_, wait)) = wait.filter(|(_, wait)| wait.end_ns < until_ns) {
            add(Place::Calling(site(&span)), wait.end_ns, span.end_ns);
            return Some((wait.of.timeline, wait.end_ns));
        }
        add(Place::Calling(site(&span)), span.start_ns, span.end_ns);
        add(computing_before(of, call), computing_since(of, call), span.start_ns);
    }
    None
}
