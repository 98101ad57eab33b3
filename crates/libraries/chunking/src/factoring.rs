//! `fac`: factoring with known mean and deviation.
//!
//! Batches of `N` chunks of `R/(x*N)` tasks; with `b = N/(2*sqrt(R)) * sigma/mu`,
//! `x_0 = 1 + b^2 + b*sqrt(b^2 + 2)` for the first batch and `x_j = 2 + b^2 + b*sqrt(b^2 + 4)` for later ones.
//! Mean and deviation that are not given are measured; until then `x` is 2.

use crate::policy::{ChunkRequest, Completed, Policy, Settings, Work};
use crate::registry::PolicySpec;
use crate::rounding;
use crate::spread::Window;

pub(crate) const SPEC: PolicySpec = PolicySpec {
    name: "fac",
    sentence: "factoring: batches of equal chunks, their share from the spread of tasks",
    source: "Hummel, Schonberg and Flynn, Communications of the ACM 35(8), 1992",
    assumes_known: true,
    make: |settings| Box::new(Factoring::new(settings)),
};

#[derive(Debug)]
struct Factoring {
    settings: Settings,
    measured: Window,
    n_tasks: u64,
    n_chunks: u32,
    is_first: bool,
}

impl Factoring {
    fn new(settings: &Settings) -> Self {
        let measured = Window::new(settings.n_iterations);
        Self { settings: *settings, measured, n_tasks: 1, n_chunks: 0, is_first: true }
    }

    fn divisor(&self, request: &ChunkRequest) -> f64 {
        let known = self.settings.spread.or_else(|| self.measured.moments().spread_of_tasks());
        let Some(spread) = known else { return 2.0 };
        let n_left = request.n_left as f64;
        let b = f64::from(request.n_workers) / (2.0 * n_left.sqrt()) * spread.relative();
        if self.is_first { first_divisor(b) } else { later_divisor(b) }
    }
}

fn first_divisor(b: f64) -> f64 {
    1.0 + b * b + b * (b * b + 2.0).sqrt()
}

fn later_divisor(b: f64) -> f64 {
    2.0 + b * b + b * (b * b + 4.0).sqrt()
}

impl Policy for Factoring {
    fn begin(&mut self, work: &Work) {
        self.measured.begin();
        self.is_first = true;
        self.restart(work);
    }

    fn restart(&mut self, _: &Work) {
        self.n_chunks = 0;
    }

    fn next(&mut self, request: &ChunkRequest) -> u64 {
        if self.n_chunks == 0 {
            let share = request.n_left as f64 / self.divisor(request);
            let n_tasks = rounding::up(share / f64::from(request.n_workers), request.n_left);
            self.n_tasks = n_tasks.max(self.settings.n_tasks_min);
            self.n_chunks = request.n_workers;
            self.is_first = false;
        }
        self.n_chunks -= 1;
        self.n_tasks
    }

    fn completed(&mut self, done: &Completed) {
        self.measured.add(done.n_tasks, done.compute_s);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn without_spread_the_first_batch_takes_all_and_later_ones_half() {
        assert!((first_divisor(0.0) - 1.0).abs() < 1e-12);
        assert!((later_divisor(0.0) - 2.0).abs() < 1e-12);
        assert!((first_divisor(1.0) - (2.0 + 3.0_f64.sqrt())).abs() < 1e-12);
        assert!((later_divisor(1.0) - (3.0 + 5.0_f64.sqrt())).abs() < 1e-12);
    }
}
