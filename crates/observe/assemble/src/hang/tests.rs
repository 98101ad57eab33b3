//! Worlds that stand still, and what is said about them.

use super::state::{Doing, Messages, Need, RankState, Wait, WorldState};
use super::{Waits, explain};
use events::CommunicatorKey;
use std::collections::HashMap;
use wire::ThreadState;

const WORLD: CommunicatorKey = CommunicatorKey { id: 0, ordinal: 0 };

fn rank(rank: u32, doing: Doing) -> RankState {
    RankState { rank, doing, since_s: 12.0, collectives: HashMap::new(), messages: HashMap::new() }
}

fn wait(call: &str, needs: Vec<Need>) -> Doing {
    let id = mpi_abi::find(call).expect("an operation of the table");
    let operation = mpi_abi::operation(id).expect("it was just found");
    let words = format!("{call} at a.c:10 (main)");
    let root = if operation.root().is_some() { 0 } else { -1 };
    Doing::Waiting(Wait { operation, words, needs, root, count: 1 })
}

fn send(to: u32) -> Doing {
    wait("MPI_Send", vec![Need::Receipt { by: to, tag: 5, on: WORLD }])
}

fn receive(from: u32) -> Doing {
    wait("MPI_Recv", vec![Need::Message { from: Some(from), tag: 5, on: WORLD }])
}

fn collective(call: &str, number: u64) -> Doing {
    wait(call, vec![Need::Collective { communicator: WORLD, number }])
}

/// A rank whose last of `number` collective calls was `call`.
fn after(mut state: RankState, call: &str, number: u64) -> RankState {
    state.collectives.insert(WORLD, (number, format!("{call} at a.c:8 (main)")));
    state
}

fn world(ranks: Vec<RankState>) -> WorldState {
    let size = u32::try_from(ranks.len()).expect("a small world");
    let communicators = HashMap::from([(0, (0..size).collect())]);
    WorldState { ranks, communicators, has_numbers: true }
}

#[track_caller]
fn check(ranks: Vec<RankState>, expected: &[&str]) {
    let hang = explain(&[world(ranks)]).expect("a rank waits");
    assert_eq!(hang.sentences, expected);
}

#[test]
fn ranks_that_wait_for_each_other_are_a_deadlock() {
    check(
        vec![rank(0, send(1)), rank(1, send(0))],
        &[
            "Deadlock: rank 0 waits in MPI_Send at a.c:10 (main) until rank 1 receives its message with tag 5; rank 1 waits in \
           MPI_Send at a.c:10 (main) until rank 0 receives its message with tag 5. Each sends before it receives, which only \
           ends while messages are small enough to be kept by the library: use MPI_Sendrecv, or MPI_Irecv before the sends.",
        ],
    );
    check(
        vec![rank(0, receive(1)), rank(1, receive(0)), rank(2, receive(0))],
        &[
            "Deadlock: rank 0 waits in MPI_Recv at a.c:10 (main) for a message with tag 5 from rank 1; rank 1 waits in MPI_Recv \
           at a.c:10 (main) for a message with tag 5 from rank 0. Each waits for a message that the next would only send \
           later: one of them has to send first. 1 other rank waits for them.",
        ],
    );
}

fn exchange(with: u32) -> Doing {
    let needs = vec![
        Need::Receipt { by: with, tag: 5, on: WORLD },
        Need::Message { from: Some(with), tag: 5, on: WORLD },
    ];
    wait("MPI_Sendrecv", needs)
}

#[test]
fn calls_that_match_are_no_deadlock() {
    let matching =
        "is in the call that matches: the library, the network or the machine does not go on";
    let hang = explain(&[world(vec![rank(0, exchange(1)), rank(1, exchange(0))])]).unwrap();
    let is_told = |sentence: &String| sentence.contains(matching);
    assert!(hang.sentences.iter().all(is_told), "{:?}", hang.sentences);
    let hang = explain(&[world(vec![rank(0, send(1)), rank(1, receive(0))])]).unwrap();
    assert!(hang.sentences.iter().all(is_told), "{:?}", hang.sentences);
}

#[test]
fn calls_on_different_communicators_do_not_match() {
    let copy = CommunicatorKey { id: 0, ordinal: 1 };
    let receive = wait("MPI_Recv", vec![Need::Message { from: Some(0), tag: 5, on: copy }]);
    check(
        vec![rank(0, send(1)), rank(1, receive)],
        &[
            "Deadlock: rank 0 waits in MPI_Send at a.c:10 (main) until rank 1 receives its message with tag 5 on MPI_COMM_WORLD, \
             but its partner's call is on a duplicate of MPI_COMM_WORLD; rank 1 waits in MPI_Recv at a.c:10 (main) for a message \
             with tag 5 from rank 0 on a duplicate of MPI_COMM_WORLD, but its partner's call is on MPI_COMM_WORLD.",
        ],
    );
}

