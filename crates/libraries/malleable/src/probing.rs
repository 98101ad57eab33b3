//! Choice of the method that moves data best, by a trial with the real library.
//!
//! Whether constant data move while a program computes depends on who copies them: some libraries let the receiver read
//! the sender's memory, some copy only when both sides call, some send through the kernel. So a small amount is moved
//! by each method between the very ranks that are about to change, while the sources compute as a program does, and the
//! time that they lose counts.
//!
//! # Invariants
//! - All ranks choose the same method.

use crate::bridge::Bridge;
use crate::data::{Class, Cut, Data, Rows, State};
use crate::moving::{Method, MoveError, Moving};
use mpi::{Comm, Op};
use std::hint::black_box;
use std::sync::Arc;
use std::time::{Duration, Instant};

/// Amount of data below which moving is faster than a trial, in bytes.
const BYTES_MIN: u64 = 16 << 20;
/// Numbers of 8 bytes that each source sends in a trial.
const N_TRIAL: usize = 1 << 17;
/// Trials with almost no data, to measure the overhead.
const N_EMPTY: usize = 2;
/// Trials of each method.
const N_EACH: usize = 2;
const N_ITERATIONS_ALONE: usize = 9;
const DEADLINE: Duration = Duration::from_secs(10);

/// Result of trying a method.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Trial {
    /// Method tried.
    pub method: Method,
    /// Time of the trial less the overhead of any trial, in seconds.
    pub seconds: f64,
    /// Number of iterations that the sources computed during the trial.
    pub n_iterations: u32,
    /// Time of an iteration when nothing moves, in seconds.
    pub alone_s: f64,
}

impl Trial {
    /// Time that the sources lost, in seconds. A blocking exchange hides nothing: its iterations came afterwards.
    #[must_use]
    pub fn lost_s(&self) -> f64 {
        let n_meanwhile = if self.method == Method::Sync { 0 } else { self.n_iterations };
        (self.seconds - f64::from(n_meanwhile) * self.alone_s).max(0.0)
    }
}

/// Returns the method by which the sources lose least. Among methods within a tenth of the worst loss, it is the
/// fastest one in the background, since more data would increase their differences.
#[must_use]
pub fn best(trials: &[Trial]) -> Option<Method> {
    let lost = || trials.iter().map(Trial::lost_s);
    let least = lost().fold(f64::INFINITY, f64::min) + lost().fold(0.0, f64::max) / 10.0;
    let as_good = trials.iter().filter(|trial| trial.lost_s() <= least);
    let order = |trial: &&Trial| (trial.method == Method::Sync, trial.seconds);
    let first = as_good.min_by(|one, other| {
        let (one, other) = (order(one), order(other));
        one.0.cmp(&other.0).then(one.1.total_cmp(&other.1))
    });
    first.map(|trial| trial.method)
}

/// Chooses how to move `n_own_bytes` of each source: tries all methods for about 50 ms, unless there is little to move.
/// All ranks of the bridge call it.
///
/// # Errors
/// If an MPI call fails, or a trial does not end.
pub fn choose(bridge: &Bridge<'_>, n_own_bytes: u64) -> Result<Method, MoveError> {
    let mut n_bytes = [if bridge.is_source() { n_own_bytes } else { 0 }];
    bridge.comm.allreduce(Op::Sum, &mut n_bytes)?;
    if n_bytes[0] < BYTES_MIN {
        return Ok(Method::Sync);
    }
    let root = bridge.sources.first().copied().unwrap_or(0);
    let found = best(&try_all(bridge)?).unwrap_or(Method::Sync);
    let place = Method::ALL.iter().position(|method| *method == found).unwrap_or(0);
    let mut chosen = [place as u64];
    bridge.comm.broadcast(&mut chosen, root)?;
    let chosen = usize::try_from(chosen[0]).ok().and_then(|place| Method::ALL.get(place));
    Ok(chosen.copied().unwrap_or(Method::Sync))
}

