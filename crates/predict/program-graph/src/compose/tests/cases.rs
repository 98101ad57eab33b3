//! Programs whose time is known as a formula.

use super::{collective, compute, program, receive, send};
use crate::compose::{
    CallSite, CollectiveKind, ComposeError, ComposedTime, Machine, Network, ProgramBuilder,
    RankOperation, SendMode, evaluate,
};

const LATENCY_S: f64 = 4e-6;
const S_PER_BYTE: f64 = 1e-9;
/// A length above the eager limit, in bytes.
const LONG: u64 = 1_000_000;

fn machine() -> Machine {
    Machine::of(Network::uniform(LATENCY_S, S_PER_BYTE))
}

fn t_send(bytes: u64) -> f64 {
    LATENCY_S + S_PER_BYTE * bytes as f64
}

fn run(ranks: &[Vec<RankOperation>]) -> ComposedTime {
    evaluate(&program(ranks), &machine()).expect("a time")
}

#[track_caller]
fn check(found: f64, expected: f64) {
    assert!((found - expected).abs() <= 1e-9 * expected.abs() + 1e-15, "{found}, not {expected}");
}

/// Runs a master that is ready at `master_s` and sends to `p` workers that are ready at `workers_s`.
fn sending(p: u32, [master_s, workers_s]: [f64; 2], bytes: u64) -> ComposedTime {
    let sends = (1..=p).map(|worker| send(worker, bytes));
    let master = std::iter::once(compute(master_s)).chain(sends).collect();
    let worker = vec![compute(workers_s), receive(0)];
    run(&std::iter::once(master).chain((0..p).map(|_| worker.clone())).collect::<Vec<_>>())
}

#[test]
fn the_master_comes_first_and_waits() {
    for (p, alpha_s) in [(1, 2.0), (4, 2.0), (10, 1.9968968)] {
        let outcome = sending(p, [0.0, alpha_s], LONG);
        // S1: t(p, n) = alpha + p t_send(n)
        check(outcome.total_s, alpha_s + f64::from(p) * t_send(LONG));
        check(outcome.ranks[0].waiting_s, alpha_s);
    }
}

#[test]
fn the_workers_come_first_and_wait() {
    for p in [1, 4, 10] {
        let outcome = sending(p, [2.0, 0.5], LONG);
        // S2: t(p, n) = p t_send(n), from the time the master is ready.
        check(outcome.total_s, 2.0 + f64::from(p) * t_send(LONG));
        check(outcome.ranks[0].waiting_s, 0.0);
        check(outcome.ranks[1].waiting_s, 1.5);
        let before = f64::from(p - 1) * t_send(LONG);
        check(outcome.ranks[p as usize].waiting_s, 1.5 + before);
    }
}

#[test]
fn both_come_at_once() {
    for p in [1, 4, 10] {
        let outcome = sending(p, [0.0, 0.0], LONG);
        // S3: t(p, n) = p t_send(n)
        check(outcome.total_s, f64::from(p) * t_send(LONG));
        check(outcome.ranks[0].waiting_s, 0.0);
    }
}

#[test]
fn short_messages_do_not_wait_for_their_receiver() {
    let outcome = sending(3, [0.0, 2.0], 1000);
    let busy_s = LATENCY_S / 4.0 + 1e-6;
    check(outcome.ranks[0].end_s, 3.0 * busy_s);
    // They have arrived long before: only receiving them remains.
    check(outcome.total_s, 2.0 + busy_s);
    check(outcome.ranks[1].waiting_s, 0.0);
    check(sending(1, [0.0, 0.0], 1000).total_s, t_send(1000));
}

/// Such messages were charged to the network: CoMD on one rank took 2.7 times as long on a slow one.
#[test]
fn a_message_of_a_rank_to_itself_is_a_copy() {
    for bytes in [1000, LONG] {
        let outcome = run(&[vec![compute(1.0), send(0, bytes), receive(0)]]);
        check(outcome.total_s, 1.0 + 1e-10 * bytes as f64);
        check(outcome.ranks[0].waiting_s, 0.0);
    }
    let slow_copies = Machine { copy_s_per_byte: 3e-9, ..machine() };
    let alone = program(&[vec![send(0, LONG), receive(0)]]);
    check(evaluate(&alone, &slow_copies).expect("a time").total_s, 3e-9 * LONG as f64);
}

#[test]
fn a_synchronous_send_waits_and_a_buffered_one_does_not() {
    let with = |mode, bytes| {
        let send = RankOperation::Send { to: 1, tag: 0, bytes, mode, request: None };
        run(&[vec![send], vec![compute(1.0), receive(0)]]).ranks[0].end_s
    };
    check(with(SendMode::Synchronous, 8), 1.0 + t_send(8));
    check(with(SendMode::Buffered, LONG), LATENCY_S / 4.0 + 1e-3);
}

