//! Steps that ranks carry out together with processes that they start.

use crate::dynamic::step::Step;
use anyhow::Context;
use mpi::{Comm, Fetch, Intercomm, Mpi, Op, Spawn, Window};
use std::sync::Arc;

/// Tag of all messages here.
pub(super) const TAG: u16 = 1;
/// Number of processes that are merged with the ranks.
const N_STARTED: u32 = 2;
/// Times that each rank receives from all others: with UCX, MPICH is sure to lose one message in so many.
const N_ROUNDS: u32 = 20;
/// Bytes that are fetched across worlds.
const FETCHED: [u8; 8] = *b"sintonia";

fn start(from: &Comm, step: Step, n: u32) -> anyhow::Result<Intercomm> {
    let mut spawn = Spawn::new(std::env::current_exe()?, n);
    let words = ["doctor-rank", "--started-for", step.name()];
    spawn.arguments = words.map(Into::into).to_vec();
    Ok(from.spawn(&spawn, 0)?)
}

/// Starts processes that leave at once, together with all of a group; returns their process IDs.
pub(super) fn start_and_leave(from: &Comm, n: u32) -> anyhow::Result<Vec<u32>> {
    let started = start(from, Step::SpawnOne, n)?;
    let mut pids = vec![0; n as usize];
    for (rank, pid) in (0..n).zip(&mut pids) {
        started.receive(std::slice::from_mut(pid), rank, TAG)?;
    }
    started.disconnect()?;
    Ok(pids)
}

/// Starts processes and adds up with them; returns the number of ranks together.
pub(super) fn merge(world: &Comm) -> anyhow::Result<u32> {
    let started = start(world, Step::Merge, N_STARTED)?;
    let n = add_up(&started, false)?;
    started.disconnect()?;
    Ok(n)
}

fn add_up(other: &Intercomm, is_high: bool) -> anyhow::Result<u32> {
    let merged = other.merge(is_high)?;
    let mut sum = [1_u32];
    merged.allreduce(Op::Sum, &mut sum)?;
    let n = merged.size();
    anyhow::ensure!(sum == [n], "the sum over {n} ranks is {}", sum[0]);
    merged.free()?;
    Ok(n)
}

/// Starts processes that fetch from rank 0's memory.
pub(super) fn window(world: &Comm) -> anyhow::Result<()> {
    let started = start(world, Step::Window, N_STARTED)?;
    let merged = started.merge(false)?;
    let exposed = (merged.rank() == 0)
        .then(|| Arc::new(mpi::VecBuffer(FETCHED.to_vec())) as mpi::SharedBuffer);
    let window = Window::expose(&merged, exposed)?;
    merged.barrier()?;
    window.close()?;
    merged.free()?;
    started.disconnect()?;
    Ok(())
}

fn fetch(mpi: &Arc<Mpi>, parent: &Intercomm) -> anyhow::Result<()> {
    let merged = parent.merge(true)?;
    let window = Window::expose(&merged, None)?;
    let mut fetch = Fetch::into(mpi, Box::new(mpi::VecBuffer(vec![0_u8; FETCHED.len()])));
    window.get(&mut fetch, 0, (0, 0), FETCHED.len())?;
    while !fetch.is_complete()? {
        std::thread::yield_now();
    }
    let fetched = fetch.finished().and_then(|memory| memory.into_any().downcast::<Vec<u8>>().ok());
    // All ranks wait in the barrier for one that fails here.
    anyhow::ensure!(fetched.is_some_and(|bytes| *bytes == FETCHED), "other bytes were fetched");
    merged.barrier()?;
    window.close()?;
    merged.free()?;
    Ok(())
}

/// Starts processes and receives from any source: among all ranks, or within each half.
pub(super) fn receive(world: &Comm, step: Step) -> anyhow::Result<()> {
    let started = start(world, step, N_STARTED)?;
    hear_each_other(&started, false, step)?;
    started.disconnect()?;
    Ok(())
}

fn hear_each_other(other: &Intercomm, is_high: bool, step: Step) -> anyhow::Result<()> {
    let merged = other.merge(is_high)?;
    if step == Step::Split {
        // Each half has ranks of both worlds.
        let half = merged.split(Some(merged.rank() % 2), 0)?.context("a group is missing")?;
        hear_all(&half)?;
        half.free()?;
    } else {
        hear_all(&merged)?;
    }
    merged.free()?;
    Ok(())
}

fn hear_all(comm: &Comm) -> anyhow::Result<()> {
    let (own, n) = (comm.rank(), comm.size());
    for round in 0..N_ROUNDS * n {
        if own != round % n {
            comm.send(&[round], round % n, TAG)?;
            continue;
        }
        for _ in 1..n {
            let mut word = [0_u32];
            // `trial` has the deadline: with one here, the library would not be called as programs call it.
            let arrival = comm.receive_any(&mut word, TAG)?;
            anyhow::ensure!(word == [round], "rank {} is heard wrongly", arrival.from);
        }
    }
    comm.barrier()?;
    Ok(())
}

/// Plays the part of a process that was started.
pub(super) fn be_started(mpi: &Arc<Mpi>, step: &str) -> anyhow::Result<()> {
    let parent = mpi.take_parent()?.context("nobody started this process")?;
    if step == Step::Merge.name() {
        add_up(&parent, true)?;
    } else if step == Step::Window.name() {
        fetch(mpi, &parent)?;
    } else if let Some(step) =
        [Step::AnySource, Step::Split].into_iter().find(|of| of.name() == step)
    {
        hear_each_other(&parent, true, step)?;
    } else {
        parent.send(&[std::process::id()], 0, TAG)?;
    }
    parent.disconnect()?;
    Ok(())
}
