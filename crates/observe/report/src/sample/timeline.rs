//! Sample trace: iterations of computation, a ring of messages, and a collective at the end of each.

use super::noise;
use crate::timeline::{Event, Role, Timeline, TimelineOptions};

/// Number of calls of a rank per iteration.
const N_CALLS: u32 = 4;
const ITERATION_NS: i64 = 100_000;

/// Returns a timeline of about `n_events` calls on `n_ranks` ranks.
#[must_use]
pub fn timeline(n_ranks: u32, n_events: u32) -> Timeline {
    let n_iterations = n_events / N_CALLS / n_ranks.max(1);
    let events = (0..n_ranks).flat_map(move |rank| {
        (0..n_iterations).flat_map(move |iteration| calls_of(rank, n_ranks, iteration))
    });
    Timeline::from_events(events, TimelineOptions::default())
}

fn calls_of(rank: u32, n_ranks: u32, iteration: u32) -> [Event<'static>; 4] {
    let first_ns = i64::from(iteration) * ITERATION_NS;
    let left = (rank + n_ranks - 1) % n_ranks;
    let right = (rank + 1) % n_ranks;
    let slow = if iteration % 97 < 20 { 0.25 } else { 0.0 };
    let position = f64::from(rank) / f64::from(n_ranks);
    let computed = 0.42 + 0.2 * noise(rank * 7919 + iteration) + slow * position;
    let call = |from: f64, to: f64, operation, class, call_site, peer: Option<u32>| Event {
        world: 0,
        rank,
        thread: 0,
        start_ns: first_ns + part_ns(from),
        end_ns: first_ns + part_ns(to),
        operation,
        class,
        call_site: Some(call_site),
        peer,
        bytes: peer.map_or(0, |peer| 4096 + u64::from(peer)),
        role: Role::of(operation),
    };
    let collective = if iteration % 10 == 9 { "MPI_Allreduce" } else { "MPI_Barrier" };
    let sent = computed + 0.03;
    let waited = sent + 0.08;
    [
        call(0.01, 0.02, "MPI_Irecv", "point-to-point", 0, Some(left)),
        call(computed, sent, "MPI_Send", "point-to-point", 4, Some(right)),
        call(sent, waited, "MPI_Waitall", "completion", 5, None),
        call(waited, 1.0, collective, "collective", 6, None),
    ]
}

fn part_ns(share: f64) -> i64 {
    #[expect(clippy::cast_possible_truncation, reason = "a share of an iteration")]
    let part_ns = (share * ITERATION_NS as f64) as i64;
    part_ns
}
