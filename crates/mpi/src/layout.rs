//! What lies where in a struct of numbers.
//!
//! # Not here
//! Where layouts come from (`master-worker-derive`); the datatype that MPI makes of one ([`Datatype`](crate::Datatype)).

use mpi_abi::Number;

/// What a value is made of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// A number.
    Number(Number),
    /// A struct.
    Struct(&'static Layout),
}

/// A struct in memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Layout {
    /// Its fields, in their order.
    pub fields: &'static [Field],
    /// From the start of one to the start of the next, when several lie side by side.
    pub extent_bytes: usize,
}

/// A field of a struct.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Field {
    /// Its name in the source.
    pub name: &'static str,
    /// From the start of the struct.
    pub offset_bytes: usize,
    /// What its values are.
    pub kind: Kind,
    /// How many of them lie there side by side: more than one in an array.
    pub n_values: usize,
}

impl Kind {
    /// From the start of a value to the start of the next, when several lie side by side.
    #[must_use]
    pub const fn extent_bytes(self) -> usize {
        match self {
            Self::Number(number) => number.n_bytes(),
            Self::Struct(layout) => layout.extent_bytes,
        }
    }
}
