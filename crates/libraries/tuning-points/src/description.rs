//! Description in the program's executable, where tools find it.

use crate::{functions, variables};
use std::hint::black_box;

/// Description of what tools may measure and change in any program of the library, in the format of
/// `docs/application-description.md`.
pub const DESCRIPTION: &str = include_str!("../master-worker.toml");

points::description!(DESCRIPTION);

/// Refers to the note and the tables, so that linkers keep them in every program that may be
/// watched.
pub(crate) fn keep() {
    black_box((&NOTE, &variables::ENTRIES, &functions::ENTRIES));
}
