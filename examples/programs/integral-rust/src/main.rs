//! A program of a master and workers: the area below sin(1/x) from 0.001 to 1, ever more precisely.
//!
//! What is to be replaced by what you compute is marked `YOURS`: the data, and seven functions. Tasks are numbers
//! from 0 on; here each is one of many equal intervals, from 1 downwards. Those near 0 take much longer: an equal
//! number for each worker would leave most of them waiting, so the library deals them as they come. What is dear comes
//! last, when chunks are small.

use master_worker::{BoxError, Element, Error, Iteration, IterationReport, MessageError, Options};
use master_worker::{Plain, Program, Report, from_bytes, to_bytes};
use std::ops::Range;

const N_ITERATIONS: u64 = 5;
const N_INTERVALS: u64 = 20_000;
const START: f64 = 0.001;
const END: f64 = 1.0;

/// YOURS: the result of a task, as it travels from a worker to the master.
///
/// A struct of numbers derives `Element` and is sent as it lies in memory. Other types derive serde's `Serialize` and
/// `Deserialize` and are sent packed, alone or in a `Vec`: no `Plain` then.
#[derive(Clone, Copy, Debug, Default, PartialEq, Element)]
#[repr(C)]
struct Part {
    area: f64,
    n_evaluations: u64,
}

/// YOURS: what the master knows. Each worker has a copy, as it was at the start.
#[derive(Clone, Debug)]
struct Job {
    parts: Vec<Part>,
    /// The whole area, after each iteration.
    areas: Vec<f64>,
}

impl Job {
    /// YOURS, 1 of 7, master initialize: before the first iteration.
    fn new() -> Self {
        Self { parts: vec![Part::default(); N_INTERVALS as usize], areas: Vec::new() }
    }
}

impl Program for Job {
    /// YOURS: what all workers get at the start of an iteration; here the largest error of an interval.
    type Shared = f64;
    /// YOURS: what goes to a worker with its tasks; here their numbers say it all.
    type Input = ();
    /// YOURS: what comes back for them.
    type Output = Plain<Part>;

    /// YOURS, 2 of 7, worker initialize: before its first tasks. Open files and make tables here.
    fn enter(&mut self, _rank: u32) {}

    /// YOURS, 3 of 7, master partition: how many tasks the next iteration has; `None` after the last one.
    fn next(&mut self, iteration: u64) -> Option<Iteration<f64>> {
        let error_max = 1e-9 * 0.1_f64.powi(iteration as i32);
        (iteration < N_ITERATIONS).then(|| Iteration::new(N_INTERVALS, error_max))
    }

    /// What goes with some tasks; a part of the partition.
    fn input(&self, _tasks: Range<u64>) {}

    /// YOURS, 4 of 7, worker do work: computes some tasks. They may be computed again on another rank.
    fn work(&self, error_max: &f64, tasks: Range<u64>, (): ()) -> Plain<Part> {
        tasks.map(|task| integrate(task, *error_max)).collect()
    }

    /// YOURS, 5 of 7, master recover: takes results, in any order; put them where their tasks are.
    fn recover(&mut self, tasks: Range<u64>, parts: Plain<Part>) {
        self.parts[tasks.start as usize..tasks.end as usize].copy_from_slice(&parts);
    }

    /// What follows from all results of an iteration; a part of recover.
    fn end_iteration(&mut self, _report: &IterationReport) {
        // The sum is made here, in the order of the tasks: so it is the same on any number of ranks.
        self.areas.push(self.parts.iter().map(|part| part.area).sum());
    }

    /// YOURS, 6 of 7, worker final work: there will be no more tasks. Close files here.
    fn leave(&mut self) {}

    /// YOURS, 7 of 7, master final work: after the last iteration.
    fn finish(&mut self, _report: &Report) -> Result<(), BoxError> {
        let n_evaluations: u64 = self.parts.iter().map(|part| part.n_evaluations).sum();
        for (iteration, area) in self.areas.iter().enumerate() {
            println!("iteration {iteration}: area {area:.15}");
        }
        println!("{n_evaluations} evaluations in the last one");
        Ok(())
    }

    /// What `--checkpoint FILE` writes after each iteration.
    fn save(&self) -> Result<Option<Vec<u8>>, MessageError> {
        let (areas, parts) = (Plain::from(&self.areas[..]), Plain::from(&self.parts[..]));
        let saved = (to_bytes(&areas)?, to_bytes(&parts)?);
        to_bytes(&saved).map(Some)
    }

    /// What `--resume` reads.
    fn restore(&mut self, saved: &[u8]) -> Result<(), BoxError> {
        let (areas, parts): (Vec<u8>, Vec<u8>) = from_bytes(saved)?;
        self.areas = from_bytes::<Plain<f64>>(&areas)?.into_vec();
        self.parts = from_bytes::<Plain<Part>>(&parts)?.into_vec();
        Ok(())
    }
}

/// The area of an interval.
fn integrate(task: u64, error_max: f64) -> Part {
    let width = (END - START) / N_INTERVALS as f64;
    let from = END - (task + 1) as f64 * width;
    let mut part = Part::default();
    part.area = part.refined(from, from + width, error_max);
    part
}

impl Part {
    /// The trapezoid; where its halves tell another area, those of their own halves.
    fn refined(&mut self, from: f64, to: f64, error_max: f64) -> f64 {
        let middle = (from + to) / 2.0;
        let halves = self.trapezoid(from, middle) + self.trapezoid(middle, to);
        if (self.trapezoid(from, to) - halves).abs() <= 3.0 * error_max {
            return halves;
        }
        self.refined(from, middle, error_max / 2.0) + self.refined(middle, to, error_max / 2.0)
    }

    fn trapezoid(&mut self, from: f64, to: f64) -> f64 {
        self.n_evaluations += 2;
        (to - from) / 2.0 * (height(from) + height(to))
    }
}

fn height(x: f64) -> f64 {
    (1.0 / x).sin()
}

fn main() -> Result<(), Error> {
    let (options, others) = Options::parse(std::env::args().skip(1));
    // YOURS: arguments of your own come out here; what nobody knows is a slip of the pen.
    match others.first().map(String::as_str) {
        None => master_worker::run(Job::new(), options),
        Some("--help") => {
            print!("{}", Options::HELP);
            Ok(())
        }
        Some(other) => {
            eprintln!("`{other}` is no option of this program; `--help` lists them");
            std::process::exit(2)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// On threads, the master's included.
    fn areas(n_threads: u32) -> Vec<f64> {
        let outcome = master_worker::outcome(Job::new(), Options::new().threads(n_threads));
        outcome.expect("the run ends well").expect("threads have a master").program.areas
    }

    #[test]
    fn the_area_is_known() {
        let area = areas(3).pop().expect("an iteration");
        // sin 1 - sin(1000) / 1000 + Ci 1000 - Ci 1
        assert!((area - 0.504_066_497_877_487).abs() < 1e-9, "{area}");
    }

    #[test]
    fn any_number_of_workers_gives_the_same() {
        assert_eq!(areas(1), areas(4));
    }
}
