//! Numbers of a fixed width, and the predefined datatypes for them.

use crate::{Handle, LibraryFamily};

/// Type of a number of fixed width.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[expect(missing_docs, reason = "the names are those of Rust's types")]
pub enum FixedWidthNumber {
    I8,
    U8,
    I16,
    U16,
    I32,
    U32,
    I64,
    U64,
    F32,
    F64,
}

impl FixedWidthNumber {
    /// All types.
    pub const ALL: [Self; 10] = [
        Self::I8,
        Self::U8,
        Self::I16,
        Self::U16,
        Self::I32,
        Self::U32,
        Self::I64,
        Self::U64,
        Self::F32,
        Self::F64,
    ];

    /// Width in bytes; datatype in the standard, in Open MPI, in MPICH, and in the standard ABI.
    const fn row(self) -> (usize, &'static str, &'static str, u32, u32) {
        match self {
            Self::I8 => (1, "MPI_INT8_T", "ompi_mpi_int8_t", 0x4c00_0137, 0x240),
            Self::U8 => (1, "MPI_UINT8_T", "ompi_mpi_uint8_t", 0x4c00_013b, 0x241),
            Self::I16 => (2, "MPI_INT16_T", "ompi_mpi_int16_t", 0x4c00_0238, 0x248),
            Self::U16 => (2, "MPI_UINT16_T", "ompi_mpi_uint16_t", 0x4c00_023c, 0x249),
            Self::I32 => (4, "MPI_INT32_T", "ompi_mpi_int32_t", 0x4c00_0439, 0x250),
            Self::U32 => (4, "MPI_UINT32_T", "ompi_mpi_uint32_t", 0x4c00_043d, 0x251),
            Self::I64 => (8, "MPI_INT64_T", "ompi_mpi_int64_t", 0x4c00_083a, 0x258),
            Self::U64 => (8, "MPI_UINT64_T", "ompi_mpi_uint64_t", 0x4c00_083e, 0x259),
            Self::F32 => (4, "MPI_FLOAT", "ompi_mpi_float", 0x4c00_040a, 0x210),
            Self::F64 => (8, "MPI_DOUBLE", "ompi_mpi_double", 0x4c00_080b, 0x214),
        }
    }

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
