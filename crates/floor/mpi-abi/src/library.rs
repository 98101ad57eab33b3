//! Differences between the binary interfaces of the MPI libraries.
//!
//! Taken from the headers of Open MPI 4.1.4 and 5.0.11, MPICH 4.0.2 and 5.0.2 (its `mpi.h` and its
//! `mpi_abi.h`), and the `mpi.h` of the MPI ABI working group. Nothing here changed between the versions of
//! one library. A test compiles a C program that prints the values with every installed library.
//!
//! In every library `MPI_Count` and `MPI_Offset` have 64 bits, `MPI_Aint` is as wide as an address,
//! `MPI_SUCCESS` and `MPI_BOTTOM` are 0, and `MPI_File` is a pointer.
//!
//! # Not here
//! Looking up symbols and reading memory (`probe`).

use Handle::{AddressOf, Value};

/// Family of MPI libraries with one binary interface.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[non_exhaustive]
pub enum LibraryFamily {
    /// Open MPI 4 and 5 (`libmpi.so.40`).
    OpenMpi,
    /// MPICH 4 and 5 and libraries with the same ABI, such as Intel MPI (`libmpi.so.12`, `libmpich.so.12`).
    Mpich,
    /// ABI of MPI-5.0 (`libmpi_abi.so.1`, of any origin).
    StandardAbi,
}

/// Value of a predefined handle.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Handle {
    /// Address of this symbol.
    AddressOf(&'static str),
    /// This value.
    Value(u32),
}