#[test]
fn a_rank_that_was_stopped_is_named() {
    let stopped = || Doing::Stopped { inside: Some("MPI_Sendrecv at a.c:10 (main)".to_owned()) };
    check(
        vec![rank(0, exchange(1)), rank(1, stopped())],
        &[
            "Rank 0 waits for rank 1, which was stopped in MPI_Sendrecv at a.c:10 (main) by a signal or a debugger, and goes on \
           after SIGCONT. Rank 0 waits in MPI_Sendrecv at a.c:10 (main) until rank 1 receives its message with tag 5.",
        ],
    );
    let in_barrier = |number| after(rank(number, collective("MPI_Barrier", 5)), "MPI_Barrier", 5);
    check(
        vec![in_barrier(0), in_barrier(1), after(rank(2, stopped()), "MPI_Barrier", 5)],
        &[
            "All 2 other ranks wait, directly or not, for rank 2, which was stopped in MPI_Sendrecv at a.c:10 (main) by a signal \
           or a debugger, and goes on after SIGCONT. Ranks 0, 1 wait in MPI_Barrier at a.c:10 (main), the 5th collective \
           call on MPI_COMM_WORLD; rank 2 does not go on.",
        ],
    );
}

#[test]
fn a_rank_that_does_not_come_is_named() {
    let computing = Doing::Computing {
        after: Some("MPI_Barrier at a.c:8 (main)".into()),
        state: Some(ThreadState::Running),
    };
    let in_bcast = |number| after(rank(number, collective("MPI_Allreduce", 5)), "MPI_Allreduce", 5);
    check(
        vec![in_bcast(0), in_bcast(1), after(rank(2, computing), "MPI_Barrier", 4)],
        &[
            "All 2 other ranks wait, directly or not, for rank 2, which has been outside MPI for 12.0 s, after MPI_Barrier at \
           a.c:8 (main), and runs: it computes for long, or in an endless loop. Ranks 0, 1 wait in MPI_Allreduce at a.c:10 \
           (main), the 5th collective call on MPI_COMM_WORLD; rank 2 has not entered it: its last one there, the 4th, was \
           MPI_Barrier at a.c:8 (main).",
        ],
    );
}

#[test]
fn a_message_that_does_not_match_is_told_from_one_that_was_never_sent() {
    let mut sender = rank(0, Doing::Finalizing);
    sender.messages.insert(1, Messages { n_sent: 1, last_tag: 6, n_received: 0 });
    let sentence = "Rank 1 waits for rank 0, which has been in MPI_Finalize for 12.0 s and calls nothing any more. Rank 1 waits \
                    in MPI_Recv at a.c:10 (main) for a message with tag 5 from rank 0";
    check(
        vec![sender, rank(1, receive(0))],
        &[&format!(
            "{sentence} (rank 0 has sent it a message that it has not received, the last with tag 6: the tag differs)."
        )],
    );
    check(vec![rank(0, Doing::Finalizing), rank(1, receive(0))], &[&format!("{sentence}.")]);
}

#[test]
fn collective_calls_that_do_not_match_are_told() {
    let states = [(0, "MPI_Bcast"), (1, "MPI_Bcast"), (2, "MPI_Barrier")];
    let ranks = states.map(|(number, call)| after(rank(number, collective(call, 3)), call, 3));
    check(
        ranks.to_vec(),
        &[
            "Rank 2 is in MPI_Barrier at a.c:10 (main), ranks 0, 1 are in MPI_Bcast at a.c:10 (main), each as the 3rd collective \
           call on MPI_COMM_WORLD: all members have to make the same collective calls in the same order.",
        ],
    );
}

#[test]
fn thousands_of_ranks_are_told_in_a_few_groups() {
    let ring: Vec<RankState> = (0..4000).map(|at| rank(at, send((at + 1) % 4000))).collect();
    let hang = explain(&[world(ring)]).expect("all wait");
    assert_eq!((hang.sentences.len(), hang.ranks.len()), (1, 1), "{hang:?}");
    assert_eq!((hang.ranks[0].ranks.as_str(), hang.ranks[0].n_ranks), ("0-3999", 4000));
    assert!(hang.sentences[0].len() < 1000, "{}", hang.sentences[0]);
}

#[test]
fn requests_that_are_met_are_no_reason_to_wait() {
    let needs = vec![
        Need::Message { from: Some(1), tag: 0, on: WORLD },
        Need::Message { from: Some(2), tag: 0, on: WORLD },
    ];
    let mut waiting = rank(0, wait("MPI_Waitall", needs));
    waiting.messages =
        HashMap::from([1, 2].map(|peer| (peer, Messages { n_received: 1, ..Messages::default() })));
    let mut sender = rank(1, receive(2));
    sender.messages.insert(0, Messages { n_sent: 1, ..Messages::default() });
    let silent = rank(2, Doing::Computing { after: None, state: None });
    let world = world(vec![waiting, sender, silent]);
    assert_eq!(Waits::new(&world).graph.edges, [vec![2], vec![2], vec![]]);
}
