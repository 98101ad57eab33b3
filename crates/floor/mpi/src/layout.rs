//! Memory layout of structs of numbers.
//!
//! # Not here
//! Deriving layouts (`master-worker-derive`); the MPI datatype of a layout ([`Datatype`](crate::Datatype)).

use mpi_abi::FixedWidthNumber;

/// Kind of a value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ValueKind {
    /// A number.
    Number(FixedWidthNumber),
    /// A struct.
    Struct(&'static Layout),
}

/// Layout of a struct in memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Layout {
    /// Fields, in order.
    pub fields: &'static [Field],
    /// Distance from the start of one struct to the start of the next in an array, in bytes.
    pub extent_bytes: usize,
}

/// A field of a struct.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Field {
    /// Name in the source.
    pub name: &'static str,
    /// Offset from the start of the struct, in bytes.
    pub offset_bytes: usize,
    /// Kind of its values.
    pub kind: ValueKind,
    /// Number of contiguous values; more than one in an array.
    pub n_values: usize,
}

impl ValueKind {
    /// Returns the distance from the start of one value to the start of the next in an array, in bytes.
    #[must_use]
    pub const fn extent_bytes(self) -> usize {
        match self {
            Self::Number(number) => number.n_bytes(),
            Self::Struct(layout) => layout.extent_bytes,
        }
    }
}
