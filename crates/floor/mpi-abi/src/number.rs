//! Numbers of a fixed width, and the predefined datatypes for them.

use crate::{Handle, Library};

/// Type of a number of fixed width.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[expect(missing_docs, reason = "the names are those of Rust's types")]
pub enum Number {
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

impl Number {
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

    /// Width in bytes.
    #[must_use]
    pub const fn n_bytes(self) -> usize {
        match self {
            Self::I8 | Self::U8 => 1,
            Self::I16 | Self::U16 => 2,
            Self::I32 | Self::U32 | Self::F32 => 4,
            Self::I64 | Self::U64 | Self::F64 => 8,
        }
    }

    /// Name of the type's datatype in the standard.
    #[must_use]
    pub const fn mpi_name(self) -> &'static str {
        match self {
            Self::I8 => "MPI_INT8_T",
            Self::U8 => "MPI_UINT8_T",
            Self::I16 => "MPI_INT16_T",
            Self::U16 => "MPI_UINT16_T",
            Self::I32 => "MPI_INT32_T",
            Self::U32 => "MPI_UINT32_T",
            Self::I64 => "MPI_INT64_T",
            Self::U64 => "MPI_UINT64_T",
            Self::F32 => "MPI_FLOAT",
            Self::F64 => "MPI_DOUBLE",
        }
    }

    const fn in_open_mpi(self) -> &'static str {
        match self {
            Self::I8 => "ompi_mpi_int8_t",
            Self::U8 => "ompi_mpi_uint8_t",
            Self::I16 => "ompi_mpi_int16_t",
            Self::U16 => "ompi_mpi_uint16_t",
            Self::I32 => "ompi_mpi_int32_t",
            Self::U32 => "ompi_mpi_uint32_t",
            Self::I64 => "ompi_mpi_int64_t",
            Self::U64 => "ompi_mpi_uint64_t",
            Self::F32 => "ompi_mpi_float",
            Self::F64 => "ompi_mpi_double",
        }
    }

    const fn in_mpich(self) -> u32 {
        match self {
            Self::I8 => 0x4c00_0137,
            Self::U8 => 0x4c00_013b,
            Self::I16 => 0x4c00_0238,
            Self::U16 => 0x4c00_023c,
            Self::I32 => 0x4c00_0439,
            Self::U32 => 0x4c00_043d,
            Self::I64 => 0x4c00_083a,
            Self::U64 => 0x4c00_083e,
            Self::F32 => 0x4c00_040a,
            Self::F64 => 0x4c00_080b,
        }
    }

    const fn in_standard_abi(self) -> u32 {
        match self {
            Self::I8 => 0x240,
            Self::U8 => 0x241,
            Self::I16 => 0x248,
            Self::U16 => 0x249,
            Self::I32 => 0x250,
            Self::U32 => 0x251,
            Self::I64 => 0x258,
            Self::U64 => 0x259,
            Self::F32 => 0x210,
            Self::F64 => 0x214,
        }
    }
}

impl Library {
    /// Predefined datatype of a number.
    #[must_use]
    pub fn datatype(self, number: Number) -> Handle {
        match self {
            Self::OpenMpi => Handle::AddressOf(number.in_open_mpi()),
            Self::Mpich => Handle::Value(number.in_mpich()),
            Self::StandardAbi => Handle::Value(number.in_standard_abi()),
        }
    }
}
