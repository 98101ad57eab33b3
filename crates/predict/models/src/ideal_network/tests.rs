//! Cases computed by hand.

use super::*;
use crate::action::{Flow, MessageEnd};
use crate::thread_timeline::TimelineStep;

fn to(peer: u32) -> MessageEnd {
    MessageEnd { peer: Some(peer), tag: Some(0), communicator: 0 }
}

fn send(compute_ns: u64, peer: u32) -> TimelineStep {
    TimelineStep { compute_ns, action: CallEffect::Send { message: to(peer), request: 0 } }
}

fn receive(compute_ns: u64, peer: u32) -> TimelineStep {
    TimelineStep { compute_ns, action: CallEffect::Receive(to(peer)) }
}

fn start(compute_ns: u64, peer: u32, request: u64) -> TimelineStep {
    TimelineStep { compute_ns, action: CallEffect::StartReceive { message: to(peer), request } }
}

fn wait(compute_ns: u64, request: u64) -> TimelineStep {
    TimelineStep { compute_ns, action: CallEffect::Complete { request, peer: None, tag: None } }
}

fn collective(compute_ns: u64, flow: Flow) -> TimelineStep {
    TimelineStep {
        compute_ns,
        action: CallEffect::Collective { communicator: 0, flow, request: 0 },
    }
}

fn ranks(steps: &[&[TimelineStep]]) -> Vec<ThreadTimeline> {
    let timeline = |(rank, steps): (u32, &&[TimelineStep])| ThreadTimeline {
        rank,
        steps: steps.to_vec(),
        ..ThreadTimeline::default()
    };
    (0..).zip(steps).map(timeline).collect()
}

#[track_caller]
fn check(steps: &[&[TimelineStep]], expected_ns: u64) {
    let ideal = super::run(&ranks(steps)).unwrap();
    assert_eq!(ideal, IdealRun { elapsed_ns: expected_ns, unmatched: Unmatched::default() });
    let turned: Vec<ThreadTimeline> = ranks(steps).into_iter().rev().collect();
    assert_eq!(super::run(&turned), Ok(ideal), "the order of the timelines does not matter");
}

#[test]
fn messages() {
    check(&[], 0);
    check(&[&[send(5, 1)], &[receive(3, 0)]], 5);
    check(&[&[send(5, 1)], &[receive(8, 0)]], 8);
    // A pipeline: rank 1 adds its work to the message of rank 0, rank 2 to that of rank 1.
    check(&[&[send(5, 1)], &[receive(0, 0), send(7, 2)], &[receive(1, 1), wait(9, 0)]], 21);
    // Ping-pong, 3 rounds of 2 and 4.
    check(
        &[
            &[send(2, 1), receive(0, 1), send(2, 1), receive(0, 1), send(2, 1), receive(0, 1)],
            &[receive(0, 0), send(4, 0), receive(0, 0), send(4, 0), receive(0, 0), send(4, 0)],
        ],
        18,
    );
    // Both send first: a deadlock without buffers, none on an ideal network.
    check(&[&[send(1, 1), receive(2, 1)], &[send(4, 0), receive(0, 0)]], 4);
}

#[test]
fn started_receives_wait_when_they_are_completed() {
    let posts_early = [start(0, 1, 7), wait(10, 7)];
    check(&[&posts_early, &[send(6, 0)]], 10);
    check(&[&posts_early, &[send(16, 0)]], 16);
    // The second receive posted is completed first.
    check(
        &[&[start(0, 1, 7), start(0, 1, 8), wait(0, 8), wait(1, 7)], &[send(5, 0), send(5, 0)]],
        11,
    );
    // A request that is not a receive: a send.
    check(&[&[wait(3, 99)]], 3);
}

