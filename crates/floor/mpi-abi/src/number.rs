//! Numbers of a fixed width, and the predefined datatypes for them.

use crate::{Handle, LibraryFamily};

macro_rules! numbers {
    ($($number:ident = $row:expr,)*) => {
        /// Type of a number of fixed width.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        #[expect(missing_docs, reason = "the names are those of Rust's types")]
        pub enum FixedWidthNumber {
            $($number,)*
        }

        impl FixedWidthNumber {
            /// All types.
            pub const ALL: [Self; 10] = [$(Self::$number),*];

            /// Width in bytes; datatype in the standard, in Open MPI, in MPICH, and in the standard ABI.
            const fn row(self) -> (usize, &'static str, &'static str, u32, u32) {
                match self {
                    $(Self::$number => $row,)*
                }
            }
        }
    };
}

numbers! {
    I8 = (1, "MPI_INT8_T", "ompi_mpi_int8_t", 0x4c00_0137, 0x240),
    U8 = (1, "MPI_UINT8_T", "ompi_mpi_uint8_t", 0x4c00_013b, 0x241),
    I16 = (2, "MPI_INT16_T", "ompi_mpi_int16_t", 0x4c00_0238, 0x248),
    U16 = (2, "MPI_UINT16_T", "ompi_mpi_uint16_t", 0x4c00_023c, 0x249),
    I32 = (4, "MPI_INT32_T", "ompi_mpi_int32_t", 0x4c00_0439, 0x250),
    U32 = (4, "MPI_UINT32_T", "ompi_mpi_uint32_t", 0x4c00_043d, 0x251),
    I64 = (8, "MPI_INT64_T", "ompi_mpi_int64_t", 0x4c00_083a, 0x258),
    U64 = (8, "MPI_UINT64_T", "ompi_mpi_uint64_t", 0x4c00_083e, 0x259),
    F32 = (4, "MPI_FLOAT", "ompi_mpi_float", 0x4c00_040a, 0x210),
    F64 = (8, "MPI_DOUBLE", "ompi_mpi_double", 0x4c00_080b, 0x214),
}

impl FixedWidthNumber {
    /// Width in bytes.
    #[must_use]
    pub const fn n_bytes(self) -> usize {
        self.row().0
    }

    /// Name of the type's datatype in the standard.
    #[must_use]
    pub const fn mpi_name(self) -> &'static str {
        self.row().1
    }
}

impl LibraryFamily {
    /// Predefined datatype of a number.
    #[must_use]
    pub fn datatype(self, number: FixedWidthNumber) -> Handle {
        let (_, _, in_open_mpi, in_mpich, in_standard_abi) = number.row();
        match self {
            Self::OpenMpi => Handle::AddressOf(in_open_mpi),
            Self::Mpich => Handle::Value(in_mpich),
            Self::StandardAbi => Handle::Value(in_standard_abi),
        }
    }
}
