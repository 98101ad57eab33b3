//! Messages and collective operations.

use crate::{Outcome, SOON, equal};
use bytemuck::{Pod, Zeroable};
use mpi::{Comm, MpiError, Number, Op};
use std::time::Duration;

/// Elements whose width has no predefined datatype.
#[derive(Clone, Copy, Debug, PartialEq, Pod, Zeroable)]
#[repr(C)]
struct Particle {
    place: [f64; 2],
    mass: f64,
}

fn particle(n: u32) -> Particle {
    let n = f64::from(n);
    Particle { place: [n, -n], mass: n + 0.5 }
}

pub(crate) fn all(world: &Comm) -> Outcome {
    broadcasts(world)?;
    reductions(world)?;
    gatherings(world)?;
    messages(world)?;
    parts(world)?;
    refusals(world)
}

fn broadcasts(world: &Comm) -> Outcome {
    for root in 0..world.size() {
        let is_root = world.rank() == root;
        let whole: Vec<Particle> = (root..root + 11).map(particle).collect();
        let mut values = if is_root { whole.clone() } else { vec![particle(0); 11] };
        world.broadcast(&mut values, root)?;
        equal(values, whole)?;
        let mut text = if is_root { *b"hello" } else { [0; 5] };
        world.broadcast(&mut text, root)?;
        equal(&text, b"hello")?;
    }
    Ok(world.broadcast::<u64>(&mut [], 0)?)
}

/// Each rank contributes multiples of its number.
fn reduce<T: Number + From<u8> + PartialEq + std::fmt::Debug>(world: &Comm) -> Outcome {
    let rank = u8::try_from(world.rank())?;
    let last = u8::try_from(world.size() - 1)?;
    let own = [T::from(rank), T::from(2 * rank), T::from(1), T::from(7), T::from(rank)];
    for (op, expected) in [
        (Op::Sum, [last * (last + 1) / 2, last * (last + 1), last + 1, 7 * (last + 1)]),
        (Op::Min, [0, 0, 1, 7]),
        (Op::Max, [last, 2 * last, 1, 7]),
    ] {
        let mut values = own;
        world.allreduce(op, &mut values)?;
        equal(&values[..4], &expected.map(T::from))?;
        equal(values[4], values[0])?;
    }
    Ok(())
}

fn reductions(world: &Comm) -> Outcome {
    reduce::<u8>(world)?;
    reduce::<i16>(world)?;
    reduce::<u16>(world)?;
    reduce::<i32>(world)?;
    reduce::<u32>(world)?;
    reduce::<i64>(world)?;
    reduce::<u64>(world)?;
    reduce::<f32>(world)?;
    reduce::<f64>(world)
}

fn gatherings(world: &Comm) -> Outcome {
    let own: Vec<Particle> = (0..5).map(|n| particle(10 * world.rank() + n)).collect();
    let ranks = 0..world.size();
    let all: Vec<_> =
        ranks.clone().flat_map(|r| (0..5).map(move |n| particle(10 * r + n))).collect();
    let root = world.size() - 1;
    let gathered = world.gather(&own, root)?;
    equal(gathered, (world.rank() == root).then(|| all.clone()))?;
    equal(world.allgather(&own)?, all)?;
    let n_of = |rank: u32| rank as usize * 2 % 5;
    let counts: Vec<usize> = ranks.clone().map(n_of).collect();
    let rows = |rank: u32| vec![u64::from(rank) << 40; n_of(rank)];
    let mut all = vec![0; counts.iter().sum()];
    world.allgather_rows(&rows(world.rank()), &counts, &mut all)?;
    equal(all, ranks.flat_map(rows).collect())
}

fn messages(world: &Comm) -> Outcome {
    let (own, n) = (world.rank(), world.size());
    let (next, before) = ((own + 1) % n, (own + n - 1) % n);
    let sent: Vec<u32> = (0..10).map(|place| 100 * own + place).collect();
    let expected: Vec<u32> = (0..10).map(|place| 100 * before + place).collect();
    let mut received = vec![0; 12];
    equal(world.send_receive((&sent, next), (&mut received, before), 5)?, 10)?;
    equal(&received[..10], &expected[..])?;
    if own != 0 {
        return Ok(world.send(&sent, 0, 9)?);
    }
    for _ in 1..n {
        let (arrival, values) = world.take::<u32>(None, Some(9), SOON)?.ok_or("nothing came")?;
        equal((arrival.tag, arrival.n_bytes), (9, 40))?;
        equal(values[9], 100 * arrival.from + 9)?;
    }
    equal(world.probe(None, None)?, None)?;
    equal(world.take::<u8>(Some(n - 1), None, Duration::from_millis(5))?, None)
}

fn parts(world: &Comm) -> Outcome {
    let color = (world.rank() != 1).then_some(world.rank() % 2);
    let part = world.split(color, -i32::try_from(world.rank())?)?;
    equal(part.is_some(), color.is_some())?;
    if let Some(part) = part {
        let mut numbers = [world.rank()];
        part.allreduce(Op::Max, &mut numbers)?;
        // The keys reverse the order.
        equal(part.rank() == 0, numbers[0] == world.rank())?;
        part.free()?;
    }
    let copy = world.duplicate()?;
    copy.barrier()?;
    equal(copy.handle() == world.handle(), false)?;
    copy.free()?;
    let alone = Comm::own_self(world.mpi())?;
    equal((alone.rank(), alone.size()), (0, 1))?;
    alone.free()?;
    equal(world.mpi().processor_name().is_empty(), false)
}

fn refusals(world: &Comm) -> Outcome {
    let n_ranks = world.size();
    equal(world.send(&[1.0], n_ranks, 1), Err(MpiError::NoRank { rank: n_ranks, n_ranks }))?;
    let short = world.allgather_rows(&[0_u8], &vec![1; n_ranks as usize], &mut []);
    let expected = MpiError::Length { call: "MPI_Allgatherv", given: 0, wanted: n_ranks as usize };
    equal(short, Err(expected))?;
    // A message longer than the receive buffer is an error value; the program continues.
    if n_ranks == 1 {
        return Ok(());
    }
    if world.rank() == 0 {
        return Ok(world.send(&[1_u8; 100], 1, 3)?);
    }
    if world.rank() == 1 {
        let cut = world.receive(&mut [0_u8; 10], 0, 3);
        equal(matches!(cut, Err(MpiError::Call { call: "MPI_Recv", .. })), true)?;
    }
    Ok(())
}
