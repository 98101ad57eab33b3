//! Scenarios of the tests: the same on threads and on MPI.

use comm::{CommError, Tag, Transport};
use std::error::Error;
use std::time::Duration;

pub(crate) type Outcome = Result<(), Box<dyn Error>>;

/// Longest wait when nothing is wrong.
pub(crate) const SOON: Duration = Duration::from_secs(20);

/// One thing that a group does.
type Scenario = fn(&mut dyn Transport) -> Outcome;

/// All scenarios, by name.
pub(crate) const SCENARIOS: &[(&str, Scenario)] = &[
    ("messages of all lengths come back", lengths),
    ("messages of a sender keep their order", order),
    ("long messages cross", crossing),
    ("many messages wait for their receiver", flood),
    ("one sender is heard among many", one_of_many),
    ("parts are joined", parts),
    ("nothing comes in vain", silence),
    ("the bytes of every root reach everybody", broadcasts),
    ("a root gives its bytes away", broadcasts_of_own),
    ("collectives leave messages alone", mixed),
    ("a rank that is not there is refused", absent),
];

/// Takes part in all scenarios; returns the first failure with its name.
pub(crate) fn take_part(end: &mut dyn Transport) -> Outcome {
    for (name, scenario) in SCENARIOS {
        scenario(end).map_err(|error| format!("rank {}: {name}: {error}", end.rank()))?;
        end.barrier(SOON).map_err(|error| format!("rank {}: after {name}: {error}", end.rank()))?;
    }
    Ok(())
}

/// Returns the error `what` unless `holds`.
pub(crate) fn ensure(holds: bool, what: impl FnOnce() -> String) -> Outcome {
    if holds { Ok(()) } else { Err(what().into()) }
}

/// Receives the next message, which must arrive.
pub(crate) fn next(
    end: &mut dyn Transport,
    from: Option<u32>,
) -> Result<(u32, Tag, Vec<u8>), Box<dyn Error>> {
    let mut bytes = vec![1, 2, 3];
    let envelope = end.receive(from, SOON, &mut bytes)?.ok_or("no message came")?;
    ensure(envelope.n_bytes == bytes.len(), || format!("{envelope:?} for {} bytes", bytes.len()))?;
    Ok((envelope.from, envelope.tag, bytes))
}

/// Returns bytes that depend on their index and on the message's number.
fn content(seed: u32, n_bytes: usize) -> Vec<u8> {
    (0..n_bytes).map(|at| (at.wrapping_mul(31) as u64 ^ u64::from(seed)).to_le_bytes()[0]).collect()
}

fn workers(end: &dyn Transport) -> std::ops::Range<u32> {
    1..end.n_ranks()
}

fn lengths(end: &mut dyn Transport) -> Outcome {
    let lengths = [0, 1, 100, 2048, 4000, 4001, 70_000, 3 << 20];
    if end.rank() != 0 {
        for (tag, n_bytes) in (0..).zip(lengths) {
            let sent = content(end.rank(), n_bytes);
            end.send(0, Tag(tag), &[&sent])?;
            let (from, back, bytes) = next(end, Some(0))?;
            ensure((from, back) == (0, Tag(tag)), || format!("{back:?} of {from}"))?;
            ensure(bytes == sent, || format!("{n_bytes} bytes changed on their way"))?;
        }
        return Ok(());
    }
    for _ in 0..lengths.len() * workers(end).len() {
        let (from, tag, bytes) = next(end, None)?;
        end.send(from, tag, &[&bytes])?;
    }
    Ok(())
}

fn order(end: &mut dyn Transport) -> Outcome {
    const N: u32 = 300;
    if end.rank() != 0 {
        for number in 0..N {
            let n_bytes = if number.is_multiple_of(7) { 9000 } else { 10 };
            end.send(0, Tag(255), &[&number.to_le_bytes(), &content(number, n_bytes)])?;
        }
        return Ok(());
    }
    let mut expected = vec![0; end.n_ranks() as usize];
    for _ in 0..N * end.n_ranks().saturating_sub(1) {
        let (from, _, bytes) = next(end, None)?;
        let (number, rest) = bytes.split_first_chunk().ok_or("no number")?;
        let expected = &mut expected[from as usize];
        ensure(u32::from_le_bytes(*number) == *expected, || format!("{number:?}, not {expected}"))?;
        ensure(rest == content(*expected, rest.len()), || "other bytes".to_owned())?;
        *expected += 1;
    }
    Ok(())
}