#[test]
fn collectives() {
    let all = |ns| [collective(ns, Flow::All), collective(1, Flow::All)];
    check(&[&all(3), &all(9), &all(4)], 10);
    let from_root = |ns| [collective(ns, Flow::FromRoot(1)), wait(2, 0)];
    check(&[&from_root(3), &from_root(9), &from_root(10)], 12);
    let to_root = |ns| [collective(ns, Flow::ToRoot(0)), wait(5, 0)];
    check(&[&to_root(3), &to_root(9), &to_root(4)], 14);
    check(&[&to_root(3), &to_root(9), &to_root(8)], 14);
    check(&[&to_root(10), &to_root(9), &to_root(8)], 15);
}

#[test]
fn a_started_collective_waits_when_it_is_completed() {
    let action = CallEffect::Collective { communicator: 4, flow: Flow::All, request: 3 };
    let begin = |compute_ns| TimelineStep { compute_ns, action };
    check(&[&[begin(1), wait(5, 3)], &[begin(9), wait(5, 3)]], 14);
    check(&[&[begin(1), wait(20, 3)], &[begin(9), wait(0, 3)]], 21);
}

#[test]
fn threads_of_a_rank_have_their_own_clocks() {
    let timeline = |rank, steps: &[TimelineStep], compute_after_ns| ThreadTimeline {
        rank,
        steps: steps.to_vec(),
        compute_after_ns,
        ..ThreadTimeline::default()
    };
    let timelines =
        [timeline(0, &[receive(1, 1)], 2), timeline(0, &[], 30), timeline(1, &[send(8, 0)], 0)];
    assert_eq!(super::run(&timelines).unwrap().elapsed_ns, 30);
    assert_eq!(super::run(&[timelines[0].clone(), timelines[2].clone()]).unwrap().elapsed_ns, 10);
}

#[test]
fn what_has_no_partner_does_not_wait_and_is_counted() {
    let all = collective(1, Flow::All);
    let unknown = MessageEnd { peer: None, tag: None, communicator: 0 };
    let from_any = TimelineStep { compute_ns: 1, action: CallEffect::Receive(unknown) };
    let timelines = ranks(&[&[receive(4, 1), all, all], &[send(2, 2), from_any, all], &[all]]);
    let ideal = super::run(&timelines).unwrap();
    assert_eq!(ideal.elapsed_ns, 6);
    assert_eq!(ideal.unmatched, Unmatched { sends: 1, receives: 2, collectives: 1 });
}

#[test]
fn a_trace_in_which_everyone_waits_is_stalled() {
    let timelines =
        ranks(&[&[receive(1, 1), send(0, 1)], &[receive(1, 0), send(0, 0)], &[wait(5, 0)]]);
    let stalled = super::run(&timelines).unwrap_err();
    assert_eq!((stalled.n_waiting, stalled.n_timelines), (2, 3));
}

#[test]
fn a_long_trace_takes_no_stack_and_no_squares() {
    let n_rounds = 100_000;
    let even: Vec<TimelineStep> = (0..n_rounds).flat_map(|_| [send(2, 1), receive(0, 1)]).collect();
    let odd: Vec<TimelineStep> = (0..n_rounds).flat_map(|_| [receive(0, 0), send(4, 0)]).collect();
    check(&[&even, &odd], 6 * n_rounds);
}

#[track_caller]
fn check_split(useful_max_s: f64, ideal_s: f64, elapsed_s: f64, expected: (f64, f64)) {
    let split = split(useful_max_s, ideal_s, elapsed_s).unwrap();
    assert!((split.serialization_efficiency - expected.0).abs() < 1e-12, "{split:?}");
    assert!((split.transfer_efficiency - expected.1).abs() < 1e-12, "{split:?}");
    let product = split.serialization_efficiency * split.transfer_efficiency;
    assert!((product - useful_max_s / elapsed_s).abs() < 1e-12, "{split:?}");
}

#[test]
fn the_split_multiplies_to_communication_efficiency() {
    check_split(4.0, 5.0, 10.0, (0.8, 0.5));
    check_split(4.0, 3.0, 10.0, (1.0, 0.4));
    check_split(4.0, 12.0, 10.0, (0.4, 1.0));
    assert_eq!(split(0.0, 1.0, 1.0), None);
    assert_eq!(split(1.0, f64::NAN, 1.0), None);
}
