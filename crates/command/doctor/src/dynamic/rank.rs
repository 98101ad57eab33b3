//! Rank that tries what its MPI library can do, and reports on standard output before and after each step.
//!
//! # Not here
//! Waiting for the reports, and deadlines: `trial`.

use super::step::TriedFeature;
use anyhow::Context;
use clap::Args;
use mpi::{Comm, Fetch, Intercomm, Mpi, Op, Spawn, Window};
use std::io::Write;
use std::process::ExitCode;
use std::sync::Arc;
use std::time::{Duration, Instant};
use user_io::terminal::Terminal;

/// Prefix of lines for `trial`.
pub(super) const MARK: &str = "sintonia-doctor ";

/// Try an MPI library as one rank of `sintonia doctor`
#[derive(Args, Debug)]
pub struct Options {
    /// Steps to try, in this order
    #[arg(long, value_delimiter = ',')]
    steps: Vec<String>,
    /// Port of a job that waits for this one
    #[arg(long)]
    connect: Option<String>,
    /// Step for which another process started this one
    #[arg(long)]
    started_for: Option<String>,
}

/// Plays the part that this process was started for.
pub fn run(options: &Options, _: Terminal) -> anyhow::Result<ExitCode> {
    let began = Instant::now();
    let mpi = Mpi::init()?;
    match (&options.connect, &options.started_for) {
        (Some(port), _) => visit(&mpi, port)?,
        (None, Some(step)) => be_started(&mpi, step)?,
        (None, None) => try_all(&mpi, &options.steps, began)?,
    }
    mpi.close();
    Ok(ExitCode::SUCCESS)
}

fn try_all(mpi: &Arc<Mpi>, names: &[String], began: Instant) -> anyhow::Result<()> {
    let world = Comm::world(mpi)?;
    let is_asked = |step: &TriedFeature| names.iter().any(|name| name == step.name());
    for step in TriedFeature::all().into_iter().filter(is_asked) {
        let done = attempt(step, &world, began);
        if world.rank() == 0 {
            let (verdict, text) = match done {
                Ok(text) => ("ok", text),
                Err(error) => ("failed", format!("{error:#}")),
            };
            say(&format!("{verdict} {} {}", step.name(), text.replace('\n', " ")))?;
        }
        // A rank that takes no part in a step must not begin the next one.
        world.barrier()?;
    }
    Ok(())
}

/// Prints a line for `trial`.
fn say(words: &str) -> std::io::Result<()> {
    let mut output = std::io::stdout().lock();
    writeln!(output, "{MARK}{words}")?;
    output.flush()
}

fn attempt(step: TriedFeature, world: &Comm, began: Instant) -> anyhow::Result<String> {
    let mpi = world.mpi();
    let start = Instant::now();
    let took = || format!("{:.2} s", start.elapsed().as_secs_f64());
    match step {
        TriedFeature::Start => {
            Ok(format!("{} ranks after {:.2} s", world.size(), began.elapsed().as_secs_f64()))
        }
        TriedFeature::Threads if mpi.is_multiple() => Ok("MPI_THREAD_MULTIPLE".to_owned()),
        TriedFeature::Threads => anyhow::bail!("the library takes calls of one thread at a time"),
        TriedFeature::Merge => merge(world).map(|n| format!("{n} ranks, {}", took())),
        TriedFeature::Window => window(world).map(|()| took()),
        TriedFeature::AnySource | TriedFeature::Split => receive(world, step).map(|()| took()),
        _ if world.rank() != 0 => Ok(String::new()),
        TriedFeature::SpawnOne => start_and_leave(&Comm::own_self(mpi)?, 1).map(|_| took()),
        TriedFeature::Release => {
            let pids = start_and_leave(&Comm::own_self(mpi)?, 2)?;
            let start = Instant::now();
            wait_until_gone(&pids)?;
            Ok(format!("gone {:.2} s after they left", start.elapsed().as_secs_f64()))
        }
        TriedFeature::Background => {
            anyhow::ensure!(mpi.is_multiple(), "the library takes calls of one thread at a time");
            let alone = Comm::own_self(mpi)?;
            let start = move || start_and_leave(&alone, 1);
            let thread = std::thread::Builder::new().name("background".to_owned()).spawn(start);
            let started = thread.context("no thread can be started; see `ulimit -u`")?;
            let started = started.join().map_err(|_| anyhow::anyhow!("the thread failed"))?;
            started.map(|_| took())
        }
        TriedFeature::Connect => receive_guest(mpi).map(|()| took()),
    }
}

