//! Heat spreads along a rod; the ranks that compute may change at any time, without changing the result.
//!
//! `mpirun -n 2 rod --rows 1000 --until 100 --schedule 10:4,20:8,30:2`

#![expect(clippy::print_stdout, reason = "a program that says its result")]

use malleable::{Comm, Cut, Data, Error, Malleable, MpiError, Options, State, Step};
use std::sync::Arc;

/// Part of the rod.
#[derive(Default)]
struct Rod {
    n_rows: u64,
    until: u64,
    /// Conductivity of each piece.
    conducts: Arc<[f64]>,
    heat: Vec<f64>,
    /// Number of iterations done, the same on all ranks.
    n_done: u64,
    /// Communicator for the exchange with neighbors, made anew for each size.
    links: Option<Comm>,
}

impl State for Rod {
    fn data<'a>(&'a mut self, data: &mut Data<'a>) {
        let n_rows = self.n_rows;
        data.constant("rows", &mut self.n_rows);
        data.constant("until", &mut self.until);
        data.variable("done", &mut self.n_done);
        data.rows_of(n_rows, Cut::Even);
        data.constant_rows("conducts", &mut self.conducts);
        data.rows("heat", &mut self.heat);
    }

    fn size_begins(&mut self, comm: &Comm) -> Result<(), MpiError> {
        self.links = Some(comm.duplicate()?);
        Ok(())
    }

    fn size_ends(&mut self, _comm: &Comm) -> Result<(), MpiError> {
        self.links.take().map_or(Ok(()), Comm::free)
    }
}

impl Rod {
    fn new(n_rows: u64, until: u64, comm: &Comm) -> Self {
        let (rank, size) = (u64::from(comm.rank()), u64::from(comm.size()));
        let first = |rank: u64| rank * (n_rows / size) + rank.min(n_rows % size);
        let rows = first(rank)..first(rank + 1);
        let conducts = rows.clone().map(|row| 1.0 / ((row % 7) as f64 + 3.0)).collect();
        let heat = rows.map(|row| ((row * 37) % 101) as f64).collect();
        Self { n_rows, until, conducts, heat, n_done: 0, links: None }
    }

    fn step(&mut self) -> Result<Step, Error> {
        let comm = self.links.as_ref().expect("a size has begun");
        let (rank, size) = (comm.rank(), comm.size());
        let (left, right) = (rank.checked_sub(1), Some(rank + 1).filter(|next| *next < size));
        let (first, last) = (self.heat[0], self.heat[self.heat.len() - 1]);
        let (beyond_left, beyond_right) = exchange(comm, (left, first), (last, right))?;
        let old = self.heat.clone();
        for (at, heat) in self.heat.iter_mut().enumerate() {
            let here = old[at];
            let left = if at == 0 { beyond_left.unwrap_or(here) } else { old[at - 1] };
            let right = old.get(at + 1).copied().unwrap_or(beyond_right.unwrap_or(here));
            *heat = here + self.conducts[at] * (left - 2.0 * here + right);
        }
        self.n_done += 1;
        Ok(if self.n_done < self.until { Step::Continue } else { Step::Done })
    }

    /// Hash of the rod that does not depend on which ranks hold which parts.
    fn digest(&self, comm: &Comm) -> Result<Option<u64>, Error> {
        let counts = comm.allgather(&[self.heat.len()])?;
        let mut all = vec![0.0; counts.iter().sum()];
        comm.allgather_rows(&self.heat, &counts, &mut all)?;
        let mix = |mixed: u64, heat: &f64| (mixed ^ heat.to_bits()).wrapping_mul(0x0100_0000_01b3);
        Ok((comm.rank() == 0).then(|| all.iter().fold(0, mix)))
    }
}

/// Exchanges the values at both ends with the neighbors there.
fn exchange(
    comm: &Comm,
    (left, first): (Option<u32>, f64),
    (last, right): (f64, Option<u32>),
) -> Result<(Option<f64>, Option<f64>), Error> {
    let (mut of_left, mut of_right) = ([0.0], [0.0]);
    if let Some(left) = left {
        comm.send(&[first], left, 1)?;
    }
    if let Some(right) = right {
        comm.receive(&mut of_right, right, 1)?;
        comm.send(&[last], right, 2)?;
    }
    if let Some(left) = left {
        comm.receive(&mut of_left, left, 2)?;
    }
    Ok((left.map(|_| of_left[0]), right.map(|_| of_right[0])))
}

fn main() -> Result<(), Error> {
    let (options, words) = Options::from_args_and_rest();
    let number = |name: &str, default: u64| {
        let place = words.iter().position(|word| word == name);
        place.and_then(|at| words.get(at + 1)?.parse().ok()).unwrap_or(default)
    };
    let mut run = Malleable::begin(options)?;
    let mut rod = match run.is_new() {
        true => Rod::default(),
        false => Rod::new(number("--rows", 1000), number("--until", 100), run.comm()),
    };
    // Extra time of an iteration: a part that every rank takes, one divided among the ranks, and one for each rank; all of
    // them a number of times longer while a file exists.
    let (pause_us, work_us, each_us) =
        (number("--pause-us", 0), number("--work-us", 0), number("--each-us", 0));
    let load = words.iter().position(|word| word == "--load").and_then(|at| words.get(at + 1));
    let times = number("--load-times", 2);
    let panic_at = number("--panic-at", u64::MAX);
    let step = run.iterate(&mut rod, |rod, _iteration, comm| {
        let size = u64::from(comm.size());
        let is_slow = load.is_some_and(|file| std::path::Path::new(file).exists());
        let times = if is_slow { times } else { 1 };
        let pause_us = times * (pause_us + work_us / size + each_us * size);
        std::thread::sleep(std::time::Duration::from_micros(pause_us));
        assert!(rod.n_done != panic_at || comm.rank() + 1 < comm.size(), "the last rank gives up");
        rod.step()
    })?;
    if step == Step::Left {
        return Ok(());
    }
    let digest = rod.digest(run.comm())?;
    run.finish()?;
    if let Some(digest) = digest {
        println!("digest {digest:016x} after {} iterations", rod.n_done);
        for resize in run.resizes() {
            println!(
                "resize {} -> {}: {:?}: {}",
                resize.from, resize.to, resize.outcome, resize.sentence
            );
        }
    }
    Ok(())
}