macro_rules! constants {
    ($($(#[$doc:meta])* $name:ident: $type:ty = $open_mpi:expr, $mpich:expr, $standard_abi:expr;)*) => {
        /// Special values of a library. The names are those of the standard, without `MPI_`.
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        #[expect(missing_docs, reason = "the names are those of the standard")]
        pub struct Constants {
            $($(#[$doc])* pub $name: $type,)*
        }

        const OPEN_MPI: Constants = Constants { $($name: $open_mpi,)* };
        const MPICH: Constants = Constants { $($name: $mpich,)* };
        const STANDARD_ABI: Constants = Constants { $($name: $standard_abi,)* };
    };
}

// In Open MPI, in MPICH, and in the ABI of MPI 5.
constants! {
    /// Width of a handle in C, in bytes; that of `MPI_File` is always 8.
    handle_bytes: usize = 8, 4, 8;
    comm_world: Handle = AddressOf("ompi_mpi_comm_world"), Value(0x4400_0000), Value(0x101);
    comm_self: Handle = AddressOf("ompi_mpi_comm_self"), Value(0x4400_0001), Value(0x102);
    comm_null: Handle = AddressOf("ompi_mpi_comm_null"), Value(0x0400_0000), Value(0x100);
    request_null: Handle = AddressOf("ompi_request_null"), Value(0x2c00_0000), Value(0x180);
    message_no_proc: Handle = AddressOf("ompi_message_no_proc"), Value(0x6c00_0000), Value(0x129);
    datatype_null: Handle = AddressOf("ompi_mpi_datatype_null"), Value(0x0c00_0000), Value(0x200);
    byte: Handle = AddressOf("ompi_mpi_byte"), Value(0x4c00_010d), Value(0x247);
    info_null: Handle = AddressOf("ompi_mpi_info_null"), Value(0x1c00_0000), Value(0x130);
    errors_return: Handle = AddressOf("ompi_mpi_errors_return"), Value(0x5400_0001), Value(0x143);
    sum: Handle = AddressOf("ompi_mpi_op_sum"), Value(0x5800_0003), Value(0x21);
    min: Handle = AddressOf("ompi_mpi_op_min"), Value(0x5800_0002), Value(0x22);
    max: Handle = AddressOf("ompi_mpi_op_max"), Value(0x5800_0001), Value(0x23);
    win_null: Handle = AddressOf("ompi_mpi_win_null"), Value(0x2000_0000), Value(0x110);
    /// Thread levels, as `MPI_Init_thread` takes them.
    thread_serialized: i32 = 2, 2, 2048;
    /// See `thread_serialized`.
    thread_multiple: i32 = 3, 3, 4096;
    /// Pointer value as a signed number, as in the next two fields.
    status_ignore: isize = 0, 1, 0;
    statuses_ignore: isize = 0, 1, 0;
    in_place: isize = 1, -1, 1;
    any_source: i32 = -1, -2, -1;
    any_tag: i32 = -1, -1, -2;
    proc_null: i32 = -2, -1, -3;
    root: i32 = -4, -3, -4;
    undefined: i32 = -32766, -32766, -32766;
    mode_nocheck: i32 = 1, 1024, 1024;
    max_port_name: usize = 1024, 256, 1024;
    max_processor_name: usize = 256, 128, 256;
    /// Kind of topology, as `MPI_Topo_test` returns it.
    cart: i32 = 1, 2, 211;
    graph: i32 = 2, 1, 212;
    dist_graph: i32 = 3, 3, 213;
}

/// Location of the address that Fortran passes for a special value.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum FortranAddress {
    /// The address of this symbol.
    Of(&'static str),
    /// The value of this pointer variable; MPICH sets it in the first call from Fortran.
    StoredIn(&'static str),
}

/// Addresses that Fortran passes for special values. Look symbols up as the program does (the first
/// definition wins: the program holds a copy of some of them).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FortranAddresses {
    /// `MPI_IN_PLACE`.
    pub in_place: FortranAddress,
    /// `MPI_STATUS_IGNORE`.
    pub status_ignore: FortranAddress,
    /// `MPI_STATUSES_IGNORE`.
    pub statuses_ignore: FortranAddress,
}

impl LibraryFamily {
    /// Every family.
    pub const ALL: [Self; 3] = [Self::OpenMpi, Self::Mpich, Self::StandardAbi];

    /// Returns the library of a process, given the file name of the object that defines its `MPI_Init` and
    /// a lookup of symbols in the process; `None` for an unknown library.
    ///
    /// The file name is checked first: a `libmpi_abi` may be built on either of the others and have its symbols.
    #[must_use]
    pub fn detect(file_name: &str, has_symbol: impl Fn(&str) -> bool) -> Option<Self> {
        if file_name.starts_with("libmpi_abi") {
            return Some(Self::StandardAbi);
        }
        Self::ALL.into_iter().find(|library| has_symbol(library.marker()))
    }

    /// Name of a symbol that this library defines, and that none of those before it in [`Self::ALL`] defines.
    #[must_use]
    pub fn marker(self) -> &'static str {
        match self {
            Self::OpenMpi => "ompi_mpi_comm_world",
            // A constant pointer in MPICH, a macro in the others.
            Self::Mpich => "MPI_UNWEIGHTED",
            Self::StandardAbi => "MPI_Abi_get_version",
        }
    }

    /// Special values in C. Those of ranks and tags are the same in Fortran.
    #[must_use]
    pub fn constants(self) -> &'static Constants {
        match self {
            Self::OpenMpi => &OPEN_MPI,
            Self::Mpich => &MPICH,
            Self::StandardAbi => &STANDARD_ABI,
        }
    }

    /// Layout of a status, in C and in all Fortran bindings.
    #[must_use]
    pub fn status_layout(self) -> StatusLayout {
        match self {
            Self::OpenMpi => StatusLayout {
                size_bytes: 24,
                source_offset: 0,
                tag_offset: 4,
                error_offset: 8,
                count: ByteCount::Size { offset: 16 },
            },
            Self::Mpich => StatusLayout {
                size_bytes: 20,
                source_offset: 8,
                tag_offset: 12,
                error_offset: 16,
                count: ByteCount::Split { low_offset: 0, high_and_cancelled_offset: 4 },
            },
            Self::StandardAbi => StatusLayout {
                size_bytes: 32,
                source_offset: 0,
                tag_offset: 4,
                error_offset: 8,
                count: ByteCount::Opaque,
            },
        }
    }

    /// Addresses that `mpif.h` and module `mpi` pass for special values; `None` without a Fortran interface.
    #[must_use]
    pub fn classic_fortran(self) -> Option<&'static FortranAddresses> {
        match self {
            Self::OpenMpi => Some(&OPEN_MPI_FORTRAN),
            Self::Mpich => Some(&MPICH_CLASSIC),
            Self::StandardAbi => None,
        }
    }
}

const OPEN_MPI_FORTRAN: FortranAddresses = FortranAddresses {
    in_place: FortranAddress::Of("mpi_fortran_in_place_"),
    status_ignore: FortranAddress::Of("mpi_fortran_status_ignore_"),
    statuses_ignore: FortranAddress::Of("mpi_fortran_statuses_ignore_"),
};

const MPICH_CLASSIC: FortranAddresses = FortranAddresses {
    in_place: FortranAddress::StoredIn("MPIR_F_MPI_IN_PLACE"),
    status_ignore: FortranAddress::StoredIn("MPI_F_STATUS_IGNORE"),
    statuses_ignore: FortranAddress::StoredIn("MPI_F_STATUSES_IGNORE"),
};

/// Layout of an `MPI_Status`: offsets of its members in bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct StatusLayout {
    /// Size of the whole status.
    pub size_bytes: usize,
    /// Offset of `MPI_SOURCE`, an `int`.
    pub source_offset: usize,
    /// Offset of `MPI_TAG`, an `int`.
    pub tag_offset: usize,
    /// Offset of `MPI_ERROR`, an `int`.
    pub error_offset: usize,
    /// Representation of the number of received bytes.
    pub count: ByteCount,
}

