//! A run from start to end, on whatever ranks there are.

use crate::{Error, Options, Program, Report, lead, serve};
use comm::{CommError, MpiTransport, Transport};
use std::thread;
use std::time::Duration;

/// How long a rank waits until it may leave.
const LEAVE: Duration = Duration::from_secs(30);

/// What the master has after a run.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Outcome<P> {
    /// The master's program.
    pub program: P,
    /// What the run was like.
    pub report: Report,
}

/// Runs a program: on the ranks of the launcher that started the process, else on threads.
///
/// It returns on every rank.
///
/// # Errors
/// See [`Error`]; on a worker also when the master is gone.
pub fn run<P: Program>(program: P, options: Options) -> Result<(), Error> {
    outcome(program, options).map(drop)
}

/// As [`run`], and gives the master's program back; `None` on the ranks of workers.
///
/// # Errors
/// As [`run`].
pub fn outcome<P: Program>(program: P, options: Options) -> Result<Option<Outcome<P>>, Error> {
    options.check()?;
    match MpiTransport::init() {
        Ok(end) => on_a_rank(program, end, &options),
        Err(CommError::NoLauncher) => on_threads(program, &options).map(Some),
        Err(error) => Err(error.into()),
    }
}

fn on_a_rank<P: Program>(
    mut program: P,
    mut end: MpiTransport,
    options: &Options,
) -> Result<Option<Outcome<P>>, Error> {
    if end.rank() != 0 {
        serve(&mut program, &mut end, options)?;
        end.leave(LEAVE)?;
        return Ok(None);
    }
    let led = lead(&mut program, &mut end, options);
    // Workers were sent home in any case; an error of the run is worth more than one of the farewell.
    let left = end.leave(LEAVE);
    let report = led?;
    left?;
    Ok(Some(Outcome { program, report }))
}

fn on_threads<P: Program>(mut program: P, options: &Options) -> Result<Outcome<P>, Error> {
    let mut ends = comm::threads(options.n_threads.unwrap_or_else(n_threads_usual)).into_iter();
    let master = ends.next();
    let report = thread::scope(|scope| {
        let mut workers = Vec::new();
        for mut end in ends {
            let mut program = program.clone();
            let worker = thread::Builder::new().name(format!("worker {}", end.rank()));
            let work = move || {
                let served = serve(&mut program, &mut end, options);
                served.and_then(|()| Ok(end.leave(LEAVE)?))
            };
            workers.push(worker.spawn_scoped(scope, work).map_err(Error::Thread)?);
        }
        let mut master = master.expect("there is one thread at least");
        let led = lead(&mut program, &mut master, options);
        drop(master);
        for worker in workers {
            // What it says was seen by the master, which went on without it.
            let _ended = worker.join();
        }
        led
    })?;
    Ok(Outcome { program, report })
}

/// One for each core, and the master, which mostly waits.
fn n_threads_usual() -> u32 {
    let n_cores = thread::available_parallelism().map_or(1, std::num::NonZero::get);
    u32::try_from(n_cores).unwrap_or(u32::MAX).saturating_add(1)
}
