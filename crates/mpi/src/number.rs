//! Numbers that MPI calculates with.

use bytemuck::Pod;
use mpi_abi::Number as Kind;

mod sealed {
    pub trait Sealed {}
}

/// A number with a predefined datatype in every library.
///
/// What is only moved and not calculated with may be any [`Pod`].
pub trait Number: Pod + sealed::Sealed {
    /// Which of the predefined datatypes it is.
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

/// What the numbers of all ranks become.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Op {
    /// Their sum; of integers, modulo their width. Its order, and so its rounding, is the library's.
    Sum,
    /// The smallest.
    Min,
    /// The largest.
    Max,
}
