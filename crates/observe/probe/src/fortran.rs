//! Reads the arguments of Fortran calls, all passed by address.
#![allow(unsafe_code, reason = "reads the program's arguments")]

use crate::handle::Handle;
use crate::next;

/// Reads the INTEGER at an address.
#[inline(always)]
pub(crate) fn number(address: usize) -> i64 {
    if address == 0 {
        return 0;
    }
    // SAFETY: the program passes the address of an INTEGER here.
    unsafe { (address as *const i32).read_unaligned() }.into()
}

/// Reads the 64-bit INTEGER at an address.
#[inline(always)]
pub(crate) fn large_number(address: usize) -> i64 {
    if address == 0 {
        return 0;
    }
    // SAFETY: the program passes the address of an INTEGER of an ADDRESS, OFFSET or COUNT kind here.
    unsafe { (address as *const i64).read_unaligned() }
}

/// Reads the handle at an address.
#[inline(always)]
pub(crate) fn handle(address: usize) -> Handle {
    Handle::fortran_at(address)
}

/// Returns the address of the data behind a Fortran 2018 descriptor.
#[inline(always)]
pub(crate) fn described(address: usize) -> usize {
    if address == 0 {
        return 0;
    }
    // SAFETY: `base_addr` is the first member of a `CFI_cdesc_t`.
    unsafe { (address as *const usize).read() }
}

/// Returns whether the error code means success; `mpi_f08` calls may omit the code.
#[inline(always)]
pub(crate) fn succeeded(ierror: usize) -> bool {
    number(ierror) == 0
}

/// Sets the error code for a function that the library lacks.
pub(crate) fn set_missing(ierror: usize) {
    if ierror != 0 {
        // SAFETY: the address of the program's error code.
        unsafe { (ierror as *mut i32).write_unaligned(next::MISSING) };
    }
}
