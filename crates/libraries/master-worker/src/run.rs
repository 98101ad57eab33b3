//! A run from start to end, on the ranks of a launcher or on threads.

use crate::master::lead_to_end;
use crate::worker::serve_to_end;
use crate::worker_pool::{ElasticPool, GrowthLimits, Spawned, WorkerSource, n_cores};
use crate::{Error, Options, Program, Report, Workers, lead_with_pool, serve};
use comm::{CommError, MpiTransport, ThreadTransport, Transport};
use std::thread::{self, Scope, ScopedJoinHandle};
use std::time::Duration;

/// Longest time that a rank waits for the others at the end.
const LEAVE: Duration = Duration::from_secs(30);
/// The same when a worker is missing, which may just come back.
const LEAVE_WITHOUT: Duration = Duration::from_secs(1);

/// Result of a run, on the master.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Outcome<P> {
    /// The master's program at the end.
    pub program: P,
    /// Report of the run.
    pub report: Report,
}

/// Runs a program: on the ranks of the MPI launcher that started the process, else on threads.
///
/// It returns on every rank.
///
/// # Errors
/// See [`Error`]; on a worker also if the master is gone.
pub fn run<P: Program>(program: P, options: Options) -> Result<(), Error> {
    outcome(program, options).map(drop)
}

/// Like [`run`], and returns the master's program and the report; `None` on the ranks of workers.
///
/// # Errors
/// As for [`run`].
pub fn outcome<P: Program>(program: P, options: Options) -> Result<Option<Outcome<P>>, Error> {
    let may_grow = options.pool.n_max.is_some() || options.pool.workers == Workers::Tuned;
    match if may_grow { MpiTransport::init_to_grow() } else { MpiTransport::init() } {
        Ok(end) => on_a_rank(program, end, &options),
        // This worker was started for another run of this program.
        Err(CommError::OtherGroup) => Ok(None),
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
        let is_somebody_missed = serve_to_end(&mut program, &mut end, options)?;
        leave(&mut end, is_somebody_missed)?;
        return Ok(None);
    }
    let mut worker_pool = Spawned::new(&end, options);
    let (led, missing) = lead_to_end(&mut program, &mut end, options, &mut worker_pool);
    // Workers were told to end in any case; an error of the run matters more than one while leaving.
    let left = leave(&mut end, !missing.is_empty());
    let report = led?;
    left?;
    Ok(Some(Outcome { program, report }))
}

/// Leaves together with all other ranks, or alone when a worker is missing.
fn leave(end: &mut MpiTransport, is_somebody_missed: bool) -> Result<(), CommError> {
    if !is_somebody_missed && !end.has_lost_launched() {
        return end.leave(LEAVE);
    }
    match end.leave(LEAVE_WITHOUT) {
        Err(CommError::Late { .. } | CommError::Gone { .. }) => end.leave_alone(),
        left => left,
    }
}

fn on_threads<P: Program>(mut program: P, options: &Options) -> Result<Outcome<P>, Error> {
    let n_threads = options.n_threads.unwrap_or_else(|| n_cores().saturating_add(1));
    let mut ends = comm::threads(n_threads).into_iter();
    let mut master = ends.next().expect("there is one thread at least");
    let report = thread::scope(|scope| {
        let template = program.clone();
        let mut threads = Threads { scope, template, options, workers: Vec::new() };
        for end in ends {
            threads.work(end).map_err(Error::Thread)?;
        }
        let n_max = options.pool.n_max.unwrap_or(0).max(n_threads - 1);
        let n_to_come = options.pool.n_iterations_to_come;
        let limits = GrowthLimits { n_max, n_to_come, start_s: USUAL_START_S };
        let mut worker_pool = ElasticPool::new(threads, limits, None);
        let led = lead_with_pool(&mut program, &mut master, options, &mut worker_pool);
        drop(master);
        for worker in worker_pool.into_source().workers {
            // The master has seen the worker's error, and went on without the worker.
            let _ended = worker.join();
        }
        led
    })?;
    Ok(Outcome { program, report })
}

/// Expected time to start a thread, in seconds.
const USUAL_START_S: f64 = 100e-6;

/// Workers on threads.
struct Threads<'scope, 'env, P> {
    scope: &'scope Scope<'scope, 'env>,
    /// Program before the run, cloned for each worker.
    template: P,
    options: &'env Options,
    workers: Vec<ScopedJoinHandle<'scope, Result<(), Error>>>,
}

impl<'env, P: Program + 'env> Threads<'_, 'env, P> {
    fn work(&mut self, mut end: ThreadTransport) -> std::io::Result<()> {
        let (mut program, options) = (self.template.clone(), self.options);
        let worker = thread::Builder::new().name(format!("worker {}", end.rank()));
        let work = move || {
            let served = serve(&mut program, &mut end, options);
            served.and_then(|()| Ok(end.leave(LEAVE)?))
        };
        self.workers.push(worker.spawn_scoped(self.scope, work)?);
        Ok(())
    }
}

impl<'env, P: Program + 'env> WorkerSource<ThreadTransport> for Threads<'_, 'env, P> {
    fn start(
        &mut self,
        transport: &mut ThreadTransport,
        n: u32,
    ) -> Result<Vec<Result<u32, CommError>>, CommError> {
        let mut started = Vec::new();
        for _ in 0..n {
            let end = transport.add_rank()?;
            let rank = end.rank();
            let why = |error: std::io::Error| CommError::CannotSpawn { why: error.to_string() };
            started.push(self.work(end).map(|()| rank).map_err(why));
        }
        Ok(started)
    }
}
