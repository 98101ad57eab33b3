//! Traces whose causes are computed by hand, in us.

use super::*;
use crate::ThreadTimelineBuilder;
use events::Event;
use proptest::prelude::*;

const US: u64 = 1000;

/// Call from `start` to `end` in us, at a call site.
fn call(name: &str, (start, end): (u64, u64), site: u32, peer: i32) -> Event {
    Event {
        start_ns: start * US,
        end_ns: end * US,
        call_site: Some(site),
        peer,
        tag: 1,
        communicator: 0,
        request: 0,
        more: 0,
        ..crate::action::tests::row(name)
    }
}

fn ranks(calls: &[Vec<Event>], end: u64) -> Vec<ThreadTimeline> {
    let timeline = |(rank, calls): (u32, &Vec<Event>)| {
        let mut builder = ThreadTimelineBuilder::new(rank, 0);
        calls.iter().for_each(|call| builder.push(call));
        builder.finish(end * US)
    };
    (0..).zip(calls).map(timeline).collect()
}

fn clocks(n: usize) -> Vec<ClockError> {
    vec![ClockError::default(); n]
}

fn us(times: &[PlaceTime]) -> Vec<(u32, Place, u64)> {
    times.iter().map(|it| (it.rank, it.place, it.time_ns / US)).collect()
}

#[track_caller]
fn check(calls: &[Vec<Event>], end: u64, waiting: u64, causes: &[(u32, Place, u64)]) -> Delays {
    let delays = analyze(&ranks(calls, end), &clocks(calls.len()));
    assert_eq!((delays.waiting_ns / US, us(&delays.causes)), (waiting, causes.to_vec()));
    delays
}

const fn before(from: u32, to: u32) -> Place {
    Place::Computing(Some(from), Some(to))
}

const fn first(to: u32) -> Place {
    Place::Computing(None, Some(to))
}

#[test]
fn a_late_sender_is_named_with_its_computing() {
    let calls = [vec![call("MPI_Send", (10, 10), 7, 1)], vec![call("MPI_Recv", (4, 11), 8, 0)]];
    let delays = check(&calls, 20, 6, &[(0, first(7), 6)]);
    let path = [
        (0, first(7), 10),
        (1, Place::Computing(Some(8), None), 9),
        (1, Place::Calling(Some(8)), 1),
    ];
    let mut found = us(&delays.critical_path);
    found.sort_by_key(|it| std::cmp::Reverse(it.2));
    // Both ranks end at the same time: the path ends at the later one in the list.
    assert_eq!(found, path);
}

#[test]
fn a_delay_that_is_passed_on_counts_where_it_began() {
    let calls = [
        vec![call("MPI_Send", (10, 10), 1, 1)],
        vec![call("MPI_Recv", (2, 10), 2, 0), call("MPI_Send", (10, 10), 3, 2)],
        vec![call("MPI_Recv", (1, 10), 4, 1)],
    ];
    // Rank 2 waits for 9: rank 1 had computed for 2 and waited for 8, so that it causes a fifth of it.
    check(&calls, 10, 17, &[(0, first(1), 15), (1, first(2), 1)]);
}

#[test]
fn what_all_do_equally_long_is_no_cause_although_it_is_the_last() {
    let rank = |at: u64, enter: u64| {
        vec![call("MPI_Iprobe", (at, at), 1, -1), call("MPI_Barrier", (enter, 9), 2, -1)]
    };
    let calls = [rank(2, 5), rank(6, 9)];
    check(&calls, 9, 4, &[(1, first(1), 4)]);
}

#[test]
fn what_was_paid_for_is_not_counted_again() {
    let rank = |enters: [u64; 2]| {
        vec![
            call("MPI_Barrier", (enters[0], 10), 1, -1),
            call("MPI_Barrier", (enters[1], 20), 1, -1),
        ]
    };
    let calls = [rank([10, 12]), rank([4, 20])];
    check(&calls, 20, 14, &[(1, before(1, 1), 8), (0, first(1), 6)]);
}