/// Starts to move constant data by the best method, as [`Moving::begin`] does by a given one. All ranks of the bridge
/// call it.
///
/// # Errors
/// As for [`choose`] and [`Moving::begin`].
pub fn begin(bridge: &Bridge<'_>, data: &mut Data<'_>) -> Result<Moving, MoveError> {
    let method = choose(bridge, constant_bytes(data))?;
    Moving::begin(bridge, data, method)
}

/// Tries all methods that come into question; returns the results of this rank if it is a source, and none on other ranks.
/// All ranks of the bridge call it.
///
/// # Errors
/// As for [`choose`].
pub fn try_all(bridge: &Bridge<'_>) -> Result<Vec<Trial>, MoveError> {
    let side = bridge.comm.split(Some(u32::from(bridge.is_source())), 0)?;
    let sources = side.as_ref().filter(|_| bridge.is_source());
    let alone_s = sources.map(alone).transpose()?.unwrap_or(0.0);
    let mut trials = Vec::new();
    // Agreeing and waiting for each other takes the same time with all methods.
    let mut any_s = f64::INFINITY;
    for _ in 0..N_EMPTY {
        any_s = any_s.min(trial(bridge, sources, Method::Sync, 1)?.0);
    }
    for method in candidates(bridge) {
        let mut of_method = Vec::new();
        for _ in 0..N_EACH {
            let (seconds, n_iterations) = trial(bridge, sources, method, N_TRIAL)?;
            let seconds = (seconds - any_s).max(0.0);
            of_method.extend(sources.map(|_| Trial { method, seconds, n_iterations, alone_s }));
        }
        // Others on the machine only add to it.
        let least = |one: &Trial, other: &Trial| one.lost_s().total_cmp(&other.lost_s());
        trials.extend(of_method.into_iter().min_by(least));
    }
    side.map_or(Ok(()), Comm::free)?;
    Ok(trials)
}

/// Methods worth a trial: with which the library does not hang, and messages only where no thread moves data, since they
/// then wait for iterations, which may be long.
fn candidates(bridge: &Bridge<'_>) -> impl Iterator<Item = Method> {
    let mpi = bridge.comm.mpi();
    // Open MPI 5.0.11 hung when it made windows between processes that had been started one by one.
    let (has_windows, has_thread) = (!mpi.version().contains("Open MPI"), mpi.is_multiple());
    Method::ALL.into_iter().filter(move |method| match method {
        Method::Get => has_windows,
        Method::PointToPoint => !has_thread,
        Method::Sync | Method::Async => true,
    })
}

/// Size of the constant data of this rank, in bytes.
#[must_use]
pub fn constant_bytes(data: &Data<'_>) -> u64 {
    let objects = data.groups.iter().flat_map(|group| &group.objects);
    let bytes = objects.filter(|object| object.class == Class::Constant).map(|object| {
        let arrays = match &object.rows {
            Rows::Even { array, .. } => std::slice::from_ref(array),
            Rows::Uneven { arrays, .. } => arrays,
        };
        arrays.iter().map(|array| (array.n_elements() * array.element_bytes()) as u64).sum::<u64>()
    });
    bytes.sum()
}

/// State that is moved in a trial.
struct Sample {
    n: u64,
    rows: Arc<[u64]>,
}

impl State for Sample {
    fn data<'a>(&'a mut self, data: &mut Data<'a>) {
        data.rows_of(self.n, Cut::Even);
        data.constant_rows("rows", &mut self.rows);
    }
}