#[test]
fn what_was_started_goes_on_meanwhile() {
    let start = |to, request| RankOperation::Send {
        to,
        tag: 0,
        bytes: LONG,
        mode: SendMode::Standard,
        request: Some(request),
    };
    let taken = |request| RankOperation::Receive { from: 0, tag: 0, request: Some(request) };
    let wait = |request| RankOperation::Wait { request };
    let outcome =
        run(&[vec![start(1, 7), compute(1.0), wait(7)], vec![taken(9), compute(0.5), wait(9)]]);
    check(outcome.total_s, 1.0 + LATENCY_S / 4.0);
    // Two of them are transmitted one after the other.
    let both = run(&[
        vec![start(1, 1), start(2, 2), wait(1), wait(2)],
        vec![receive(0)],
        vec![receive(0)],
    ]);
    assert!(2e-3 <= both.total_s && both.total_s <= 2e-3 + 2.0 * LATENCY_S, "{both:?}");
}

#[test]
fn a_program_ends_with_the_longer_of_its_roles() {
    // t = max(sum of master, sum of workers)
    for (master_s, workers_s) in [([1.0, 2.0], [0.5, 0.25]), ([0.1, 0.2], [3.0, 1.0])] {
        let role = |times: [f64; 2]| times.map(compute).to_vec();
        let outcome = run(&[role(master_s), role(workers_s), role(workers_s)]);
        let sum = |times: [f64; 2]| times[0] + times[1];
        check(outcome.total_s, sum(master_s).max(sum(workers_s)));
    }
}

/// Runs a ring of messages `n_times`, with computation that differs between ranks.
fn ring(n_ranks: u32, n_times: u64, in_a_loop: bool) -> ComposedTime {
    let mut builder = ProgramBuilder::new(n_ranks as usize);
    let place = CallSite { region: builder.region("ring"), site: 1 };
    let after = CallSite { region: builder.region("after"), site: 2 };
    if in_a_loop {
        builder.repeat(n_times);
    }
    for _ in 0..if in_a_loop { 1 } else { n_times } {
        for rank in 0..n_ranks {
            let seconds = 1e-3 * f64::from(rank * 5 % 7);
            let (to, from) = ((rank + 1) % n_ranks, (rank + n_ranks - 1) % n_ranks);
            let all = collective(CollectiveKind::Allreduce, 8);
            for step in [compute(seconds), send(to, 100), receive(from), all] {
                builder.push(rank, place, step).expect("a possible step");
            }
        }
    }
    builder.repeat(1);
    builder.push(0, after, compute(0.25)).expect("a possible step");
    evaluate(&builder.finish(), &machine()).expect("a time")
}

#[test]
fn a_loop_takes_its_turns_times_the_time_of_one() {
    // t(R) = i * sum_j t(I_j) + alpha
    let times = |n_times| ring(6, n_times, true).total_s - 0.25;
    let turn_s = times(4) - times(3);
    check(times(1_000_000), times(4) + (1e6 - 4.0) * turn_s);
    // alpha: the difference of the first iterations.
    assert!((times(1) - turn_s).abs() < 1e-2 * turn_s, "{turn_s}, {}", times(1));
}

#[test]
fn turns_that_are_added_up_are_those_that_would_be_evaluated() {
    let (folded, written) = (ring(6, 50, true), ring(6, 50, false));
    assert!(folded.n_steps < written.n_steps / 5, "{} steps", folded.n_steps);
    check(folded.total_s, written.total_s);
    for (folded, written) in folded.ranks.iter().zip(&written.ranks) {
        check(folded.end_s, written.end_s);
        check(folded.waiting_s, written.waiting_s);
        check(folded.compute_s, written.compute_s);
    }
    for (folded, written) in folded.regions.iter().zip(&written.regions) {
        assert_eq!(folded.name, written.name);
        check(folded.mean_s, written.mean_s);
        check(folded.on_path_s, written.on_path_s);
    }
}

#[test]
fn nested_loops_make_a_polynomial() {
    // t = (a + b) i + (c + d) i^2, of a loop with a and b around one with c and d
    let [a, b, c, d] = [1e-3, 2e-3, 3e-5, 4e-5];
    for i in [1_u32, 3, 10] {
        let inner = || (0..i).flat_map(|_| [compute(c), compute(d)]);
        let outer = (0..i).flat_map(|_| [compute(a), compute(b)].into_iter().chain(inner()));
        let i = f64::from(i);
        check(run(&[outer.collect()]).total_s, (a + b) * i + (c + d) * i * i);
    }
}