#[test]
fn a_late_receiver_is_named() {
    let calls = [vec![call("MPI_Ssend", (3, 9), 1, 1)], vec![call("MPI_Recv", (8, 9), 2, 0)]];
    check(&calls, 9, 5, &[(1, first(2), 5)]);
    // A send that was buffered did not wait.
    let calls = [vec![call("MPI_Send", (3, 5), 1, 1)], vec![call("MPI_Recv", (8, 9), 2, 0)]];
    check(&calls, 9, 0, &[]);
}

#[test]
fn requests_wait_when_they_are_completed() {
    let receive = Event { request: 5, ..call("MPI_Irecv", (0, 1), 1, 1) };
    let wait = Event { request: 5, peer: -1, ..call("MPI_Wait", (2, 9), 2, -1) };
    let calls = [vec![receive, wait], vec![call("MPI_Send", (8, 8), 3, 0)]];
    check(&calls, 9, 6, &[(1, first(3), 6)]);
}

#[test]
fn a_root_is_waited_for_and_a_slow_call_is_a_cause() {
    let calls = [
        vec![call("MPI_File_sync", (1, 7), 4, -1), call("MPI_Bcast", (8, 8), 1, 0)],
        vec![call("MPI_Bcast", (2, 8), 1, 0)],
    ];
    let causes = [(0, Place::Calling(Some(4)), 4), (0, first(4), 0), (0, before(4, 1), 0)];
    check(&calls, 8, 6, &causes);
}

#[test]
fn clocks_of_two_nodes_may_differ() {
    let calls = [vec![call("MPI_Send", (10, 10), 7, 1)], vec![call("MPI_Recv", (4, 11), 8, 0)]];
    let timelines = ranks(&calls, 20);
    let on = |node, error_us| ClockError { node, error_ns: error_us * US };
    let waiting = |clocks: [ClockError; 2]| analyze(&timelines, &clocks).waiting_ns / US;
    assert_eq!(waiting([on(0, 0), on(1, 3)]), 6);
    assert_eq!(waiting([on(0, 3), on(1, 4)]), 0);
    assert_eq!(waiting([on(1, 9), on(1, 9)]), 6);
}

#[test]
fn nothing_has_no_causes() {
    check(&[], 0, 0, &[]);
    check(&[vec![]], 5, 0, &[]);
}

/// Ranks that compute for these times in us, then pass a message around, and meet every third round.
fn simulate(rounds: &[Vec<u64>]) -> (Vec<Vec<Event>>, u64) {
    let n = rounds[0].len();
    let mut clocks = vec![0; n];
    let mut calls = vec![Vec::new(); n];
    for (round, times) in rounds.iter().enumerate() {
        let starts: Vec<u64> = clocks.iter().zip(times).map(|(clock, time)| clock + time).collect();
        for rank in 0..n {
            let (left, right) = ((rank + n - 1) % n, (rank + 1) % n);
            let start = starts[rank];
            let end = start.max(starts[left]);
            let peer = |rank: usize| i32::try_from(rank).unwrap();
            calls[rank].push(call("MPI_Send", (start, start), 1, peer(right)));
            calls[rank].push(call("MPI_Recv", (start, end), 2, peer(left)));
            clocks[rank] = end;
        }
        if round % 3 == 2 {
            let last = clocks.iter().copied().max().unwrap_or(0);
            for (calls, clock) in calls.iter_mut().zip(&mut clocks) {
                calls.push(call("MPI_Barrier", (*clock, last), 3, -1));
                *clock = last;
            }
        }
    }
    (calls, clocks.into_iter().max().unwrap_or(0))
}

proptest! {
    #[test]
    fn causes_add_up_to_all_waiting_and_the_path_to_the_run(
        rounds in (2_usize..5).prop_flat_map(|n| {
            proptest::collection::vec(proptest::collection::vec(1_u64..50, n), 1..12)
        })
    ) {
        let (calls, end) = simulate(&rounds);
        let delays = analyze(&ranks(&calls, end), &clocks(calls.len()));
        let sum = |times: &[PlaceTime]| times.iter().map(|it| it.time_ns).sum::<u64>();
        let tolerance_ns = delays.causes.len() as u64;
        prop_assert!(sum(&delays.causes).abs_diff(delays.waiting_ns) <= tolerance_ns);
        prop_assert_eq!(sum(&delays.critical_path), end * US);
        prop_assert!(delays.causes.iter().all(|it| matches!(it.place, Place::Computing(..))));
    }
}
