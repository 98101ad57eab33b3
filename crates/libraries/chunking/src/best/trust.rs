//! Whether the costs that were learnt are those of the present iteration.

/// Numbers of chunks after which the profile is looked at again grow by this factor.
const AGAIN: usize = 2;
/// Fewest chunks that can refute a profile.
const N_CHUNKS_MIN: usize = 8;
/// Logarithm of the factor by which all tasks may have become dearer or cheaper.
const SHIFT_MAX: f64 = 0.5;
/// Deviation of the logarithm of a cost from the profile's, below which it is right.
const NEAR: f64 = 0.3;
/// Above this share of the deviation that the costs have anyway, it is wrong.
const SHARE_MAX: f64 = 0.6;
/// Largest number of chunks looked at.
const N_CHUNKS_MAX: usize = 1 << 14;

/// Measured costs beside those of a profile.
#[derive(Debug, Default)]
pub(super) struct Trust {
    /// Logarithm of the measured cost over the expected one, of each chunk.
    apart: Vec<f64>,
    /// Logarithm of the measured cost of a task of each.
    logs: Vec<f64>,
    n_at_next_look: usize,
}

impl Trust {
    pub(super) fn begin(&mut self) {
        self.apart.clear();
        self.logs.clear();
        self.n_at_next_look = N_CHUNKS_MIN;
    }

    pub(super) fn add(&mut self, expected_s: f64, cost_s: f64, n_tasks: u64) {
        let apart = (cost_s / expected_s).ln();
        if apart.is_finite() && self.apart.len() < N_CHUNKS_MAX {
            self.apart.push(apart);
            self.logs.push((cost_s / n_tasks as f64).ln());
        }
    }

    /// Returns whether the chunks so far refute the profile, whose costs have this deviation of their logarithms; now and
    /// then, otherwise false.
    pub(super) fn is_refuted(&mut self, deviation: f64) -> bool {
        if self.apart.len() < self.n_at_next_look {
            return false;
        }
        self.n_at_next_look *= AGAIN;
        let (middle, apart) = middle_and_deviation(&self.apart);
        SHIFT_MAX < middle.abs() || NEAR.max(SHARE_MAX * deviation) < apart
    }

    /// Returns whether the profile was right about all chunks of the iteration; `None` where it had too few.
    pub(super) fn was_right(&self) -> Option<bool> {
        if self.apart.len() < N_CHUNKS_MIN {
            return None;
        }
        let (_, apart) = middle_and_deviation(&self.apart);
        let (_, anyway) = middle_and_deviation(&self.logs);
        Some(apart <= NEAR.max(SHARE_MAX * anyway))
    }
}

/// Median, and a deviation that a third of outliers does not change much.
pub(super) fn middle_and_deviation(values: &[f64]) -> (f64, f64) {
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    let Some(last) = sorted.len().checked_sub(1) else { return (0.0, 0.0) };
    let at = |percent: usize| sorted[last * percent / 100];
    // 35 and 65 % of a normal distribution are 0.77 deviations apart, 10 and 90 % are 2.56.
    (at(50), ((at(65) - at(35)) / 0.77).max((at(90) - at(10)) / 2.56 - NEAR))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Whether these costs refute a profile of single tasks, at once and at the end.
    #[track_caller]
    fn check(chunks: impl Iterator<Item = (f64, f64)>, deviation: f64, refuted: bool, right: bool) {
        let mut trust = Trust::default();
        trust.begin();
        let mut is_refuted = false;
        for (expected_s, cost_s) in chunks {
            trust.add(expected_s, cost_s, 1);
            is_refuted |= trust.is_refuted(deviation);
        }
        assert_eq!((is_refuted, trust.was_right()), (refuted, Some(right)));
    }

    #[test]
    fn costs_that_are_others_are_noticed() {
        let costs_s = |task: u32| if task < 20 { 100.0 } else { 1.0 };
        let jitter = |task: u32| 1.0 + 0.1 * f64::from(task % 3);
        check((0..99).map(|task| (costs_s(task), costs_s(task) * jitter(task))), 1.0, false, true);
        check((0..99).map(|task| (costs_s(task), costs_s(99 - task))), 1.0, true, false);
        // One of three workers has become four times as slow.
        let slow = |task: u32| if task.is_multiple_of(3) { 4.0 } else { 1.0 };
        check((0..99).map(|task| (1.0, slow(task))), 0.0, false, true);
    }
}
