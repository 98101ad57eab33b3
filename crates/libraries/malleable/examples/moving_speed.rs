//! Measures how fast a matrix moves to new ranks, and how many iterations its sources compute meanwhile:
//! `moving_speed METHOD|auto MIB N_NEW [merge|baseline]`, started by an MPI launcher that can start processes.
#![expect(clippy::print_stdout, reason = "a person reads it")]
#![expect(clippy::print_stderr, reason = "a person reads it")]
#![allow(
    clippy::cast_precision_loss,
    clippy::cast_possible_truncation,
    reason = "rounded for a person"
)]

use malleable::moving::{Method, Moving};
use malleable::probing;
use malleable::{Bridge, Csr, Cut, Data, State};
use mpi::{Comm, Mpi, Op, Spawn};
use std::error::Error;
use std::process::ExitCode;
use std::time::{Duration, Instant};

type Outcome<T = ()> = Result<T, Box<dyn Error>>;

const SOON: Duration = Duration::from_secs(100);
const N_ALONE: usize = 200;
/// Entries per row.
const LENGTH: u64 = 64;
/// Entries that an iteration reads.
const N_READ: usize = 1 << 20;

#[derive(Default)]
struct Matrix {
    n: u64,
    rows: Csr,
    x: Vec<f64>,
}

impl State for Matrix {
    fn data<'a>(&'a mut self, data: &mut Data<'a>) {
        let n = self.n;
        data.constant("n", &mut self.n);
        data.rows_of(n, Cut::Weighted);
        data.constant_csr("rows", &mut self.rows);
        data.rows("x", &mut self.x);
    }
}

impl Matrix {
    fn part(n_rows: u64, rank: u64, n_ranks: u64) -> Self {
        let own = n_rows * rank / n_ranks..n_rows * (rank + 1) / n_ranks;
        let n_own = (own.end - own.start) as usize;
        let entries = own.start * LENGTH..own.end * LENGTH;
        let rows = Csr {
            lengths: std::iter::repeat_n(LENGTH as u32, n_own).collect(),
            columns: entries.clone().map(|entry| entry as u32).collect(),
            values: entries.map(|entry| entry as f64).collect(),
        };
        Self { n: n_rows, rows, x: vec![1.0; n_own] }
    }

    fn step(&self, comm: &Comm, is_done: bool) -> Outcome<(f64, bool)> {
        let n = self.rows.n_entries().min(N_READ);
        let sum = self.rows.values[..n].iter().zip(&self.rows.columns[..n]);
        let sum = sum.map(|(value, column)| value * f64::from(column & 1)).sum::<f64>();
        let mut sums = [sum, if is_done { 0.0 } else { 1.0 }];
        comm.allreduce(Op::Sum, &mut sums)?;
        Ok((sums[0], sums[1] == 0.0))
    }
}

fn main() -> ExitCode {
    let failed = run().inspect_err(|error| eprintln!("{error}")).is_err();
    ExitCode::from(u8::from(failed))
}

fn run() -> Outcome {
    let words = std::env::args().skip(1).collect::<Vec<_>>();
    let [method, mib, n_new, rest @ ..] = words.as_slice() else {
        return Err("METHOD MIB N_NEW [merge|baseline]".into());
    };
    let found = Method::ALL.into_iter().find(|known| known.name() == method);
    if found.is_none() && method != "auto" {
        return Err("METHOD is sync, async, p2p, get or auto".into());
    }
    let n_rows = mib.parse::<u64>()? * (1 << 20) / (LENGTH * 12 + 4);
    let is_merge = rest.first().is_some_and(|word| word == "merge");
    let mpi = Mpi::init()?;
    let world = Comm::world(&mpi)?;
    if let Some(parents) = mpi.take_parent()? {
        let all = parents.merge(true)?;
        arrive(&all, all.size() - world.size(), found, is_merge)?;
        all.free()?;
        parents.disconnect()?;
    } else {
        let mut start = Spawn::new(std::env::current_exe()?, n_new.parse()?);
        start.arguments = words.iter().map(Into::into).collect();
        let children = world.spawn(&start, 0)?;
        let all = children.merge(false)?;
        let matrix = Matrix::part(n_rows, world.rank().into(), world.size().into());
        leave(&all, &world, matrix, (found, is_merge))?;
        all.free()?;
        children.disconnect()?;
    }
    mpi.close();
    Ok(())
}

fn bridge(all: &Comm, n_sources: u32, is_merge: bool) -> Bridge<'_> {
    let sources = (0..n_sources).collect();
    let new = n_sources..all.size();
    let mut targets = new.clone().collect::<Vec<_>>();
    if is_merge {
        // Each source continues with the first part of its rows.
        let n_each = new.len() as u32 / n_sources;
        let seats = |source: u32| {
            let first = n_sources + source * n_each;
            std::iter::once(source).chain(first..first + n_each)
        };
        targets = (0..n_sources).flat_map(seats).collect();
    }
    Bridge { comm: all, sources, targets }
}

