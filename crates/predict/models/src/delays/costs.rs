//! Costs of delays: the waiting that each rank causes at each place of the program.

use super::partners::Partners;
use super::waits::{PartnerWait, Waits};
use super::{CallAt, Place, SCANNED_PER_CALL, Sums, computing_before, computing_since, site};
use crate::thread_timeline::ThreadTimeline;
use std::collections::HashMap;

/// Fewest calls that are looked at for each wait, however many there are.
const N_CALLS_MIN: usize = 32;

/// What a timeline did in an interval.
struct Profile {
    /// Time at each place, in ns.
    places: HashMap<Place, u64>,
    /// Waits by number, with their time in the interval.
    waits: Vec<(usize, u64)>,
    /// Computation at the end of the interval.
    last: Place,
    since_ns: u64,
    n_calls: usize,
}

/// Divides all waiting among its causes.
pub(super) fn of_waits(timelines: &[ThreadTimeline], waits: &Waits, partners: &Partners) -> Sums {
    let mut order: Vec<usize> = (0..waits.all.len()).collect();
    order.sort_by_key(|number| waits.all[*number].end_ns);
    let since_ns = meetings(&order, waits, timelines, partners);
    let n_calls: usize = timelines.iter().map(|timeline| timeline.calls.len()).sum();
    let mut n_calls_left = n_calls.saturating_mul(SCANNED_PER_CALL);
    let mut propagated_ns = vec![0.0; waits.all.len()];
    let mut sums = Sums::new();
    // Each wait comes after those that it is a cause of.
    for number in order.into_iter().rev() {
        let wait = &waits.all[number];
        let n_calls_max = if n_calls_left == 0 { N_CALLS_MIN } else { n_calls_left };
        let interval_ns = (since_ns[number], wait.end_ns);
        let late = profile(timelines, waits, (wait.of.timeline, interval_ns), n_calls_max);
        let early_ns = (late.since_ns, wait.start_ns);
        let early = profile(timelines, waits, (wait.at.timeline, early_ns), n_calls_max);
        n_calls_left = n_calls_left.saturating_sub(late.n_calls + early.n_calls);
        let cost_ns = (wait.end_ns - wait.start_ns) as f64 + propagated_ns[number];
        let rank = timelines[wait.of.timeline].rank;
        divide(cost_ns, (&late, &early), |part, ns| match part {
            Part::At(place) => *sums.entry((rank, place)).or_default() += ns,
            Part::Wait(earlier) => propagated_ns[earlier] += ns,
        });
    }
    sums
}

/// Returns the last time before each wait at which both ranks left a call together, or began.
fn meetings(
    order: &[usize],
    waits: &Waits,
    timelines: &[ThreadTimeline],
    partners: &Partners,
) -> Vec<u64> {
    let mut last_ns: HashMap<(usize, usize), u64> = HashMap::new();
    let mut since_ns = vec![0; waits.all.len()];
    for number in order {
        let PartnerWait { at, of, start_ns, end_ns, communicator } = waits.all[*number];
        let pair = (at.timeline.min(of.timeline), at.timeline.max(of.timeline));
        let began_ns = timelines[at.timeline].span_ns.0.max(timelines[of.timeline].span_ns.0);
        let of_pair_ns = last_ns.insert(pair, end_ns).unwrap_or(0);
        let world_ns = partners.last_meeting_ns(0, start_ns);
        let met_ns = partners.last_meeting_ns(communicator, start_ns).max(world_ns);
        since_ns[*number] = of_pair_ns.max(met_ns).max(began_ns).min(start_ns);
    }
    since_ns
}

/// Sums up the last calls of a timeline in an interval.
fn profile(
    timelines: &[ThreadTimeline],
    waits: &Waits,
    (timeline, (since_ns, until_ns)): (usize, (u64, u64)),
    n_calls_max: usize,
) -> Profile {
    let of = &timelines[timeline];
    let first = of.calls.partition_point(|call| call.start_ns < until_ns);
    let (places, waiting, last) = (HashMap::new(), Vec::new(), computing_before(of, first));
    let mut profile = Profile { places, waits: waiting, last, since_ns, n_calls: 0 };
    let within =
        |start_ns: u64, end_ns: u64| end_ns.min(until_ns).saturating_sub(start_ns.max(since_ns));
    let mut add = |place, ns: u64| {
        if ns != 0 {
            *profile.places.entry(place).or_default() += ns;
        }
    };
    let next_ns = of.calls.get(first).map_or(u64::MAX, |call| call.start_ns);
    add(last, within(computing_since(of, first), next_ns));
    for call in (0..first).rev() {
        let span = of.calls[call];
        if span.end_ns <= since_ns {
            break;
        }
        if n_calls_max <= profile.n_calls {
            profile.since_ns = span.end_ns;
            break;
        }
        profile.n_calls += 1;
        let wait = waits.of_call(CallAt { timeline, call });
        let waited_ns = wait.map_or(0, |(_, wait)| within(wait.start_ns, wait.end_ns));
        if let (Some((number, _)), 1..) = (wait, waited_ns) {
            profile.waits.push((number, waited_ns));
        }
        add(Place::Calling(site(&span)), within(span.start_ns, span.end_ns) - waited_ns);
        add(computing_before(of, call), within(computing_since(of, call), span.start_ns));
    }
    profile
}

/// Receiver of a part of a cost.
enum Part {
    At(Place),
    Wait(usize),
}

/// Divides a cost by what the late timeline did longer than the early one.
fn divide(cost_ns: f64, (late, early): (&Profile, &Profile), mut give: impl FnMut(Part, f64)) {
    let waited_ns = |profile: &Profile| profile.waits.iter().map(|(_, ns)| ns).sum::<u64>();
    let of_early = |place: &Place| early.places.get(place).copied().unwrap_or(0);
    let excess = |(place, ns): (&Place, &u64)| (*place, ns.saturating_sub(of_early(place)));
    let excesses: Vec<(Place, u64)> = late.places.iter().map(excess).collect();
    let late_waited_ns = waited_ns(late);
    let excess_waited_ns = late_waited_ns.saturating_sub(waited_ns(early));
    let all_ns = (excesses.iter().map(|(_, ns)| ns).sum::<u64>() + excess_waited_ns) as f64;
    if all_ns <= 0.0 {
        // Only part of the interval was looked at: what the late rank did last is as good as any.
        return give(Part::At(late.last), cost_ns);
    }
    for (place, ns) in excesses.into_iter().filter(|(_, ns)| *ns != 0) {
        give(Part::At(place), cost_ns * ns as f64 / all_ns);
    }
    for (number, ns) in late.waits.iter().filter(|_| excess_waited_ns != 0) {
        let share = *ns as f64 / late_waited_ns as f64 * excess_waited_ns as f64 / all_ns;
        give(Part::Wait(*number), cost_ns * share);
    }
}