fn crossing(end: &mut dyn Transport) -> Outcome {
    let (own, n_ranks) = (end.rank(), end.n_ranks());
    let others: Vec<u32> = (0..n_ranks).filter(|rank| *rank != own).collect();
    for other in &others {
        end.send(*other, Tag(3), &[&content(own, 2 << 20)])?;
    }
    for other in &others {
        let (_, _, bytes) = next(end, Some(*other))?;
        ensure(bytes == content(*other, 2 << 20), || format!("other bytes of {other}"))?;
    }
    Ok(())
}

fn flood(end: &mut dyn Transport) -> Outcome {
    const N: u32 = 3000;
    let own = end.rank();
    for rank in (0..end.n_ranks()).filter(|rank| *rank != own) {
        for number in 0..N {
            end.send(rank, Tag(1), &[&number.to_le_bytes(), &[0; 96]])?;
        }
    }
    end.barrier(SOON)?;
    for _ in 0..N * (end.n_ranks() - 1) {
        next(end, None)?;
    }
    Ok(())
}

fn one_of_many(end: &mut dyn Transport) -> Outcome {
    if end.rank() != 0 {
        return Ok(end.send(0, Tag(9), &[&end.rank().to_le_bytes()])?);
    }
    for rank in workers(end).rev() {
        let (from, _, bytes) = next(end, Some(rank))?;
        ensure(from == rank && bytes == rank.to_le_bytes(), || format!("{bytes:?} of {from}"))?;
    }
    Ok(())
}

fn parts(end: &mut dyn Transport) -> Outcome {
    if end.rank() != 0 {
        return Ok(end.send(0, Tag(0), &[b"a", b"", b"bc", b"def"])?);
    }
    for _ in workers(end) {
        ensure(next(end, None)?.2 == b"abcdef", || "other bytes".to_owned())?;
    }
    Ok(())
}

fn silence(end: &mut dyn Transport) -> Outcome {
    let mut bytes = Vec::new();
    ensure(end.try_receive(&mut bytes)?.is_none(), || "there was a message".to_owned())?;
    let envelope = end.receive(None, Duration::from_millis(30), &mut bytes)?;
    ensure(envelope.is_none(), || format!("{envelope:?}"))
}

fn broadcasts(end: &mut dyn Transport) -> Outcome {
    for n_bytes in [0, 5, 100_000] {
        for root in 0..end.n_ranks() {
            let mut bytes =
                if root == end.rank() { content(root, n_bytes) } else { b"old".to_vec() };
            end.broadcast(root, &mut bytes, SOON)?;
            ensure(bytes == content(root, n_bytes), || format!("other bytes of {root}"))?;
        }
    }
    Ok(())
}

/// The root gives its bytes away, and may send others before these have arrived.
fn broadcasts_of_own(end: &mut dyn Transport) -> Outcome {
    for (round, n_bytes) in (0..).zip([0, 5, 100_000, 3_000_000, 7]) {
        let mut bytes = content(round, n_bytes);
        if end.rank() == 0 {
            end.broadcast_own(bytes, SOON)?;
            continue;
        }
        bytes.clear();
        end.broadcast(0, &mut bytes, SOON)?;
        ensure(bytes == content(round, n_bytes), || format!("other bytes in round {round}"))?;
    }
    Ok(())
}

/// Messages that were sent before a collective call are received after it.
fn mixed(end: &mut dyn Transport) -> Outcome {
    if end.rank() == 0 {
        for rank in workers(end) {
            end.send(rank, Tag(4), &[&[7; 50]])?;
        }
    }
    let mut bytes = vec![u8::from(end.rank() == 0)];
    end.broadcast(0, &mut bytes, SOON)?;
    ensure(bytes == [1], || format!("{bytes:?}"))?;
    if end.rank() != 0 {
        ensure(next(end, None)?.2 == [7; 50], || "another message".to_owned())?;
    }
    Ok(())
}

fn absent(end: &mut dyn Transport) -> Outcome {
    for rank in [end.n_ranks(), end.rank(), u32::MAX] {
        let sent = end.send(rank, Tag(0), &[b"x"]);
        let expected = CommError::NotPresent { rank, own: end.rank() };
        ensure(sent == Err(expected), || format!("{sent:?} for {rank}"))?;
    }
    ensure(end.is_present(0) && !end.is_present(end.n_ranks()), || "presence".to_owned())
}
