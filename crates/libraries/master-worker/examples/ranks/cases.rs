//! Programs as users write them, including their mistakes.

use master_worker::{
    BoxError, Error, Iteration, MessageError, Options, Plain, Program, from_bytes, outcome,
    to_bytes,
};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::io::Write;
use std::ops::Range;
use std::time::{Duration, Instant};

/// Shared data of an iteration.
#[derive(Clone, Debug, Serialize, Deserialize)]
struct Told {
    iteration: u64,
    names: BTreeMap<String, Vec<Option<f64>>>,
    values: Vec<f64>,
}

/// Values whose last bits depend on every iteration before; the shared data change every third
/// iteration.
#[derive(Clone, Debug)]
struct Chaos {
    values: Vec<f64>,
    n_iterations: u64,
    told: Told,
    /// Fault that tasks cause.
    fault: Fault,
}

#[derive(Clone, Copy, Debug, PartialEq)]
enum Fault {
    None,
    /// Task 3 panics on every rank.
    Panic,
    /// Every iteration takes a few milliseconds.
    Slow,
    /// Rank 1 never finishes a chunk.
    Stuck,
    /// The master panics in the middle of the run.
    Master,
}

impl Chaos {
    fn new(n_values: u32, n_iterations: u64, fault: Fault) -> Self {
        let values: Vec<f64> =
            (1..=n_values).map(|number| f64::from(number) / f64::from(n_values + 1)).collect();
        let told = Told { iteration: 0, names: BTreeMap::new(), values: values.clone() };
        Self { values, n_iterations, told, fault }
    }

    /// Hash that differs as soon as one bit of the values does.
    fn digest(&self) -> u64 {
        let bits = self.values.iter().map(|value| value.to_bits());
        bits.fold(0xcbf2_9ce4_8422_2325, |hash, bits| (hash ^ bits).wrapping_mul(0x100_0000_01b3))
    }
}

fn place(task: u64) -> usize {
    usize::try_from(task).unwrap_or(usize::MAX)
}

impl Program for Chaos {
    type Shared = Told;
    type Input = (String, Vec<f64>);
    type Output = Plain<f64>;

    fn enter(&mut self, rank: u32) {
        if self.fault == Fault::Slow {
            say(&format!("rank {rank} is process {}", std::process::id()));
        }
        if self.fault == Fault::Stuck && rank != 1 {
            self.fault = Fault::None;
        }
    }

    fn next(&mut self, iteration: u64) -> Option<Iteration<Told>> {
        assert!(self.fault != Fault::Master || iteration < 4, "there is no iteration 4");
        let n_tasks = self.values.len() as u64;
        if self.n_iterations <= iteration {
            return None;
        }
        if !iteration.is_multiple_of(3) && 0 < self.told.iteration {
            return Some(Iteration::unchanged(n_tasks).priority(10..20, -1));
        }
        let names = [("all".to_owned(), vec![Some(self.values[0]), None])].into();
        self.told = Told { iteration: iteration + 1, names, values: self.values.clone() };
        Some(Iteration::new(n_tasks, self.told.clone()).priority(5..9, 2))
    }

    fn input(&self, tasks: Range<u64>) -> (String, Vec<f64>) {
        let own = &self.values[place(tasks.start)..place(tasks.end)];
        (format!("{tasks:?}"), own.to_vec())
    }

    #[expect(clippy::panic, reason = "that is the case")]
    fn work(&self, told: &Told, tasks: Range<u64>, (name, own): (String, Vec<f64>)) -> Plain<f64> {
        assert_eq!(name, format!("{tasks:?}"));
        let first = told.names["all"][0].unwrap_or_default();
        match self.fault {
            Fault::None | Fault::Master => {}
            Fault::Panic if tasks.contains(&3) => panic!("there is no result of task 3"),
            Fault::Stuck => std::thread::sleep(Duration::from_secs(3600)),
            Fault::Slow if tasks.contains(&3) => busy(Duration::from_millis(5)),
            Fault::Panic | Fault::Slow => {}
        }
        let next = |(task, value): (u64, f64)| {
            let other = told.values[place(task + 1) % told.values.len()];
            3.9 * value * (1.0 - value) * 0.9 + 0.05 * other + 0.05 * first
        };
        tasks.zip(own).map(next).collect()
    }

    fn recover(&mut self, tasks: Range<u64>, output: Plain<f64>) {
        self.values[place(tasks.start)..place(tasks.end)].copy_from_slice(&output);
    }

    fn end_iteration(&mut self, report: &master_worker::IterationReport) {
        if self.fault == Fault::Slow {
            say(&format!("iteration {} lost {}", report.iteration, report.n_lost));
            let at_work = report.workers.iter().filter(|worker| worker.n_chunks != 0);
            at_work.for_each(|worker| say(&format!("done by {}", worker.rank)));
        }
    }

    fn save(&self) -> Result<Option<Vec<u8>>, MessageError> {
        to_bytes(&self.values).map(Some)
    }

    fn restore(&mut self, saved: &[u8]) -> Result<(), BoxError> {
        self.values = from_bytes(saved)?;
        Ok(())
    }
}

fn say(line: &str) {
    // A killed launcher no longer reads the output.
    let _written = writeln!(std::io::stdout(), "{line}");
}

fn busy(time: Duration) {
    let began = Instant::now();
    while began.elapsed() < time {
        std::hint::spin_loop();
    }
}

