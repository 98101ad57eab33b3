//! Time that a chunk costs beside computing.

use std::collections::VecDeque;

/// Number of newest chunks remembered, across iterations.
const N_NEWEST: usize = 32;
/// One of this many chunks, the most expensive, is left out.
const N_FOR_ONE_LEFT_OUT: usize = 4;
/// Number of chunks between two updates of the mean.
const N_BETWEEN: u32 = 8;

/// Mean overhead of the newest chunks without the most expensive quarter, whose chunks waited for something
/// else, such as a worker that was just starting.
#[derive(Debug, Default)]
pub(super) struct Overhead {
    newest_s: VecDeque<f64>,
    usual_s: f64,
    n_since: u32,
}

impl Overhead {
    pub(super) fn add(&mut self, overhead_s: f64) {
        if self.newest_s.len() == N_NEWEST {
            self.newest_s.pop_front();
        }
        self.newest_s.push_back(overhead_s);
        self.n_since += 1;
        if self.newest_s.len() < N_NEWEST || N_BETWEEN <= self.n_since {
            self.n_since = 0;
            self.usual_s = without_dearest(self.newest_s.iter().copied().collect());
        }
    }

    /// Returns the usual overhead, in seconds; `None` before the first chunk.
    pub(super) fn usual_s(&self) -> Option<f64> {
        (!self.newest_s.is_empty()).then_some(self.usual_s)
    }
}

fn without_dearest(mut chunks_s: Vec<f64>) -> f64 {
    chunks_s.sort_by(f64::total_cmp);
    let n_left_out = chunks_s.len().div_ceil(N_FOR_ONE_LEFT_OUT);
    let n_kept = (chunks_s.len() - n_left_out).max(1);
    chunks_s[..n_kept].iter().sum::<f64>() / n_kept as f64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check_overhead(chunks_s: &[f64], expected: Option<f64>) {
        let mut overhead = Overhead::default();
        chunks_s.iter().for_each(|chunk_s| overhead.add(*chunk_s));
        assert_eq!(overhead.usual_s(), expected);
    }

    #[test]
    fn the_dearest_quarter_does_not_count() {
        check_overhead(&[], None);
        check_overhead(&[9.0], Some(9.0));
        check_overhead(&[9.0, 1.0], Some(1.0));
        check_overhead(&[9.0, 1.0, 3.0], Some(2.0));
        check_overhead(&[1.0, 9.0, 3.0, 2.0], Some(2.0));
        check_overhead(&[1.0, 9.0, 3.0, 8.0, 2.0], Some(2.0));
    }

    #[test]
    fn what_is_long_past_does_not_count() {
        check_overhead(&[[5.0; 40], [1.0; 40]].concat(), Some(1.0));
    }
}
