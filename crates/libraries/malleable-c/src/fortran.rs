//! The communicator as Fortran sees it.

use crate::run::{malleable, malleable_handle};
use core::ffi::c_int;
use std::mem::transmute;

/// `MPI_Comm_c2f`. Where a communicator is an integer, that is the lower half of the argument.
type ToFortran = unsafe extern "C" fn(usize) -> c_int;

/// Returns the communicator of the present ranks as the integer that Fortran uses. A resize replaces it.
///
/// # Safety
/// As for `malleable_handle`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn malleable_fortran_comm(program: *const malleable) -> c_int {
    // SAFETY: by the condition of this function.
    let handle = unsafe { malleable_handle(program) };
    // SAFETY: a name that ends with a zero byte.
    let found = unsafe { libc::dlsym(libc::RTLD_DEFAULT, c"MPI_Comm_c2f".as_ptr()) };
    // SAFETY: null is `None`, and the function of MPI has this type.
    let found = unsafe { transmute::<*mut libc::c_void, Option<ToFortran>>(found) };
    // Without the function, as in MPICH 4, the integer of C is that of Fortran too.
    let lower_half = u32::try_from(handle & 0xffff_ffff).unwrap_or(0).cast_signed();
    // SAFETY: the communicator is valid as long as the size lasts.
    found.map_or(lower_half, |to_fortran| unsafe { to_fortran(handle) })
}