fn run(program: Chaos, options: Options) -> Result<(), Error> {
    if let Some(outcome) = outcome(program, options)? {
        say(&format!("digest {:016x}", outcome.program.digest()));
    }
    Ok(())
}

pub(crate) fn digest(options: Options) -> Result<(), Error> {
    run(Chaos::new(100, 10, Fault::None), options)
}

pub(crate) fn faulty(options: Options) -> Result<(), Error> {
    run(Chaos::new(100, 10, Fault::Panic), options)
}

pub(crate) fn headless(options: Options) -> Result<(), Error> {
    run(Chaos::new(100, 10, Fault::Master), options)
}

pub(crate) fn endless(options: Options) -> Result<(), Error> {
    run(Chaos::new(100, u64::MAX, Fault::Slow), options)
}

pub(crate) fn stuck(options: Options) -> Result<(), Error> {
    run(Chaos::new(100, 10, Fault::Stuck), options)
}

/// Program with chunks of one task and many megabytes in both directions.
#[derive(Clone, Debug)]
struct Large {
    n_bytes: usize,
    n_right: u64,
}

impl Program for Large {
    type Shared = Plain<u8>;
    type Input = Plain<u8>;
    type Output = Plain<u8>;

    fn next(&mut self, iteration: u64) -> Option<Iteration<Plain<u8>>> {
        (iteration < 2).then(|| Iteration::new(6, vec![7; self.n_bytes].into()))
    }

    fn input(&self, tasks: Range<u64>) -> Plain<u8> {
        vec![u8::try_from(tasks.start).unwrap_or_default(); self.n_bytes].into()
    }

    fn work(&self, shared: &Plain<u8>, _tasks: Range<u64>, input: Plain<u8>) -> Plain<u8> {
        shared.iter().zip(&input).map(|(one, other)| one ^ other).collect()
    }

    fn recover(&mut self, tasks: Range<u64>, output: Plain<u8>) {
        let expected = 7 ^ u8::try_from(tasks.start).unwrap_or_default();
        let is_right = output.len() == self.n_bytes && output.iter().all(|byte| *byte == expected);
        self.n_right += u64::from(is_right) * (tasks.end - tasks.start);
    }
}

pub(crate) fn large(options: Options) -> Result<(), Error> {
    let program = Large { n_bytes: 40_000_000, n_right: 0 };
    if let Some(outcome) = outcome(program, options)? {
        say(&format!("{} of 12 are right", outcome.program.n_right));
    }
    Ok(())
}

/// Program with much shared data and small results.
#[derive(Clone, Debug)]
struct Shared {
    n_bytes: usize,
    n_right: u64,
}

impl Program for Shared {
    type Shared = Plain<u8>;
    type Input = ();
    type Output = u64;

    fn next(&mut self, iteration: u64) -> Option<Iteration<Plain<u8>>> {
        let value = u8::try_from(iteration).unwrap_or(0);
        (iteration < 2).then(|| Iteration::new(8, vec![value; self.n_bytes].into()))
    }

    fn input(&self, _tasks: Range<u64>) {}

    fn work(&self, shared: &Plain<u8>, tasks: Range<u64>, (): ()) -> u64 {
        let is_right = shared.len() == self.n_bytes && shared.iter().all(|one| *one == shared[0]);
        if is_right { tasks.end - tasks.start } else { 0 }
    }

    fn recover(&mut self, _tasks: Range<u64>, n_right: u64) {
        self.n_right += n_right;
    }
}

/// Most memory that this process has used, in bytes.
fn peak_bytes() -> f64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let peak = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
    let kib = peak.and_then(|peak| peak.trim().strip_suffix(" kB")?.parse().ok());
    1024.0 * kib.unwrap_or(f64::INFINITY)
}

pub(crate) fn shared(options: Options) -> Result<(), Error> {
    let program = Shared { n_bytes: 40_000_000, n_right: 0 };
    let (n_bytes, before) = (program.n_bytes as f64, peak_bytes());
    if let Some(outcome) = outcome(program, options)? {
        let n_copies = (peak_bytes() - before) / n_bytes;
        say(&format!("{} of 16 are right with {n_copies:.2} copies", outcome.program.n_right));
    }
    Ok(())
}

/// Program that sums over ten million tasks, in several iterations.
#[derive(Clone, Debug)]
struct Many {
    sum: u64,
}

impl Program for Many {
    type Shared = ();
    type Input = ();
    type Output = u64;

    fn next(&mut self, iteration: u64) -> Option<Iteration<()>> {
        (iteration < 3).then(|| Iteration::new(10_000_000, ()))
    }

    fn input(&self, _tasks: Range<u64>) {}

    fn work(&self, (): &(), tasks: Range<u64>, (): ()) -> u64 {
        tasks.sum()
    }

    fn recover(&mut self, _tasks: Range<u64>, sum: u64) {
        self.sum += sum;
    }
}

pub(crate) fn many(options: Options) -> Result<(), Error> {
    if let Some(outcome) = outcome(Many { sum: 0 }, options)? {
        say(&format!("the sum is {}", outcome.program.sum));
    }
    Ok(())
}

/// Type that can be written but not read again: postcard does not store which variant follows.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(untagged)]
enum Untagged {
    Number(u64),
    Text(String),
}

pub(crate) fn unreadable(options: Options) -> Result<(), Error> {
    let items = vec![Untagged::Number(1), Untagged::Text("two".to_owned())];
    master_worker::map(items, options, |item| item)?;
    Ok(())
}
