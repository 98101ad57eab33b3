//! Speed of each worker, from its chunks, as adaptive weighted factoring defines it.

use std::collections::BTreeMap;

/// Chunks of all workers, for weighted factoring (Cariño and Banicescu 2008).
///
/// The weighted average performance of a worker is `sum(k*t_k) / sum(k*n_k)` over its chunks `k = 1, 2 ...`
/// of `n_k` tasks in `t_k` seconds: later chunks count more.
#[derive(Clone, Debug, Default)]
pub(crate) struct Performance {
    workers: BTreeMap<u32, Past>,
}

#[derive(Clone, Copy, Debug, Default)]
struct Past {
    n_chunks: f64,
    time_s: f64,
    n_tasks: f64,
}

impl Performance {
    pub(crate) fn add(&mut self, worker: u32, n_tasks: u64, compute_s: f64) {
        if n_tasks == 0 || !(0.0 < compute_s && compute_s.is_finite()) {
            return;
        }
        let past = self.workers.entry(worker).or_default();
        past.n_chunks += 1.0;
        past.time_s += past.n_chunks * compute_s;
        past.n_tasks += past.n_chunks * n_tasks as f64;
    }

    pub(crate) fn forget(&mut self, worker: u32) {
        self.workers.remove(&worker);
    }

    /// Returns the speed of each worker over the mean speed of those known.
    pub(crate) fn weights(&self) -> BTreeMap<u32, f64> {
        let speeds =
            self.workers.iter().map(|(&worker, past)| (worker, past.n_tasks / past.time_s));
        let mut weights: BTreeMap<u32, f64> = speeds.collect();
        let mean = weights.values().sum::<f64>() / weights.len() as f64;
        weights.values_mut().for_each(|weight| *weight /= mean);
        weights
    }
}

/// Returns the weight of a worker; 1 while its speed is not known.
pub(crate) fn weight(weights: &BTreeMap<u32, f64>, worker: u32) -> f64 {
    weights.get(&worker).copied().unwrap_or(1.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn later_chunks_count_more() {
        let mut performance = Performance::default();
        performance.add(0, 10, 10.0);
        performance.add(1, 10, 10.0);
        performance.add(1, 10, 40.0);
        // Worker 1: (1*10 + 2*40) / (1*10 + 2*10) = 3 s per task, worker 0: 1 s.
        let weights = performance.weights();
        assert!((weight(&weights, 0) - 1.5).abs() < 1e-12);
        assert!((weight(&weights, 1) - 0.5).abs() < 1e-12);
        assert!((weight(&weights, 2) - 1.0).abs() < 1e-12);
        performance.forget(1);
        assert!((weight(&performance.weights(), 0) - 1.0).abs() < 1e-12);
    }
}
