//! Threads that are added to a group and leave it.

use crate::scenarios::{SOON, next};
use comm::{CommError, Tag, ThreadTransport, Transport};
use std::thread::{self, JoinHandle};

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
