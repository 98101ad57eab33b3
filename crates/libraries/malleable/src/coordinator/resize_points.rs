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
const DESCRIPTION: &str = include_str!("../../malleable.toml");

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

/// A stretch of iterations as outside tools see it, and the size that a tool requests.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Stretch {
    is_open: bool,
    requested: Option<u32>,
}

impl Stretch {
    /// Announces that `n_iterations` undisturbed iterations follow, whose time shows the performance of the size.
    pub(super) fn start(&mut self, iteration: u64, n_iterations: u32, size: u32) {
        // Linkers keep what is referred to.
        black_box((&NOTE, &ENTRIES, &functions::ENTRIES));
        set(Variables::ml_iteration(), iteration);
        set(Variables::ml_n_iterations(), u64::from(n_iterations));
        set(Variables::ml_n_ranks(), u64::from(size));
        let mut requested = size;
        functions::stretch(&mut || requested = get(Variables::ml_n_ranks()));
        self.is_open = true;
        self.requested = Some(requested).filter(|requested| *requested != size);
    }

    /// Ends the stretch, if there is one.
    pub(super) fn end(&mut self) {
        if std::mem::take(&mut self.is_open) {
            functions::stretch_end();
        }
    }

    /// Takes the size that a tool requested.
    pub(super) fn take_requested(&mut self) -> Option<u32> {
        self.requested.take()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn where_nobody_wishes_the_number_stays() {
        let mut stretch = Stretch::default();
        stretch.start(7, 4, 3);
        assert_eq!(stretch.take_requested(), None);
        let variables =
            [Variables::ml_iteration(), Variables::ml_n_iterations(), Variables::ml_n_ranks()];
        assert_eq!(variables.map(get), [7, 4, 3]);
        stretch.end();
    }
}
