//! Mean and deviation of the computing time per task, from chunks.

use std::collections::VecDeque;

/// Computing time per task: mean and standard deviation.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Spread {
    /// Mean, in seconds.
    pub mean_s: f64,
    /// Standard deviation, in seconds.
    pub deviation_s: f64,
}

impl Spread {
    /// Computes it from chunks of (tasks, computing time in seconds): see [`WeightedMoments::spread`].
    pub fn of_chunks(chunks: impl Iterator<Item = (f64, f64)>) -> Self {
        let mut moments = WeightedMoments::default();
        chunks.for_each(|(n_tasks, compute_s)| moments.add(n_tasks, compute_s));
        moments.spread()
    }

    /// Returns `sigma / mu`; 0 when nothing was computed.
    pub fn relative(&self) -> f64 {
        if 0.0 < self.mean_s { self.deviation_s / self.mean_s } else { 0.0 }
    }
}

/// Mean and sum of squares of the chunks' times per task, each weighted by the chunk's tasks; accumulated
/// as in West (1979), so that equal chunks have exactly no deviation.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct WeightedMoments {
    n_chunks: f64,
    n_tasks: f64,
    mean_s: f64,
    squares: f64,
}

impl WeightedMoments {
    /// Adds a chunk. A chunk without tasks or with a time that is not finite is ignored.
    pub fn add(&mut self, n_tasks: f64, compute_s: f64) {
        let task_s = compute_s / n_tasks;
        if 0.0 < n_tasks && task_s.is_finite() {
            self.merge(&Self { n_chunks: 1.0, n_tasks, mean_s: task_s, squares: 0.0 });
        }
    }

    /// Adds the chunks of `other`.
    pub fn merge(&mut self, other: &Self) {
        let n_tasks = self.n_tasks + other.n_tasks;
        if n_tasks <= 0.0 {
            return;
        }
        let apart_s = other.mean_s - self.mean_s;
        let share = other.n_tasks / n_tasks;
        self.squares += other.squares + apart_s * apart_s * self.n_tasks * share;
        self.mean_s += apart_s * share;
        self.n_tasks = n_tasks;
        self.n_chunks += other.n_chunks;
    }

    /// Returns whether there are no chunks.
    pub fn is_empty(&self) -> bool {
        self.n_chunks <= 0.0
    }

    /// Returns the mean over all tasks, and the deviation of the chunks' times per task from it, as DAF
    /// defines it: the tasks of a chunk count as equal.
    pub fn spread(&self) -> Spread {
        if self.is_empty() {
            return Spread::default();
        }
        Spread { mean_s: self.mean_s, deviation_s: (self.squares / self.n_tasks).sqrt() }
    }

    /// Returns the mean over all tasks, and the deviation of a single task as FSC and FAC define it, where
    /// tasks are independent: then the time per task of a chunk of `k` tasks deviates by `1/sqrt(k)` of
    /// that only. `None` before there are two chunks.
    pub fn spread_of_tasks(&self) -> Option<Spread> {
        let n_others = self.n_chunks - 1.0;
        (0.5 < n_others)
            .then(|| Spread { mean_s: self.mean_s, deviation_s: (self.squares / n_others).sqrt() })
    }
}

/// Window of the newest iterations.
#[derive(Clone, Debug)]
pub(crate) struct Window {
    n_max: usize,
    iterations: VecDeque<WeightedMoments>,
    /// All iterations of the window together.
    all: WeightedMoments,
}

impl Window {
    pub(crate) fn new(n_iterations: usize) -> Self {
        Self {
            n_max: n_iterations.max(1),
            iterations: VecDeque::new(),
            all: WeightedMoments::default(),
        }
    }

    /// Begins an iteration; drops the oldest one when there are too many. An iteration without chunks is
    /// reused.
    pub(crate) fn begin(&mut self) {
        if self.iterations.back().is_none_or(|last| !last.is_empty()) {
            self.iterations.push_back(WeightedMoments::default());
        }
        if self.n_max < self.iterations.len() {
            self.iterations.pop_front();
            self.all = WeightedMoments::default();
            self.iterations.iter().for_each(|iteration| self.all.merge(iteration));
        }
    }

    /// Adds a chunk of the current iteration.
    pub(crate) fn add(&mut self, n_tasks: u64, compute_s: f64) {
        if self.iterations.is_empty() {
            self.begin();
        }
        if let Some(last) = self.iterations.back_mut() {
            last.add(n_tasks as f64, compute_s);
        }
        self.all.add(n_tasks as f64, compute_s);
    }

    /// Returns whether no iteration has ended yet.
    pub(crate) fn is_first(&self) -> bool {
        self.iterations.len() <= 1
    }

    /// Returns the moments of all chunks in the window.
    pub(crate) fn moments(&self) -> WeightedMoments {
        self.all
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(chunks: &[(f64, f64)], spread: (f64, f64), task_deviation_s: Option<f64>) {
        let mut moments = WeightedMoments::default();
        chunks.iter().for_each(|(n_tasks, compute_s)| moments.add(*n_tasks, *compute_s));
        let found = moments.spread();
        assert!((found.mean_s - spread.0).abs() < 1e-12, "{found:?}");
        assert!((found.deviation_s - spread.1).abs() < 1e-12, "{found:?}");
        let of_tasks = moments.spread_of_tasks().map(|spread| spread.deviation_s);
        assert_eq!(of_tasks.is_some(), task_deviation_s.is_some());
        let apart_s = of_tasks.unwrap_or(0.0) - task_deviation_s.unwrap_or(0.0);
        assert!(apart_s.abs() < 1e-12, "{of_tasks:?}");
    }

    #[test]
    fn chunks_count_by_their_tasks() {
        check(&[], (0.0, 0.0), None);
        check(&[(10.0, 10.0)], (1.0, 0.0), None);
        check(&[(10.0, 1.0), (20.0, 2.0)], (0.1, 0.0), Some(0.0));
        check(&[(10.0, 10.0), (10.0, 30.0)], (2.0, 1.0), Some(20.0_f64.sqrt()));
        check(
            &[(0.0, 5.0), (10.0, f64::NAN), (30.0, 30.0), (10.0, 50.0)],
            (2.0, 3.0_f64.sqrt()),
            Some(120.0_f64.sqrt()),
        );
    }

    #[test]
    fn iterations_that_are_long_past_are_forgotten() {
        let mut window = Window::new(2);
        for task_s in [8.0, 1.0, 3.0] {
            window.begin();
            window.begin();
            window.add(10, 10.0 * task_s);
        }
        assert!((window.moments().spread().mean_s - 2.0).abs() < 1e-12);
    }
}
