//! Ranks as threads, some of which are added to a group and leave it.

use crate::scenarios::{self, SOON, next};
use comm::{CommError, Tag, ThreadTransport, Transport};
use std::thread::{self, JoinHandle};

/// Runs `body` on `n_ranks` ranks.
#[track_caller]
fn check(n_ranks: u32, body: fn(&mut dyn Transport) -> scenarios::Outcome) {
    let run = move |mut end: ThreadTransport| body(&mut end).map_err(|error| error.to_string());
    let ranks: Vec<_> =
        comm::threads(n_ranks).into_iter().map(|end| thread::spawn(move || run(end))).collect();
    for rank in ranks {
        assert_eq!(rank.join().expect("no rank panics"), Ok(()));
    }
}

#[test]
fn ranks_communicate() {
    for n_ranks in [1, 2, 3, 5] {
        check(n_ranks, scenarios::take_part);
    }
}

#[test]
fn a_rank_that_panics_is_gone_and_its_messages_are_not() {
    let mut ends = comm::threads(3);
    let (mut third, mut second, mut first) = (ends.remove(2), ends.remove(1), ends.remove(0));
    let ended = thread::spawn(move || {
        second.send(0, Tag(1), &[b"last words"]).expect("rank 0 is there");
        panic!("as intended");
    });
    assert!(ended.join().is_err());
    let mut bytes = Vec::new();
    first.receive(None, SOON, &mut bytes).expect("a message").expect("a message");
    assert_eq!(bytes, b"last words");
    let gone = Err(CommError::Gone { rank: 1 });
    assert_eq!(first.receive(None, SOON, &mut bytes), gone);
    assert_eq!(first.try_receive(&mut bytes), Ok(None), "it is told once");
    assert_eq!(first.receive(Some(1), SOON, &mut bytes), gone);
    assert_eq!(first.send(1, Tag(1), &[b"x"]), Err(CommError::Gone { rank: 1 }));
    assert!(!first.is_present(1));
    let other = thread::spawn(move || third.barrier(SOON));
    assert_eq!(first.barrier(SOON), Ok(()), "the others go on");
    assert_eq!(other.join().expect("no panic"), Ok(()));
}

#[test]
fn a_wait_for_a_rank_ends_when_it_is_gone() {
    let mut ends = comm::threads(2);
    let (second, mut first) = (ends.remove(1), ends.remove(0));
    let waiting = thread::spawn(move || first.receive(Some(1), SOON, &mut Vec::new()));
    drop(second);
    assert_eq!(waiting.join().expect("no panic"), Err(CommError::Gone { rank: 1 }));
}

#[test]
fn a_barrier_without_everybody_ends() {
    let mut ends = comm::threads(2);
    let barrier = ends[0].barrier(std::time::Duration::from_millis(20));
    assert!(matches!(barrier, Err(CommError::Late { rank: 1, .. })), "{barrier:?}");
    // The next barrier is not confused by leftovers of the first.
    let second = ends.remove(1);
    let other = thread::spawn(move || {
        let mut second = second;
        let late = second.barrier(std::time::Duration::from_millis(20));
        (late.is_err(), second.barrier(SOON))
    });
    assert_eq!(ends[0].barrier(SOON), Ok(()));
    assert_eq!(other.join().expect("no panic"), (true, Ok(())));
}

/// Starts a rank that answers until it is told to leave.
fn start(mut end: ThreadTransport) -> JoinHandle<Result<(), String>> {
    let work = move || {
        end.barrier(SOON)?;
        loop {
            let (from, tag, bytes) = next(&mut end, None)?;
            if tag == Tag(0) {
                return Ok::<(), Box<dyn std::error::Error>>(end.leave(SOON)?);
            }
            end.send(from, tag, &[&bytes, b"!"])?;
        }
    };
    thread::spawn(move || {
        let mut work = work;
        work().map_err(|error| error.to_string())
    })
}

#[test]
fn ranks_come_and_leave_under_numbers_of_their_own() {
    let mut ends = comm::threads(2);
    let (second, mut first) = (ends.remove(1), ends.remove(0));
    let added = first.add_rank().expect("this is rank 0");
    assert_eq!((added.rank(), first.n_ranks()), (2, 3));
    let threads = [start(second), start(added)];
    first.barrier(SOON).expect("both take part");
    for rank in [1, 2] {
        first.send(rank, Tag(1), &[b"hello"]).expect("it is there");
        assert_eq!(next(&mut first, Some(rank)).expect("an answer").2, b"hello!");
        first.send(rank, Tag(0), &[]).expect("it is there");
        first.release(rank, SOON).expect("it leaves");
        let refused = Err(CommError::NotPresent { rank, own: 0 });
        assert_eq!(first.send(rank, Tag(1), &[]), refused);
    }
    assert_eq!(first.try_receive(&mut Vec::new()), Ok(None), "who leaves is not gone");
    for thread in threads {
        assert_eq!(thread.join().expect("no panic"), Ok(()));
    }
    assert_eq!(first.add_rank().expect("this is rank 0").rank(), 3, "a number is given once");
}

#[test]
fn a_rank_that_stays_is_not_released() {
    let mut ends = comm::threads(2);
    let released = ends[0].release(1, std::time::Duration::from_millis(20));
    assert!(matches!(released, Err(CommError::Late { rank: 1, .. })), "{released:?}");
    assert!(ends[0].is_present(1));
    assert!(ends[1].add_rank().is_err(), "only rank 0 adds");
}
