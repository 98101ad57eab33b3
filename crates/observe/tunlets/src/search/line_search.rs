//! Search along a line from 0 to 1: steps for as long as they help, then back with half the step.
//!
//! # Invariants
//! - Terminates: a step is never shorter than the grain, or than 0.01.

const STEP_FIRST: f64 = 0.25;
const STEP_MIN: f64 = 0.01;

/// Line search; see the module documentation.
#[derive(Debug)]
pub(super) struct LineSearch {
    best: f64,
    best_cost: Option<f64>,
    step: f64,
    step_min: f64,
    direction: f64,
    n_failed: u32,
}

impl LineSearch {
    /// Starts a search at `start`; `grain` is the smallest effective change.
    pub(super) fn new(start: f64, grain: f64) -> Self {
        let step_min = grain.max(STEP_MIN);
        let step = STEP_FIRST.max(step_min);
        Self { best: start, best_cost: None, step, step_min, direction: 1.0, n_failed: 0 }
    }

    /// Returns the next position; `None` at the end.
    pub(super) fn ask(&self) -> Option<f64> {
        match self.best_cost {
            None => Some(self.best),
            Some(_) if self.step < self.step_min => None,
            Some(_) => Some((self.best + self.direction * self.step).clamp(0.0, 1.0)),
        }
    }

    /// Reports the cost of the proposed position.
    pub(super) fn tell(&mut self, cost: f64) {
        let Some(at) = self.ask() else { return };
        if self.best_cost.is_none_or(|best| cost < best) {
            let is_start = self.best_cost.is_none();
            (self.best, self.best_cost) = (at, Some(cost));
            self.n_failed = 0;
            // Beyond an end of the line there is nothing to try.
            if !is_start && (at <= 0.0 || 1.0 <= at) {
                self.turn_around();
            }
        } else {
            self.turn_around();
        }
    }

    fn turn_around(&mut self) {
        self.direction = -self.direction;
        self.n_failed += 1;
        if 2 <= self.n_failed {
            self.n_failed = 0;
            let next = self.step / 2.0;
            // The last steps have the minimum length.
            let is_last = next < self.step_min && self.step_min < self.step;
            self.step = if is_last { self.step_min } else { next };
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(start: f64, grain: f64, lowest: f64, within: f64) {
        let mut search = LineSearch::new(start, grain);
        let mut n_asked = 0;
        while let Some(at) = search.ask() {
            search.tell((at - lowest).powi(2));
            n_asked += 1;
            assert!(n_asked < 100, "it does not end");
        }
        assert!((search.best - lowest).abs() <= within, "{} after {n_asked}", search.best);
    }

    #[test]
    fn it_ends_at_the_lowest_place() {
        check(0.5, 0.0, 0.3, 0.01);
        check(0.0, 0.0, 1.0, 0.01);
        check(1.0, 0.0, 0.0, 0.01);
        check(0.9, 0.1, 0.2, 0.1);
        check(0.5, 1.0, 1.0, 0.0);
    }
}
