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

/// Block of the cells of a body. Axes are planes, rows and columns, in this order.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default)]
pub struct malleable_block {
    /// First cell along each axis.
    pub first: [u64; 3],
    /// Number of cells along each axis.
    pub extents: [u64; 3],
    /// Number of blocks along each axis.
    pub n_blocks: [u32; 3],
    /// Number of blocks before this one along each axis; the rank is `(place[0] * n_blocks[1] + place[1]) * n_blocks[2] +
    /// place[2]`.
    pub place: [u32; 3],
}

/// Function that writes the bounds of blocks of rows, from 0 to `n_rows` and one more than parts, for any number of
/// parts.
pub type malleable_bounds =
    Option<unsafe extern "C" fn(n_rows: u64, n_parts: u32, bounds: *mut u64, context: *mut c_void)>;

/// Function that writes a row, by its position on this rank, and returns its number of bytes; where `bytes` is null it
/// only returns that number.
pub type malleable_pack =
    Option<unsafe extern "C" fn(row: u64, bytes: *mut c_void, context: *mut c_void) -> usize>;

/// Function that makes a row of these bytes, at its new position on this rank.
pub type malleable_unpack = Option<
    unsafe extern "C" fn(row: u64, bytes: *const c_void, n_bytes: usize, context: *mut c_void),
>;

/// Container of the program's own, such as a `std::vector`, in which it keeps an array.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct malleable_container {
    /// The container, at an address that stays.
    pub container: *mut c_void,
    /// Size of an element.
    pub element_bytes: usize,
    /// Returns the address of the first element; null where there is none.
    pub start: Option<unsafe extern "C" fn(container: *mut c_void) -> *mut c_void>,
    /// Returns the number of elements.
    pub length: Option<unsafe extern "C" fn(container: *mut c_void) -> usize>,
    /// Gives the container so many elements, with any contents, and returns their address; null where memory is short.
    pub resize:
        Option<unsafe extern "C" fn(container: *mut c_void, n_elements: usize) -> *mut c_void>,
}
