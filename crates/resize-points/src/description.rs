//! The description in the program's own file: tools find it there without being told.

use crate::{stretch, variables};
use std::hint::black_box;

/// What tools may measure and change in any malleable program, in the format of
/// `docs/application-description.md`.
pub const DESCRIPTION: &str = include_str!("../malleable.toml");

points::description!(DESCRIPTION);

/// Refers to what tools look for, so that linkers keep it in every program that may be watched.
pub(crate) fn keep() {
    black_box((&NOTE, &variables::ENTRIES, &stretch::ENTRIES));
}
