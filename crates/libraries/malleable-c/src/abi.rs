//! Constants and structs of the C interface: the header is generated from this file and from the functions of the
//! others.
#![allow(non_camel_case_types, reason = "the names are those of the C header")]

use core::ffi::{c_int, c_void};

/// The program continues unchanged.
pub const MALLEABLE_CONTINUE: c_int = 0;
/// The program continues with another number of ranks: its arrays, its communicator and its rows are new.
pub const MALLEABLE_RESIZED: c_int = 1;
/// This process is no longer needed: it must leave the loop, call `malleable_end`, and end.
pub const MALLEABLE_LEFT: c_int = 2;
/// An argument of a library function is not valid, such as a null pointer.
pub const MALLEABLE_MISUSE: c_int = 10;
/// The ranks cannot continue together, or the library failed.
pub const MALLEABLE_FAILED: c_int = 12;

/// Partition into blocks of equal length. Its parameter is ignored.
pub const MALLEABLE_EVEN: c_int = 0;
/// Partition into blocks with equal numbers of entries of the sparse matrix that is registered for these rows. Set
/// `n_rows` of `malleable_share` yourself: any blocks will do at first.
pub const MALLEABLE_WEIGHTED: c_int = 1;
/// Partition into blocks of equal length, whose bounds are multiples of the parameter.
pub const MALLEABLE_ALIGNED: c_int = 2;
/// Partition into blocks of as many rows as the parameter, dealt round-robin.
pub const MALLEABLE_CYCLIC: c_int = 3;
/// Partition of a field into rectangles: rows are its cells, and the parameter is its number of columns.
pub const MALLEABLE_BLOCKS_2D: c_int = 4;

/// Rows of this rank.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default)]
pub struct malleable_share {
    /// First row.
    pub first: u64,
    /// Number of rows.
    pub n_rows: u64,
}

/// Function that writes the bounds of blocks of rows, from 0 to `n_rows` and one more than parts, for any number of
/// parts.
pub type malleable_bounds =
    Option<unsafe extern "C" fn(n_rows: u64, n_parts: u32, bounds: *mut u64, context: *mut c_void)>;
