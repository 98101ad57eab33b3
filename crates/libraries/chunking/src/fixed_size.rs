//! `fsc`: fixed-size chunking.
//!
//! The chunk `(sqrt(2)*M*h / (sigma*N*sqrt(ln N)))^(2/3)` weighs the overhead of chunks (`h` each) against
//! the lateness of the last of `N` (`sigma` per task). Values that are not given are measured; until then a
//! worker's part is dealt in [`N_PARTS`] chunks.

use crate::policy::{ChunkRequest, Completed, Policy, Settings, Work};
use crate::registry::PolicySpec;
use crate::rounding;
use crate::spread::{Spread, Window};

/// Chunks per worker before the first measurement.
const N_PARTS: u64 = 8;

pub(crate) const SPEC: PolicySpec = PolicySpec {
    name: "fsc",
    sentence: "fixed-size chunking: equal chunks, from the cost of a chunk and the spread of tasks",
    source: "Kruskal and Weiss, IEEE Transactions on Software Engineering SE-11(10), 1985",
    assumes_known: true,
    make: |settings| Box::new(FixedSize::new(settings)),
};

#[derive(Debug)]
struct FixedSize {
    settings: Settings,
    measured: Window,
    overhead_s: f64,
    n_overheads: f64,
    n_tasks: u64,
}

impl FixedSize {
    fn new(settings: &Settings) -> Self {
        Self {
            settings: *settings,
            measured: Window::new(settings.n_iterations),
            overhead_s: 0.0,
            n_overheads: 0.0,
            n_tasks: 1,
        }
    }

    fn known(&self) -> Option<(f64, Spread)> {
        let measured = || (0.0 < self.n_overheads).then(|| self.overhead_s / self.n_overheads);
        let overhead_s = self.settings.overhead_s.or_else(measured)?;
        let spread = self.settings.spread;
        Some((overhead_s, spread.or_else(|| self.measured.moments().spread_of_tasks())?))
    }
}

/// Returns the chunk size for `M` tasks, `N` workers, `h` and `sigma`; infinite where tasks do not differ.
fn size(n_tasks: f64, n_workers: f64, overhead_s: f64, deviation_s: f64) -> f64 {
    let late_s = deviation_s * n_workers * n_workers.ln().sqrt();
    if late_s <= 0.0 {
        return f64::INFINITY;
    }
    (std::f64::consts::SQRT_2 * n_tasks * overhead_s / late_s).powf(2.0 / 3.0)
}

impl Policy for FixedSize {
    fn begin(&mut self, work: &Work) {
        self.measured.begin();
        self.restart(work);
    }

    fn restart(&mut self, left: &Work) {
        let n_workers = u64::from(left.n_workers.max(1));
        let part = left.n_tasks.div_ceil(n_workers);
        let n_tasks = match self.known() {
            Some((overhead_s, spread)) => {
                let all = (left.n_tasks as f64, n_workers as f64);
                rounding::up(size(all.0, all.1, overhead_s, spread.deviation_s), part)
            }
            None => left.n_tasks.div_ceil(N_PARTS * n_workers),
        };
        self.n_tasks = n_tasks.max(self.settings.n_tasks_min);
    }

    fn next(&mut self, _: &ChunkRequest) -> u64 {
        self.n_tasks
    }

    fn completed(&mut self, done: &Completed) {
        self.measured.add(done.n_tasks, done.compute_s);
        self.overhead_s += done.overhead_s;
        self.n_overheads += 1.0;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(overhead_s: f64, deviation_s: f64, expected: f64) {
        let found = size(1000.0, 4.0, overhead_s, deviation_s);
        assert!((found - expected).abs() <= 1e-3 || found.total_cmp(&expected).is_eq(), "{found}");
    }

    #[test]
    fn chunks_grow_with_their_cost_and_shrink_with_the_spread() {
        // (1.41421 * 1000 * 0.1 / (1 * 4 * 1.17741))^(2/3) = 30.0281^(2/3).
        check(0.1, 1.0, 9.6609);
        check(0.8, 1.0, 4.0 * 9.66093);
        check(0.1, 8.0, 9.66093 / 4.0);
        check(0.1, 0.0, f64::INFINITY);
    }
}
