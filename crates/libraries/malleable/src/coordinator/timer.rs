//! Measurement of the time of an iteration.

use std::time::Instant;

/// Measures iterations between two checks. Those near a resize are left out.
#[derive(Debug, Default)]
pub(crate) struct IterationTimer {
    /// Iteration and time of the last check.
    last: Option<(u64, Instant)>,
    /// Mean time of an iteration at the present size, in seconds.
    pub(crate) seconds: Option<f64>,
}

impl IterationTimer {
    /// Records a check before this iteration; returns how many seconds an iteration since the last check took and how
    /// many there were, if there was one.
    pub(crate) fn check(&mut self, iteration: u64) -> Option<(f64, u32)> {
        let now = Instant::now();
        let before = self.last.replace((iteration, now));
        let (first, began) = before?;
        let n_iterations = u32::try_from(iteration.checked_sub(first)?).ok().filter(|n| 0 < *n)?;
        let seconds = (now - began).as_secs_f64() / f64::from(n_iterations);
        // The newest iterations count most, and a disturbed one is soon forgotten.
        self.seconds = Some(self.seconds.map_or(seconds, |known| 0.7 * known + 0.3 * seconds));
        Some((seconds, n_iterations))
    }

    /// Excludes the time until the next check.
    pub(crate) fn interrupt(&mut self) {
        self.last = None;
    }

    /// Starts anew for another size.
    pub(crate) fn restart(&mut self) {
        *self = Self::default();
    }
}
