//! How long an iteration takes.

use std::time::Instant;

/// Measures iterations between two looks. Those near a resize are left out.
#[derive(Debug, Default)]
pub(crate) struct Pace {
    /// Where and when the last look was.
    last: Option<(u64, Instant)>,
    seconds: Option<f64>,
}

impl Pace {
    /// A look before this iteration; seconds of an iteration since the last one, if there is one.
    pub(crate) fn look(&mut self, iteration: u64) -> Option<f64> {
        let now = Instant::now();
        let before = self.last.replace((iteration, now));
        let (first, began) = before?;
        let n_iterations = u32::try_from(iteration.checked_sub(first)?).ok().filter(|n| 0 < *n)?;
        let seconds = (now - began).as_secs_f64() / f64::from(n_iterations);
        // The newest count most, and one that was disturbed is forgotten soon.
        self.seconds = Some(self.seconds.map_or(seconds, |known| 0.7 * known + 0.3 * seconds));
        Some(seconds)
    }

    /// What comes now is no iteration.
    pub(crate) fn interrupt(&mut self) {
        self.last = None;
    }

    /// Another size begins.
    pub(crate) fn restart(&mut self) {
        *self = Self::default();
    }

    /// Seconds of an iteration at the present size.
    pub(crate) fn seconds(&self) -> Option<f64> {
        self.seconds
    }
}
