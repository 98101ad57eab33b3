//! Start and end of a stretch of iterations: functions that do nothing, where tools measure and make changes.

use crate::description::keep;
use crate::variables::Variable;
use std::hint::black_box;

/// Starts a stretch: `n_iterations` iterations from `iteration` on run on `n_ranks` ranks. Returns the number of ranks
/// that a tool requests, or `n_ranks` if none does.
pub fn start(iteration: u64, n_iterations: u64, n_ranks: u32) -> u32 {
    keep();
    Variable::Iteration.set(iteration);
    Variable::Iterations.set(n_iterations);
    Variable::Ranks.set(u64::from(n_ranks));
    let mut wished = n_ranks;
    ml_stretch(&mut || wished = Variable::Ranks.get());
    wished
}

/// Ends the stretch.
pub fn end() {
    ml_stretch_end();
}

points::functions! {
    fn ml_stretch(inside: &mut dyn FnMut()) {
        inside();
        black_box("stretch");
    }
    fn ml_stretch_end() {
        black_box("stretch end");
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn where_nobody_wishes_the_number_stays() {
        assert_eq!(start(7, 4, 3), 3);
        let seen = [Variable::Iteration, Variable::Iterations, Variable::Ranks].map(Variable::get);
        assert_eq!(seen, [7, 4, 3]);
        end();
    }
}