#[test]
fn the_critical_path_goes_over_the_rank_that_is_waited_for() {
    let outcome = run(&[
        vec![receive(1), compute(1.0)],
        vec![compute(3.0), send(0, LONG), compute(0.5)],
        vec![compute(0.5)],
    ]);
    let ranks: Vec<u32> = outcome.path.iter().map(|interval| interval.rank).collect();
    assert_eq!(ranks, [1, 0]);
    check(outcome.total_s, 4.0 + t_send(LONG));
    check(outcome.path_transfer_s, t_send(LONG));
    check(outcome.regions.iter().map(|region| region.on_path_s).sum(), outcome.total_s);
}

#[test]
fn ranks_that_wait_for_each_other_are_named_with_their_places() {
    let stuck = [vec![receive(1), send(1, 8)], vec![compute(1.0), receive(0), send(0, 8)], vec![]];
    let error = evaluate(&program(&stuck), &machine()).expect_err("a deadlock");
    let text = error.to_string();
    assert!(text.starts_with("2 of 3 ranks wait for each other"), "{text}");
    for names in ["rank 0 in `message` (site 1) waits for a message of rank 1", "rank 1", "site 2"]
    {
        assert!(text.contains(names), "{text}");
    }
    // Long messages in a cycle.
    let circle = [vec![send(1, LONG), receive(1)], vec![send(0, LONG), receive(0)]];
    let error = evaluate(&program(&circle), &machine()).expect_err("a deadlock");
    assert!(error.to_string().contains("waits for rank 1 to receive"), "{error}");
    // Short ones do not block.
    run(&[vec![send(1, 8), receive(1)], vec![send(0, 8), receive(0)]]);
}

#[test]
fn different_collectives_are_told() {
    let ranks =
        [vec![collective(CollectiveKind::Bcast, 8)], vec![collective(CollectiveKind::Barrier, 0)]];
    let error = evaluate(&program(&ranks), &machine()).expect_err("a mismatch");
    assert!(matches!(error, ComposeError::Mismatch(..)), "{error}");
    assert!(error.to_string().contains("`bcast`") && error.to_string().contains("`barrier`"));
    let missing = [vec![collective(CollectiveKind::Barrier, 0)], vec![]];
    assert!(matches!(
        evaluate(&program(&missing), &machine()),
        Err(ComposeError::Deadlock { n_waiting: 1, .. })
    ));
}

#[test]
fn a_faster_machine_computes_faster() {
    let ranks = [vec![compute(3.0)]];
    let fast = Machine { speed: 2.0, ..machine() };
    check(evaluate(&program(&ranks), &fast).expect("a time").total_s, 1.5);
}

#[test]
fn ranks_beyond_the_cores_take_turns() {
    let ranks = [vec![compute(1.0)], vec![compute(1.0)], vec![compute(1.0)]];
    for (n_cores, expected_s) in [(1, 3.0), (2, 1.5), (4, 1.0)] {
        let small = Machine { n_cores: Some(n_cores), ..machine() };
        check(evaluate(&program(&ranks), &small).expect("a time").total_s, expected_s);
    }
}

/// Both ranks send a long message and receive one: on a link that is shared by both directions that takes longer.
#[test]
fn data_both_ways_at_once_take_the_ratio_longer() {
    let exchange = |peer: u32| {
        let start = RankOperation::Send {
            to: peer,
            tag: 0,
            bytes: LONG,
            mode: SendMode::Standard,
            request: Some(1),
        };
        vec![start, receive(peer), RankOperation::Wait { request: 1 }]
    };
    let ranks = program(&[exchange(1), exchange(0)]);
    let total_s = |exchange_ratio: f64| {
        let mut shared = machine();
        shared.network.exchange_ratio = exchange_ratio;
        evaluate(&ranks, &shared).expect("a time").total_s
    };
    // A nonblocking send keeps the processor for a quarter of the latency.
    check(total_s(1.0), t_send(LONG) + 0.25 * LATENCY_S);
    let data_s = S_PER_BYTE * LONG as f64;
    let later_s = total_s(1.8) - total_s(1.0);
    assert!((later_s / (0.8 * data_s) - 1.0).abs() < 0.01, "{later_s}");
    // One way only, nothing is shared.
    let one_way = program(&[vec![send(1, LONG)], vec![receive(0)]]);
    let mut shared = machine();
    shared.network.exchange_ratio = 2.0;
    check(evaluate(&one_way, &shared).expect("a time").total_s, t_send(LONG));
}