/// Waits until these processes are gone; `trial` has the deadline.
fn wait_until_gone(pids: &[u32]) -> anyhow::Result<()> {
    let is_there = |pid: &u32| {
        let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
        // A zombie has released all its resources.
        stat.rsplit(')').next().is_some_and(|rest| !rest.is_empty() && !rest.starts_with(" Z"))
    };
    anyhow::ensure!(!pids.is_empty(), "no started process reported its process ID");
    while pids.iter().any(is_there) {
        std::thread::sleep(Duration::from_millis(2));
    }
    Ok(())
}

/// Accepts the connection of one process of another launcher.
fn receive_guest(mpi: &Arc<Mpi>) -> anyhow::Result<()> {
    let port = mpi.open_port()?;
    say(&format!("port {}", port.name()))?;
    let guest = Comm::own_self(mpi)?.accept(Some(&port), 0)?;
    let mut pid = [0_u32];
    guest.receive(&mut pid, 0, TAG)?;
    guest.disconnect()?;
    port.close()?;
    Ok(())
}

fn visit(mpi: &Arc<Mpi>, port: &str) -> anyhow::Result<()> {
    let host = Comm::own_self(mpi)?.connect(port, 0)?;
    host.send(&[std::process::id()], 0, TAG)?;
    host.disconnect()?;
    Ok(())
}

/// Tag of all messages here.
const TAG: u16 = 1;
/// Number of processes that are merged with the ranks.
const N_STARTED: u32 = 2;
/// Number of times that each rank receives from all others: with UCX, MPICH surely loses one of this many messages.
const N_ROUNDS: u32 = 20;
/// Bytes that are fetched across worlds.
const FETCHED: [u8; 8] = *b"sintonia";

fn start(from: &Comm, step: TriedFeature, n: u32) -> anyhow::Result<Intercomm> {
    let mut spawn = Spawn::new(std::env::current_exe()?, n);
    let words = ["doctor-rank", "--started-for", step.name()];
    spawn.arguments = words.map(Into::into).to_vec();
    Ok(from.spawn(&spawn, 0)?)
}

/// Starts processes that leave at once, together with all of a group; returns their process IDs.
fn start_and_leave(from: &Comm, n: u32) -> anyhow::Result<Vec<u32>> {
    let started = start(from, TriedFeature::SpawnOne, n)?;
    let mut pids = vec![0; n as usize];
    for (rank, pid) in (0..n).zip(&mut pids) {
        started.receive(std::slice::from_mut(pid), rank, TAG)?;
    }
    started.disconnect()?;
    Ok(pids)
}

/// Starts processes and adds up with them; returns the number of ranks together.
fn merge(world: &Comm) -> anyhow::Result<u32> {
    let started = start(world, TriedFeature::Merge, N_STARTED)?;
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
fn window(world: &Comm) -> anyhow::Result<()> {
    let started = start(world, TriedFeature::Window, N_STARTED)?;
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
fn receive(world: &Comm, step: TriedFeature) -> anyhow::Result<()> {
    let started = start(world, step, N_STARTED)?;
    hear_each_other(&started, false, step)?;
    started.disconnect()?;
    Ok(())
}

fn hear_each_other(other: &Intercomm, is_high: bool, step: TriedFeature) -> anyhow::Result<()> {
    let merged = other.merge(is_high)?;
    if step == TriedFeature::Split {
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
fn be_started(mpi: &Arc<Mpi>, step: &str) -> anyhow::Result<()> {
    let parent = mpi.take_parent()?.context("nobody started this process")?;
    if step == TriedFeature::Merge.name() {
        add_up(&parent, true)?;
    } else if step == TriedFeature::Window.name() {
        fetch(mpi, &parent)?;
    } else if step == TriedFeature::AnySource.name() {
        hear_each_other(&parent, true, TriedFeature::AnySource)?;
    } else if step == TriedFeature::Split.name() {
        hear_each_other(&parent, true, TriedFeature::Split)?;
    } else {
        parent.send(&[std::process::id()], 0, TAG)?;
    }
    parent.disconnect()?;
    Ok(())
}