/// Measures how long a method takes from source to target, in seconds, and how many iterations the sources do
/// meanwhile.
fn trial(
    bridge: &Bridge<'_>,
    sources: Option<&Comm>,
    method: Method,
    n_own: usize,
) -> Result<(f64, u32), MoveError> {
    let rows = if sources.is_some() { vec![1; n_own].into() } else { [].into() };
    let mut sample = Sample { n: (bridge.sources.len() * n_own) as u64, rows };
    let mut data = Data::of(&mut sample);
    let began = Instant::now();
    let mut moving = Moving::begin(bridge, &mut data, method)?;
    let n_iterations = match sources {
        Some(sources) if moving.is_beside(bridge) => iterate_beside(bridge, sources, &mut moving)?,
        Some(sources) => iterate_until(sources, || moving.test(bridge))?,
        None if moving.wait(bridge, DEADLINE)? => 0,
        None => return Err(MoveError::Late { waited: DEADLINE }),
    };
    let seconds = began.elapsed().as_secs_f64();
    moving.switch(bridge, &mut data, DEADLINE)?;
    Ok((seconds, n_iterations))
}

/// Computes iterations while a thread makes progress, as it does in a program; returns their number.
fn iterate_beside(
    bridge: &Bridge<'_>,
    sources: &Comm,
    moving: &mut Moving,
) -> Result<u32, MoveError> {
    std::thread::scope(|scope| {
        let work = || moving.advance_while(bridge, || true);
        let mover = std::thread::Builder::new().name("mover".to_owned()).spawn_scoped(scope, work);
        let mover = mover.map_err(|_| MoveError::Memory)?;
        let n_iterations = iterate_until(sources, || Ok(mover.is_finished()))?;
        mover.join().map_err(|_| MoveError::Memory)??;
        Ok(n_iterations)
    })
}

/// Computes iterations until all sources have all data; returns their number.
fn iterate_until(
    sources: &Comm,
    mut is_here: impl FnMut() -> Result<bool, MoveError>,
) -> Result<u32, MoveError> {
    let mut n_iterations = 0;
    while !iterate(sources, is_here()?)? {
        n_iterations += 1;
    }
    Ok(n_iterations)
}

/// Measures the time of an iteration when nothing moves, in seconds: the median of several.
fn alone(sources: &Comm) -> Result<f64, MoveError> {
    let mut seconds = Vec::new();
    for _ in 0..N_ITERATIONS_ALONE {
        let began = Instant::now();
        iterate(sources, false)?;
        seconds.push(began.elapsed().as_secs_f64());
    }
    Ok(statistics::median(seconds).unwrap_or(0.0))
}

/// Computes an iteration on all sources: some arithmetic and a sum; returns whether all of them reported that it was the
/// last.
fn iterate(sources: &Comm, is_last: bool) -> Result<bool, MoveError> {
    let mut sum = 0.0;
    for step in 0..100_000_u32 {
        sum = black_box(sum * 0.5 + f64::from(step));
    }
    let mut sums = [sum, if is_last { 0.0 } else { 1.0 }];
    sources.allreduce(Op::Sum, &mut sums)?;
    Ok(sums[1] < 0.5)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(trials: &[(Method, f64, u32)], expected: Option<Method>) {
        let trial = |(method, ms, n_iterations): &(Method, f64, u32)| Trial {
            method: *method,
            seconds: ms / 1000.0,
            n_iterations: *n_iterations,
            alone_s: 0.001,
        };
        assert_eq!(best(&trials.iter().map(trial).collect::<Vec<_>>()), expected);
    }

    #[test]
    fn the_method_is_chosen_by_which_least_is_lost() {
        use Method::{Async, Get, PointToPoint, Sync};
        check(&[], None);
        check(&[(Sync, 5.0, 0), (Async, 9.0, 2), (Get, 20.0, 19)], Some(Get));
        // Nothing is hidden: the fastest method.
        check(&[(Sync, 5.0, 0), (Async, 12.0, 5), (PointToPoint, 9.0, 1)], Some(Sync));
        // Everything is hidden: again the fastest method.
        check(&[(Sync, 50.0, 0), (Async, 40.0, 39), (Get, 20.0, 19)], Some(Get));
        // Too little to tell: a method that can hide something.
        check(&[(Sync, 0.0, 2), (Async, 3.0, 3)], Some(Async));
    }
}