/// Runs a new rank.
fn arrive(all: &Comm, n_sources: u32, method: Option<Method>, is_merge: bool) -> Outcome {
    let bridge = bridge(all, n_sources, is_merge);
    let mut matrix = Matrix::default();
    // The sources measure their iterations meanwhile.
    let mut ready = all.start_barrier()?;
    while !ready.is_complete()? {
        std::thread::sleep(Duration::from_millis(1));
    }
    let method = chosen(&bridge, &mut matrix, method)?;
    let mut moving = Moving::begin(&bridge, &mut Data::of(&mut matrix), method)?;
    moving.wait(&bridge, SOON)?;
    moving.switch(&bridge, &mut Data::of(&mut matrix), SOON)?;
    check(&matrix)
}

/// Returns the requested method, or the best of those tried.
fn chosen(bridge: &Bridge<'_>, matrix: &mut Matrix, method: Option<Method>) -> Outcome<Method> {
    if let Some(method) = method {
        return Ok(method);
    }
    let began = Instant::now();
    let trials = probing::try_all(bridge)?;
    let tried_ms = 1e3 * began.elapsed().as_secs_f64();
    if bridge.comm.rank() == 0 {
        println!("tried in {tried_ms:.0} ms");
    }
    for trial in trials.iter().filter(|_| bridge.comm.rank() == 0) {
        let (name, n) = (trial.method.name(), trial.n_iterations);
        let (ms, lost_ms) = (1e3 * trial.seconds, 1e3 * trial.lost_s());
        println!("  {name:5} {ms:.1} ms, {n} iterations, {lost_ms:.1} ms lost");
    }
    Ok(probing::choose(bridge, probing::constant_bytes(&Data::of(matrix)))?)
}

fn check(matrix: &Matrix) -> Outcome {
    let first = matrix.rows.columns.first().map_or(0, |column| *column);
    let is_right = (first..).zip(&*matrix.rows.columns).zip(&*matrix.rows.values);
    let mut is_right = is_right.map(|((expected, column), value)| {
        expected == *column && f64::from(expected).to_bits() == value.to_bits()
    });
    if is_right.all(|right| right) { Ok(()) } else { Err("entries are in wrong places".into()) }
}

/// Runs a source.
fn leave(
    all: &Comm,
    world: &Comm,
    mut matrix: Matrix,
    (method, is_merge): (Option<Method>, bool),
) -> Outcome {
    let bridge = bridge(all, world.size(), is_merge);
    let alone = |matrix: &Matrix| -> Outcome<f64> {
        let mut times = Vec::new();
        for _ in 0..N_ALONE {
            let began = Instant::now();
            matrix.step(world, false)?;
            times.push(began.elapsed().as_secs_f64());
        }
        Ok(statistics::median(times).unwrap_or(0.0))
    };
    let before_s = alone(&matrix)?;
    let mut ready = all.start_barrier()?;
    while !ready.is_complete()? {
        std::thread::yield_now();
    }
    let method = chosen(&bridge, &mut matrix, method)?;
    let began = Instant::now();
    let mut moving = Moving::begin(&bridge, &mut Data::of(&mut matrix), method)?;
    let begun_s = began.elapsed().as_secs_f64();
    let (mut times, mut in_test_s) = (Vec::new(), 0.0);
    let began = Instant::now();
    loop {
        let iteration = Instant::now();
        let is_done = moving.test(&bridge)?;
        in_test_s += iteration.elapsed().as_secs_f64();
        if matrix.step(world, is_done)?.1 {
            break;
        }
        times.push(iteration.elapsed().as_secs_f64());
    }
    let meanwhile_s = began.elapsed().as_secs_f64();
    let after_s = alone(&matrix)?;
    let switched = Instant::now();
    let [constant, variable] = moving.switch(&bridge, &mut Data::of(&mut matrix), SOON)?;
    let switch_s = switched.elapsed().as_secs_f64();
    check(&matrix)?;
    if world.rank() == 0 {
        let alone_s = f64::midpoint(before_s, after_s);
        let (n, would) = (times.len(), meanwhile_s / alone_s);
        let usual_s = statistics::median(times.iter().copied()).unwrap_or(0.0);
        let longest_ms = 1e3 * times.iter().copied().fold(0.0, f64::max);
        println!(
            "{:5} {} MiB in {:.3} s ({:.0} MB/s), begun in {:.1} ms, switched in {:.1} ms ({} B); {n} iterations of \
             {would:.0} ({:.0} %), each {:.2} ms instead of {:.2} ms (x {:.2}), longest {longest_ms:.0} ms, \
             {:.0} ms in tests",
            method.name(),
            constant.bytes >> 20,
            constant.seconds,
            constant.bytes_sent as f64 / 1e6 / constant.seconds,
            1e3 * begun_s,
            1e3 * switch_s,
            variable.bytes,
            100.0 * n as f64 / would,
            1e3 * usual_s,
            1e3 * alone_s,
            usual_s / alone_s,
            1e3 * in_test_s,
        );
    }
    Ok(())
}