/// Representation of the number of received bytes in a status.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ByteCount {
    /// A `size_t`.
    Size {
        /// Offset of the `size_t`.
        offset: usize,
    },
    /// The low 32 bits, and the others above a bit that is set if the transfer was canceled.
    Split {
        /// Offset of the low bits.
        low_offset: usize,
        /// Offset of the others.
        high_and_cancelled_offset: usize,
    },
    /// Not specified: use `MPI_Get_count` with `MPI_BYTE`.
    Opaque,
}

impl StatusLayout {
    /// Returns the number of received bytes in these bytes of a status; `None` when the layout does not
    /// specify their place.
    #[must_use]
    pub fn bytes_received(&self, status: &[u8]) -> Option<u64> {
        match self.count {
            ByteCount::Size { offset } => Some(u64::from_ne_bytes(read(status, offset)?)),
            ByteCount::Split { low_offset, high_and_cancelled_offset } => {
                let low = u32::from_ne_bytes(read(status, low_offset)?);
                let high = u32::from_ne_bytes(read(status, high_and_cancelled_offset)?) >> 1;
                Some(u64::from(high) << 32 | u64::from(low))
            }
            ByteCount::Opaque => None,
        }
    }

    /// Returns the rank of the sender.
    #[must_use]
    pub fn source(&self, status: &[u8]) -> Option<i32> {
        Some(i32::from_ne_bytes(read(status, self.source_offset)?))
    }
}

fn read<const N: usize>(status: &[u8], offset: usize) -> Option<[u8; N]> {
    status.get(offset..)?.first_chunk().copied()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(file_name: &str, symbols: &[&str], expected: Option<LibraryFamily>) {
        assert_eq!(LibraryFamily::detect(file_name, |name| symbols.contains(&name)), expected);
    }

    #[test]
    fn a_library_is_known_by_a_symbol() {
        check("libmpi.so.40", &["ompi_mpi_comm_world"], Some(LibraryFamily::OpenMpi));
        check("libmpich.so.12", &["MPI_UNWEIGHTED"], Some(LibraryFamily::Mpich));
        check(
            "libmpi.so.12",
            &["MPI_UNWEIGHTED", "MPI_Abi_get_version"],
            Some(LibraryFamily::Mpich),
        );
        check("libmpi_abi.so.1", &["MPI_Abi_get_version"], Some(LibraryFamily::StandardAbi));
        check("libmpi_abi.so.1", &["ompi_mpi_comm_world"], Some(LibraryFamily::StandardAbi));
        check("program", &["MPI_Abi_get_version"], Some(LibraryFamily::StandardAbi));
        check("libother.so", &[], None);
    }

    /// Statuses after receiving 257 bytes from rank 0 with tag 7, as each library wrote them.
    #[track_caller]
    fn check_status(library: LibraryFamily, words: &[u32], expected: Option<u64>) {
        let bytes: Vec<u8> = words.iter().flat_map(|word| word.to_ne_bytes()).collect();
        let layout = library.status_layout();
        assert_eq!(bytes.len(), layout.size_bytes);
        assert_eq!(layout.bytes_received(&bytes), expected);
        assert_eq!(layout.source(&bytes), Some(0));
    }

    #[test]
    fn a_status_tells_the_bytes_received() {
        check_status(LibraryFamily::OpenMpi, &[0, 7, 9, 0, 257, 0], Some(257));
        check_status(LibraryFamily::OpenMpi, &[0, 7, 9, 1, 1, 2], Some(0x2_0000_0001));
        check_status(LibraryFamily::Mpich, &[257, 0, 0, 7, 9], Some(257));
        check_status(LibraryFamily::Mpich, &[1, 4 | 1, 0, 7, 9], Some(0x2_0000_0001));
        check_status(LibraryFamily::StandardAbi, &[0, 7, 9, 257, 0, 0, 0, 0], None);
    }

    #[test]
    fn a_status_that_is_cut_tells_nothing() {
        assert_eq!(LibraryFamily::OpenMpi.status_layout().bytes_received(&[0; 23]), None);
    }
}
