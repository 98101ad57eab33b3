//! Number types that MPI can calculate with.

use bytemuck::Pod;
use mpi_abi::FixedWidthNumber as Kind;

mod sealed {
    pub trait Sealed {}
}

/// A number with a predefined datatype in every library.
///
/// Elements that are only moved may be any [`Pod`].
pub trait Number: Pod + sealed::Sealed {
    /// Its predefined datatype.
    const KIND: Kind;
}

macro_rules! numbers {
    ($($number:ty = $kind:ident,)*) => {
        $(
            impl sealed::Sealed for $number {}
            impl Number for $number {
                const KIND: Kind = Kind::$kind;
            }
        )*
    };
}

numbers! {
    i8 = I8, u8 = U8, i16 = I16, u16 = U16, i32 = I32, u32 = U32, i64 = I64, u64 = U64, f32 = F32, f64 = F64,
}

/// Operation that combines the numbers of all ranks.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Op {
    /// Sum; of integers, modulo their width. The library chooses the order, and so the rounding.
    Sum,
    /// Minimum.
    Min,
    /// Maximum.
    Max,
}
