//! Background transfers, and exchanges of all ranks with all others.

use crate::{Outcome, SOON, equal};
use mpi::{Comm, CountsDispls, MpiError, Op, SharedSlice};
use std::sync::Arc;
use std::time::Duration;

pub(crate) fn all(world: &Comm, is_wide: bool) -> Outcome {
    messages(world)?;
    shares(world)?;
    common(world)?;
    exchanges(world, is_wide)?;
    unequal(world, is_wide)?;
    nothing(world, is_wide)?;
    lateness(world)
}

/// Each rank sends to the next and receives from the previous one, in a ring.
fn messages(world: &Comm) -> Outcome {
    let (own, n) = (world.rank(), world.size());
    let (next, before) = ((own + 1) % n, (own + n - 1) % n);
    let sent = world.isend(vec![own; 70_000], next, 1)?;
    let received = world.ireceive(vec![0; 70_000], before, 1)?;
    equal(received.finish(SOON)?, vec![before; 70_000])?;
    equal(sent.finish(SOON)?, vec![own; 70_000])?;
    let short = world.isend(vec![own; 3], next, 2)?;
    let received = world.ireceive(vec![0_u32; 4], before, 2)?.finish(SOON);
    equal(received, Err(MpiError::Length { call: "MPI_Irecv", given: 12, wanted: 16 }))?;
    short.finish(SOON)?;
    Ok(())
}

/// Rank 0 sends parts of one array to all ranks, which return them to their places.
fn shares(world: &Comm) -> Outcome {
    let n = world.size();
    let rows: Arc<[f64]> = (0..5 * n).map(f64::from).collect();
    let part = |rank: u32| 5 * rank as usize..5 * (rank as usize + 1);
    let parts: Vec<_> = (0..n).map(|rank| (rank, part(rank))).collect();
    let sent = match world.rank() {
        0 => Some(world.isend_parts(SharedSlice::new(&rows, 0..rows.len()), &parts, 3)?),
        _ => None,
    };
    let own = world.ireceive(vec![0.0; 5], 0, 3)?.finish(SOON)?;
    equal(&own[..], &rows[part(world.rank())])?;
    sent.map(|sent| sent.finish(SOON)).transpose()?;
    let back = world.isend(own, 0, 4)?;
    if world.rank() == 0 {
        let all = world.ireceive_parts(vec![0.0; rows.len()], &parts, 4)?;
        equal(&all.finish(SOON)?[..], &rows[..])?;
        let beyond = world.isend_parts(Arc::clone(&rows), &[(0, 0..rows.len() + 1)], 5);
        equal(matches!(beyond, Err(MpiError::Length { .. })), true)?;
    }
    back.finish(SOON)?;
    Ok(())
}

fn common(world: &Comm) -> Outcome {
    let (own, last) = (world.rank(), world.size() - 1);
    let mut barrier = world.ibarrier()?;
    let text = if own == last { b"from the last".to_vec() } else { vec![0; 13] };
    let broadcast = world.ibroadcast(text, last)?;
    equal(barrier.wait(SOON)?, true)?;
    equal(barrier.finished(), Some(()))?;
    equal(&broadcast.finish(SOON)?[..], b"from the last")?;
    let sums = world.iallreduce(Op::Sum, vec![u64::from(own), 1])?.finish(SOON);
    let expected = vec![u64::from(last * (last + 1) / 2), u64::from(last + 1)];
    equal(sums, Ok(expected))
}

/// Returns the number of elements sent from one rank to another.
fn n_between(from: u32, to: u32) -> usize {
    (from as usize * 3 + to as usize * 5) % 7
}

/// Returns elements that contain sender, receiver and index.
fn content(from: u32, to: u32) -> Vec<[u32; 3]> {
    (0..).take(n_between(from, to)).map(|n| [from, to, n]).collect()
}

