//! MPI library of this process, with its special values.
#![allow(unsafe_code, reason = "looks symbols up")]

use crate::handle::Handle;
use crate::{next, pmpi};
use mpi_abi::LibraryFamily;
use std::ffi::{CString, c_void};

/// The MPI library and its constants that a call needs.
#[derive(Clone, Copy, Debug)]
pub(crate) struct MpiLibrary {
    /// Family of the library.
    pub(crate) family: LibraryFamily,
    /// Mask of the register bits that belong to a handle.
    pub(crate) handle_mask: usize,
    /// `MPI_COMM_WORLD` in C.
    pub(crate) world: usize,
    /// `MPI_COMM_WORLD` in Fortran.
    pub(crate) world_fortran: Handle,
    /// `MPI_BYTE` in C.
    pub(crate) byte: usize,
    /// `MPI_COMM_NULL` in C.
    pub(crate) comm_null: usize,
    /// `MPI_IN_PLACE` in C and in Fortran.
    pub(crate) in_place: [usize; 2],
    /// `MPI_STATUS_IGNORE` in C and in Fortran.
    pub(crate) status_ignore: [usize; 2],
    /// `MPI_STATUSES_IGNORE` in C and in Fortran.
    pub(crate) statuses_ignore: [usize; 2],
    /// `MPI_PROC_NULL`.
    pub(crate) proc_null: i64,
    /// `MPI_ROOT`.
    pub(crate) root: i64,
    /// Size of a request handle in bytes.
    pub(crate) request_bytes: usize,
    /// Whether Fortran entry points call the C function, where the call is counted.
    pub(crate) fortran_calls_c: bool,
}

impl MpiLibrary {
    /// Examines the process; `None` if it has no known library.
    pub(crate) fn detect() -> Option<Self> {
        let init = next::c(usize::from(next::MPI_SEND))?;
        let has_symbol = |name: &str| address_of(name) != 0;
        let family = LibraryFamily::detect(&next::file_name_of(init), has_symbol)?;
        let constants = family.constants();
        let handle_mask = if constants.handle_bytes == 8 { usize::MAX } else { 0xffff_ffff };
        let fortran = family.classic_fortran();
        let fortran_address = |address: Option<mpi_abi::FortranAddress>| match address {
            Some(mpi_abi::FortranAddress::Of(symbol)) => global_address_of(symbol),
            _ => 0,
        };
        // Open MPI numbers the handle 0; in MPICH both languages have the same numbers.
        let world_fortran = if family == LibraryFamily::Mpich { 0x4400_0000 } else { 0 };
        Some(Self {
            family,
            handle_mask,
            world: value(constants.comm_world),
            world_fortran: Handle::fortran(world_fortran),
            byte: value(constants.byte),
            comm_null: value(constants.comm_null),
            in_place: [
                constants.in_place.cast_unsigned(),
                fortran_address(fortran.map(|fortran| fortran.in_place)),
            ],
            status_ignore: [
                constants.status_ignore.cast_unsigned(),
                fortran_address(fortran.map(|fortran| fortran.status_ignore)),
            ],
            statuses_ignore: [
                constants.statuses_ignore.cast_unsigned(),
                fortran_address(fortran.map(|fortran| fortran.statuses_ignore)),
            ],
            proc_null: constants.proc_null.into(),
            root: constants.root.into(),
            request_bytes: constants.handle_bytes,
            fortran_calls_c: family != LibraryFamily::OpenMpi,
        })
    }

    /// Returns whether a handle from C or from Fortran is `MPI_COMM_WORLD`.
    #[inline(always)]
    pub(crate) fn is_world(&self, comm: Handle, is_fortran: bool) -> bool {
        if is_fortran {
            comm == self.world_fortran
        } else {
            comm.masked(self.handle_mask) == self.world
        }
    }

    /// Returns the C handle of a handle of either language.
    pub(crate) fn c_handle(
        &self,
        handle: Handle,
        convert: fn(i32) -> Option<usize>,
    ) -> Option<usize> {
        if handle.is_fortran() && self.family == LibraryFamily::OpenMpi {
            return convert(handle.number());
        }
        Some(handle.masked(self.handle_mask & (usize::MAX >> 1)))
    }

    /// Returns whether this process was spawned by other MPI processes.
    pub(crate) fn is_spawned(&self) -> bool {
        pmpi::parent().is_some_and(|parent| parent & self.handle_mask != self.comm_null)
    }
}

/// Value of a constant handle in C.
pub(crate) fn value(handle: mpi_abi::Handle) -> usize {
    match handle {
        mpi_abi::Handle::AddressOf(symbol) => address_of(symbol),
        mpi_abi::Handle::Value(value) => value as usize,
    }
}

/// Returns the address of a symbol of the MPI library; 0 if there is none.
pub(crate) fn address_of(symbol: &str) -> usize {
    let global = global_address_of(symbol);
    if global != 0 {
        return global;
    }
    CString::new(symbol).map_or(0, |symbol| next::real_symbol(&symbol).addr())
}

/// Returns the address of the definition that the program uses; 0 if there is none.
fn global_address_of(symbol: &str) -> usize {
    let Ok(symbol) = CString::new(symbol) else { return 0 };
    // SAFETY: a look-up by name.
    let address: *mut c_void = unsafe { libc::dlsym(libc::RTLD_DEFAULT, symbol.as_ptr()) };
    if address.is_null() {
        next::forget_failure();
    }
    address.addr()
}
