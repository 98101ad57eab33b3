//! State of the node over the last hour, in steps that grow with the age.
//!
//! # Invariants
//! - Bounded: [`N_SAMPLES_MAX`] samples of each step.

use std::collections::VecDeque;
use task_api::HistorySample;

/// Times between two samples, in ms: those of the last two minutes, ten minutes, and the last hour.
const STEPS_MS: [u64; 3] = [1_000, 5_000, 30_000];
/// Most samples of each step.
const N_SAMPLES_MAX: usize = 120;

/// Samples of each step, oldest first.
#[derive(Debug, Default)]
pub(super) struct NodeHistory {
    levels: [VecDeque<HistorySample>; STEPS_MS.len()],
}

impl NodeHistory {
    /// Returns whether the next sample is due.
    pub(super) fn is_due(&self, now_ms: u64) -> bool {
        let last = self.levels[0].back();
        last.is_none_or(|last| STEPS_MS[0] <= now_ms.abs_diff(last.at_ms))
    }

    /// Adds a sample where it is due.
    pub(super) fn add(&mut self, sample: HistorySample) {
        for (level, step_ms) in self.levels.iter_mut().zip(STEPS_MS) {
            // The clock was set back.
            while level.back().is_some_and(|last| sample.at_ms < last.at_ms) {
                level.pop_back();
            }
            if level.back().is_none_or(|last| step_ms <= sample.at_ms - last.at_ms) {
                level.push_back(sample);
            }
            let n_excess = level.len().saturating_sub(N_SAMPLES_MAX);
            level.drain(..n_excess);
        }
    }

    /// All samples, oldest first, each time span in its finest steps.
    pub(super) fn samples(&self) -> Vec<HistorySample> {
        let mut samples = Vec::<HistorySample>::new();
        let mut until_ms = u64::MAX;
        for level in &self.levels {
            let older = level.iter().rev().filter(|sample| sample.at_ms < until_ms);
            samples.extend(older);
            until_ms = samples.last().map_or(until_ms, |sample| sample.at_ms);
        }
        samples.reverse();
        samples
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn after(seconds: impl Iterator<Item = u64>) -> Vec<u64> {
        let mut history = NodeHistory::default();
        for second in seconds {
            let at_ms = 1_000 * second;
            assert!(history.is_due(at_ms), "{second}");
            history.add(HistorySample { at_ms, ..HistorySample::default() });
        }
        history.samples().into_iter().map(|sample| sample.at_ms / 1_000).collect()
    }

    #[test]
    fn an_hour_is_kept_in_growing_steps() {
        assert_eq!(after(5..8), [5, 6, 7]);
        let seconds = after(0..7_200);
        assert!(seconds.is_sorted_by(|a, b| a < b));
        assert_eq!(seconds.last(), Some(&7_199));
        let oldest = 7_199 - seconds[0];
        assert!((3_500..3_700).contains(&oldest), "{oldest}");
        assert!(seconds.len() <= STEPS_MS.len() * N_SAMPLES_MAX);
        let step = |at: usize| seconds[at + 1] - seconds[at];
        assert_eq!((step(0), step(seconds.len() - 2)), (30, 1));
    }

    #[test]
    fn a_clock_that_is_set_back_loses_what_comes_later() {
        assert_eq!(after([10, 11, 12, 3, 4].into_iter()), [3, 4]);
    }
}