fn exchanges(world: &Comm, is_wide: bool) -> Outcome {
    let (own, ranks) = (world.rank(), 0..world.size());
    let leaving: Vec<usize> = ranks.clone().map(|rank| n_between(own, rank)).collect();
    let coming: Vec<usize> = ranks.clone().map(|rank| n_between(rank, own)).collect();
    let sent: Vec<_> = ranks.clone().flat_map(|rank| content(own, rank)).collect();
    let expected: Vec<_> = ranks.flat_map(|rank| content(rank, own)).collect();
    let parts = |counts: &[usize]| match is_wide {
        true => CountsDispls::new(counts).wide(),
        false => CountsDispls::new(counts),
    };
    let (leaving, coming) = (parts(&leaving), parts(&coming));
    let mut received = vec![[0; 3]; expected.len()];
    world.alltoallv((&sent, &leaving), (&mut received, &coming))?;
    equal(&received, &expected)?;
    let empty = vec![[0; 3]; expected.len()];
    let request = world.ialltoallv((sent.clone(), &leaving), (empty, &coming))?;
    equal(request.finish(SOON), Ok((sent.clone(), received.clone())))?;
    let short = world.ialltoallv((sent, &leaving), (Vec::new(), &CountsDispls::new(&[])));
    equal(matches!(short, Err(MpiError::Length { .. })), true)
}

/// Rank 0 sends each rank its part; the parts are stored in reverse order.
fn unequal(world: &Comm, is_wide: bool) -> Outcome {
    let (own, n) = (world.rank() as usize, world.size() as usize);
    let is_first = own == 0;
    let from = |rank: usize| if is_first { (10 * (n - 1 - rank), 10) } else { (0, 0) };
    let to = |rank: usize| if rank == 0 { (1, 10) } else { (0, 0) };
    let leaving = CountsDispls::at(&(0..n).map(from).collect::<Vec<_>>());
    let coming = CountsDispls::at(&(0..n).map(to).collect::<Vec<_>>());
    let (leaving, coming) =
        if is_wide { (leaving.wide(), coming.wide()) } else { (leaving, coming) };
    let sent: Vec<u16> = if is_first { (0..).take(10 * n).collect() } else { Vec::new() };
    let mut received = vec![u16::MAX; 12];
    world.alltoallv((&sent, &leaving), (&mut received, &coming))?;
    let start = u16::try_from(10 * (n - 1 - own))?;
    equal((received[0], received[11]), (u16::MAX, u16::MAX))?;
    equal(received[1..11].to_vec(), (start..start + 10).collect())
}

/// Empty slices: their address may equal `MPI_IN_PLACE`, which must not be mistaken for it.
fn nothing(world: &Comm, is_wide: bool) -> Outcome {
    let parts = CountsDispls::new(&vec![0; world.size() as usize]);
    let parts = if is_wide { parts.wide() } else { parts };
    world.alltoallv::<u8>((&[], &parts), (&mut [], &parts))?;
    let request = world.ialltoallv::<u8, _>((Vec::new(), &parts), (Vec::new(), &parts))?;
    equal(request.finish(SOON), Ok((Vec::new(), Vec::new())))?;
    world.broadcast::<u8>(&mut [], 0)?;
    equal(world.ibroadcast::<u8>(Vec::new(), 0)?.finish(SOON), Ok(Vec::new()))?;
    world.allreduce::<u8>(Op::Sum, &mut [])?;
    equal(world.iallreduce::<u8>(Op::Max, Vec::new())?.finish(SOON), Ok(Vec::new()))?;
    equal(world.gather::<u8>(&[], 0)?.unwrap_or_default(), Vec::new())?;
    equal(world.allgather::<u8>(&[])?, Vec::new())?;
    world.allgather_rows::<u8>(&[], &vec![0; world.size() as usize], &mut [])?;
    let own = world.rank();
    equal(world.send_receive::<u8>((&[], own), (&mut [], own), 8)?, 0)?;
    let sent = world.isend::<u8, _>(Vec::new(), own, 9)?;
    equal(world.take::<u8>(Some(own), Some(9), SOON)?.map(|(_, bytes)| bytes), Some(Vec::new()))?;
    Ok(sent.finish(SOON).map(drop)?)
}

/// A message that never arrives is an error, and its memory is not freed.
fn lateness(world: &Comm) -> Outcome {
    let copy = world.duplicate()?;
    let never = copy.ireceive(vec![0_u8; 100], 0, 7)?;
    let late = never.finish(Duration::from_millis(20));
    equal(late, Err(MpiError::Late { call: "MPI_Irecv", waited: Duration::from_millis(20) }))?;
    // Completes the receive, so that nothing is open at the end.
    copy.barrier()?;
    if world.rank() == 0 {
        for rank in 0..world.size() {
            copy.send(&[0_u8; 100], rank, 7)?;
        }
    }
    world.barrier()?;
    Ok(())
}
