//! Measures how fast a master can deal chunks: every worker returns each chunk, and gets the next one for it.
//!
//! `comm_dealing CHUNKS IN_FLIGHT` under an MPI launcher; with a third argument on that number of threads. Rank 0
//! prints the chunks in flight per worker, and round trips per second. `crates/testing/bench/programs/dealing.c` is
//! the same program in C.
#![allow(clippy::print_stdout, reason = "that is the purpose")]

use comm::{CommError, MpiTransport, Tag, Transport};
use std::error::Error;
use std::time::Duration;

const WORK: Tag = Tag(1);
const STOP: Tag = Tag(2);
const SOON: Duration = Duration::from_secs(20);
const CHUNK: [u8; 16] = [0; 16];

fn main() -> Result<(), Box<dyn Error>> {
    let numbers: Vec<u32> =
        std::env::args().skip(1).map(|word| word.parse()).collect::<Result<_, _>>()?;
    let &[n_chunks, n_in_flight, ..] = numbers.as_slice() else {
        return Err("usage: comm_dealing CHUNKS IN_FLIGHT [THREADS]".into());
    };
    let Some(n_threads) = numbers.get(2) else {
        let mut end = MpiTransport::init()?;
        return Ok(take_part(&mut end, n_chunks, n_in_flight)?);
    };
    std::thread::scope(|scope| {
        for mut end in comm::threads(*n_threads) {
            scope.spawn(move || take_part(&mut end, n_chunks, n_in_flight));
        }
    });
    Ok(())
}

fn take_part(end: &mut impl Transport, n_chunks: u32, n_in_flight: u32) -> Result<(), CommError> {
    end.barrier(SOON)?;
    let begin_s = end.now_s();
    if end.rank() != 0 {
        work(end)?;
        return end.leave(SOON);
    }
    deal(end, n_chunks, n_in_flight)?;
    println!("dealing {n_in_flight} {:.0}", f64::from(n_chunks) / (end.now_s() - begin_s));
    end.leave(SOON)
}

fn deal(end: &mut impl Transport, n_chunks: u32, n_in_flight: u32) -> Result<(), CommError> {
    let mut n_sent = 0;
    for _ in 0..n_in_flight {
        for worker in 1..end.n_ranks() {
            end.send(worker, WORK, &[&CHUNK])?;
            n_sent += 1;
        }
    }
    let mut bytes = Vec::new();
    for _ in 0..n_chunks {
        let Some(envelope) = end.receive(None, SOON, &mut bytes)? else { break };
        if n_sent < n_chunks {
            end.send(envelope.from, WORK, &[&CHUNK])?;
            n_sent += 1;
        }
    }
    (1..end.n_ranks()).try_for_each(|worker| end.send(worker, STOP, &[]))
}

fn work(end: &mut impl Transport) -> Result<(), CommError> {
    let mut bytes = Vec::new();
    while let Some(envelope) = end.receive(Some(0), SOON, &mut bytes)? {
        if envelope.tag == STOP {
            break;
        }
        end.send(0, WORK, &[&bytes])?;
    }
    Ok(())
}
