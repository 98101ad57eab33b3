//! Processes that are started, connect, and leave.

use crate::{Outcome, SOON, equal};
use mpi::{Comm, Intercomm, Mpi, Op, Spawn};
use std::sync::Arc;

/// Number of processes started together.
const N_STARTED: u32 = 2;
/// Number of times that each rank receives from all others.
const N_ROUNDS: u32 = 20;

/// Scenario of the ranks started by the launcher.
pub(crate) fn parents(world: &Comm) -> Outcome {
    equal(world.mpi().take_parent()?.is_none(), true)?;
    together(world)?;
    one_by_one(world)?;
    ports(world)
}

fn start(n: u32) -> Result<Spawn, Box<dyn std::error::Error>> {
    let mut start = Spawn::new(std::env::current_exe()?, n);
    start.arguments = vec!["started".into()];
    Ok(start)
}

/// All ranks start one world together, merge with it, and disconnect.
fn together(world: &Comm) -> Outcome {
    let children = world.spawn(&start(N_STARTED)?, world.size() - 1)?;
    equal((children.size(), children.n_peers()), (world.size(), N_STARTED))?;
    talk(&children)?;
    let merged = children.merge(false)?;
    equal(merged.rank(), world.rank())?;
    count(&merged, world.size() + N_STARTED)?;
    hear_anybody(&merged)?;
    merged.free()?;
    Ok(children.disconnect()?)
}

/// Scenario of a started process.
pub(crate) fn child(mpi: &Arc<Mpi>, world: &Comm) -> Outcome {
    let parents = mpi.take_parent()?.ok_or("nobody started it")?;
    equal(mpi.take_parent().is_err(), true)?;
    talk(&parents)?;
    let merged = parents.merge(true)?;
    count(&merged, world.size() + parents.n_peers())?;
    if world.size() == N_STARTED {
        hear_anybody(&merged)?;
    }
    if world.size() == 1 {
        // This process joined the merged group as the end of a chain.
        let link = world.join(0, Some((&merged, merged.rank() - 1)), 7)?;
        equal(link.n_peers(), 1)?;
        talk(&link)?;
        link.disconnect()?;
    }
    merged.free()?;
    Ok(parents.disconnect()?)
}

/// Each rank sends a message to the peer with its number, or to the last one.
fn talk(other: &Intercomm) -> Outcome {
    let own = other.rank();
    other.barrier()?;
    let to = own.min(other.n_peers() - 1);
    let sent = other.isend(vec![own; 5], to, 1)?;
    for from in (0..other.n_peers()).filter(|from| (*from).min(other.size() - 1) == own) {
        equal(other.ireceive(vec![0; 5], from, 1)?.finish(SOON)?, vec![from; 5])?;
    }
    sent.finish(SOON)?;
    Ok(other.barrier()?)
}

/// Checks that the merged group is complete.
fn count(merged: &Comm, expected: u32) -> Outcome {
    equal(merged.size(), expected)?;
    let mut sums = [1, merged.rank()];
    merged.allreduce(Op::Sum, &mut sums)?;
    equal(sums, [expected, expected * (expected - 1) / 2])
}

/// All ranks, and then those of each half, receive from any source.
fn hear_anybody(merged: &Comm) -> Outcome {
    hear_all(merged)?;
    let half = merged.split(Some(merged.rank() % 2), 0)?.ok_or("no half")?;
    hear_all(&half)?;
    Ok(half.free()?)
}

fn hear_all(comm: &Comm) -> Outcome {
    let (own, n) = (comm.rank(), comm.size());
    for round in 0..N_ROUNDS * n {
        if own != round % n {
            comm.send(&[1000 * round + own], round % n, 3)?;
            continue;
        }
        for _ in 1..n {
            let mut word = [0_u32];
            let arrival = comm.receive_any(&mut word, 3)?;
            equal(word, [1000 * round + arrival.from])?;
        }
    }
    Ok(comm.barrier()?)
}

/// The first rank starts a world of one process, from another thread where the library allows it, and connects
/// with it.
fn one_by_one(world: &Comm) -> Outcome {
    if world.rank() != 0 {
        return Ok(world.barrier()?);
    }
    let mpi = world.mpi();
    equal(mpi.is_multiple(), true)?;
    let (alone, start) = (Comm::own_self(mpi)?, start(1)?);
    let spawning = std::thread::spawn(move || {
        let spawned = alone.spawn(&start, 0);
        alone.free().and(spawned)
    });
    world.barrier()?;
    let child = spawning.join().map_err(|_| "the thread failed")??;
    talk(&child)?;
    let merged = child.merge(false)?;
    count(&merged, 2)?;
    let alone = Comm::own_self(mpi)?;
    let link = alone.join(0, Some((&merged, 1)), 7)?;
    talk(&link)?;
    link.disconnect()?;
    alone.free()?;
    merged.free()?;
    Ok(child.disconnect()?)
}

/// The two halves connect by a port, like independent programs.
fn ports(world: &Comm) -> Outcome {
    let is_host = world.rank() == 0;
    let half = world.split(Some(u32::from(is_host)), 0)?.ok_or("no half")?;
    let port = is_host.then(|| world.mpi().open_port()).transpose()?;
    let mut name = port.as_ref().map(|port| port.name().into_bytes()).unwrap_or_default();
    name.resize(2048, 0);
    world.broadcast(&mut name, 0)?;
    let name: Vec<u8> = name.into_iter().take_while(|byte| *byte != 0).collect();
    let other = match &port {
        Some(port) => half.accept(Some(port), 0)?,
        None => half.connect(&String::from_utf8(name)?, 0)?,
    };
    equal(other.n_peers(), world.size() - half.size())?;
    other.barrier()?;
    other.disconnect()?;
    port.map(mpi::Port::close).transpose()?;
    Ok(half.free()?)
}
