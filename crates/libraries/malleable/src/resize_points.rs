//! Variables and functions through which tuning tools observe and control a malleable program.
//!
//! Between two checks of rank 0 lies a *stretch* of iterations. Its start and end are functions that do nothing, where
//! tools measure; at its start a tool may write another number of ranks, which rank 0 takes as a resize request.
//! `malleable.toml` describes them; every executable carries it, so that `sintonia run --tunlet` needs no other
//! description.

use points::{get, set};
use std::hint::black_box;

/// Description of what tools may measure and change in any malleable program, in the format of
/// `docs/application-description.md`.
const DESCRIPTION: &str = include_str!("../malleable.toml");

points::description!(DESCRIPTION);

points::variables! {
    /// Variables that tools see.
    Variables:
    /// First iteration of the stretch.
    ml_iteration: i32 = 0;
    /// Number of iterations in the stretch.
    ml_n_iterations: i32 = 0;
    /// Present number of ranks, and the request for another one.
    ml_n_ranks: i32 = 0;
}

/// Functions where tools measure and make changes.
mod functions {
    use std::hint::black_box;

    points::functions! {
        fn ml_stretch(inside: &mut dyn FnMut()) {
            inside();
            black_box("stretch");
        }
        fn ml_stretch_end() {
            black_box("stretch end");
        }
    }

    pub(super) fn stretch(inside: &mut dyn FnMut()) {
        ml_stretch(inside);
    }

    pub(super) fn stretch_end() {
        ml_stretch_end();
    }
}

/// Starts a stretch: `n_iterations` iterations from `iteration` on run on `n_ranks` ranks. Returns the number of ranks
/// that a tool requests, or `n_ranks` if none does.
pub(crate) fn start(iteration: u64, n_iterations: u64, n_ranks: u32) -> u32 {
    // Linkers keep what is referred to.
    black_box((&NOTE, &ENTRIES, &functions::ENTRIES));
    set(Variables::ml_iteration(), iteration);
    set(Variables::ml_n_iterations(), n_iterations);
    set(Variables::ml_n_ranks(), u64::from(n_ranks));
    let mut wished = n_ranks;
    functions::stretch(&mut || wished = get(Variables::ml_n_ranks()));
    wished
}

/// Ends the stretch.
pub(crate) fn end() {
    functions::stretch_end();
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn where_nobody_wishes_the_number_stays() {
        assert_eq!(start(7, 4, 3), 3);
        let variables =
            [Variables::ml_iteration(), Variables::ml_n_iterations(), Variables::ml_n_ranks()];
        assert_eq!(variables.map(get), [7, 4, 3]);
        end();
    }
}
