//! What C sees of the library: the header is made from this file, and from the functions of the others.
#![allow(non_camel_case_types, reason = "the names are those of the C header")]

use core::ffi::{c_int, c_void};

/// The program goes on as it was.
pub const MALLEABLE_CONTINUE: c_int = 0;
/// The program goes on with another number of ranks: its arrays, its communicator and its rows are new.
pub const MALLEABLE_RESIZED: c_int = 1;
/// This process is no longer needed: it leaves the loop, calls `malleable_end`, and ends.
pub const MALLEABLE_LEFT: c_int = 2;
/// An argument of a function of this library cannot be, such as a null pointer.
pub const MALLEABLE_MISUSE: c_int = 10;
/// An option is wrong.
pub const MALLEABLE_OPTIONS: c_int = 11;
/// The ranks cannot go on together, or the library failed.
pub const MALLEABLE_FAILED: c_int = 12;

/// Rows in blocks of equal length. The number that goes with it is not looked at.
pub const MALLEABLE_EVEN: c_int = 0;
/// Rows in blocks of as many entries of the sparse matrix that is registered for them. Set `n_rows` of
/// `malleable_share` yourself: any blocks will do at first.
pub const MALLEABLE_WEIGHTED: c_int = 1;
/// Rows in blocks of equal length, whose bounds are multiples of a number.
pub const MALLEABLE_ALIGNED: c_int = 2;
/// Rows in blocks of so many, dealt in turns.
pub const MALLEABLE_CYCLIC: c_int = 3;
/// Rows are the cells of a field with so many columns, which is cut into rectangles.
pub const MALLEABLE_BLOCKS_2D: c_int = 4;

/// The rows of this rank.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default)]
pub struct malleable_share {
    /// Its first row.
    pub first: u64,
    /// How many it has.
    pub n_rows: u64,
}

/// Writes the bounds of blocks of rows, from 0 to `n_rows` and one more than there are parts, for any number of parts.
pub type malleable_bounds =
    Option<unsafe extern "C" fn(n_rows: u64, n_parts: u32, bounds: *mut u64, context: *mut c_void)>;
