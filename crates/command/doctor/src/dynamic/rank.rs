//! Rank that tries what its MPI library can do, and reports on standard output before and after each step.
//!
//! # Not here
//! Waiting for the reports, and deadlines: `trial`.

mod part;

use super::step::Step;
use anyhow::Context;
use clap::Args;
use mpi::{Comm, Mpi};
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
        (None, Some(step)) => part::be_started(&mpi, step)?,
        (None, None) => try_all(&mpi, &options.steps, began)?,
    }
    mpi.close();
    Ok(ExitCode::SUCCESS)
}

fn try_all(mpi: &Arc<Mpi>, names: &[String], began: Instant) -> anyhow::Result<()> {
    let world = Comm::world(mpi)?;
    let is_asked = |step: &Step| names.iter().any(|name| name == step.name());
    for step in Step::ALL.into_iter().filter(is_asked) {
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

fn attempt(step: Step, world: &Comm, began: Instant) -> anyhow::Result<String> {
    let mpi = world.mpi();
    let start = Instant::now();
    let took = || format!("{:.2} s", start.elapsed().as_secs_f64());
    match step {
        Step::Start => {
            Ok(format!("{} ranks after {:.2} s", world.size(), began.elapsed().as_secs_f64()))
        }
        Step::Threads if mpi.is_multiple() => Ok("MPI_THREAD_MULTIPLE".to_owned()),
        Step::Threads => anyhow::bail!("the library takes calls of one thread at a time"),
        Step::Merge => part::merge(world).map(|n| format!("{n} ranks, {}", took())),
        Step::Window => part::window(world).map(|()| took()),
        Step::AnySource | Step::Split => part::receive(world, step).map(|()| took()),
        _ if world.rank() != 0 => Ok(String::new()),
        Step::SpawnOne => part::start_and_leave(&Comm::own_self(mpi)?, 1).map(|_| took()),
        Step::Release => {
            let pids = part::start_and_leave(&Comm::own_self(mpi)?, 2)?;
            let start = Instant::now();
            wait_until_gone(&pids)?;
            Ok(format!("gone {:.2} s after they left", start.elapsed().as_secs_f64()))
        }
        Step::Background => {
            anyhow::ensure!(mpi.is_multiple(), "the library takes calls of one thread at a time");
            let alone = Comm::own_self(mpi)?;
            let start = move || part::start_and_leave(&alone, 1);
            let thread = std::thread::Builder::new().name("background".to_owned()).spawn(start);
            let started = thread.context("no thread can be started; see `ulimit -u`")?;
            let started = started.join().map_err(|_| anyhow::anyhow!("the thread failed"))?;
            started.map(|_| took())
        }
        Step::Connect => receive_guest(mpi).map(|()| took()),
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
    guest.receive(&mut pid, 0, part::TAG)?;
    guest.disconnect()?;
    port.close()?;
    Ok(())
}

fn visit(mpi: &Arc<Mpi>, port: &str) -> anyhow::Result<()> {
    let host = Comm::own_self(mpi)?.connect(port, 0)?;
    host.send(&[std::process::id()], 0, part::TAG)?;
    host.disconnect()?;
    Ok(())
}
