//! Background transfers.

use crate::{Outcome, SOON, equal};
use mpi::{Comm, MpiError, Op};
use std::time::Duration;

pub(crate) fn all(world: &Comm) -> Outcome {
    messages(world)?;
    sums(world)?;
    nothing(world)?;
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

fn sums(world: &Comm) -> Outcome {
    let (own, last) = (world.rank(), world.size() - 1);
    let mut sums = world.iallreduce(Op::Sum, vec![u64::from(own), 1])?;
    equal(sums.wait(SOON)?, true)?;
    let expected = vec![u64::from(last * (last + 1) / 2), u64::from(last + 1)];
    equal(sums.finished(), Some(expected))
}

/// Empty slices: their address may equal `MPI_IN_PLACE`, which must not be mistaken for it.
fn nothing(world: &Comm) -> Outcome {
    world.broadcast::<u8>(&mut [], 0)?;
    world.allreduce::<u8>(Op::Sum, &mut [])?;
    equal(world.iallreduce::<u8>(Op::Max, Vec::new())?.finish(SOON), Ok(Vec::new()))?;
    equal(world.gather::<u8>(&[], 0)?.unwrap_or_default(), Vec::new())?;
    equal(world.allgather::<u8>(&[])?, Vec::new())?;
    world.allgather_rows::<u8>(&[], &vec![0; world.size() as usize], &mut [])?;
    let own = world.rank();
    equal(world.send_receive::<u8>((&[], own), (&mut [], own), 8)?, 0)?;
    let sent = world.isend::<u8>(Vec::new(), own, 9)?;
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
