//! Reads the arguments of Fortran calls, all passed by address.
#![allow(unsafe_code, reason = "reads the program's arguments")]

use crate::next;

/// Reads the INTEGER at an address.
#[inline(always)]
pub(crate) fn number(address: usize) -> i64 {
    read::<i32>(address).into()
}

/// Reads the INTEGER of an ADDRESS, OFFSET or COUNT kind at an address.
#[inline(always)]
pub(crate) fn large_number(address: usize) -> i64 {
    read(address)
}

/// Returns the address of the data behind a Fortran 2018 descriptor: `base_addr` is the first member of a `CFI_cdesc_t`.
#[inline(always)]
pub(crate) fn described(address: usize) -> usize {
    read(address)
}

#[inline(always)]
fn read<T: Copy + Default>(address: usize) -> T {
    if address == 0 {
        return T::default();
    }
    // SAFETY: the program passes the address of such a number here.
    unsafe { (address as *const T).read_unaligned() }
}

/// Returns whether the error code means success; `mpi_f08` calls may omit the code.
#[inline(always)]
pub(crate) fn succeeded(ierror: usize) -> bool {
    number(ierror) == 0
}

/// Returns the address of the error code; that of our own where the program omits it.
#[inline(always)]
pub(crate) fn code_or(ierror: usize, own: &mut i32) -> usize {
    if ierror == 0 { std::ptr::from_mut(own).addr() } else { ierror }
}

/// Reads the error code of a call.
#[inline(always)]
pub(crate) fn code(ierror: usize) -> i32 {
    read(ierror)
}

/// Sets the error code for a function that the library lacks.
pub(crate) fn set_missing(ierror: usize) {
    if ierror != 0 {
        // SAFETY: the address of the program's error code.
        unsafe { (ierror as *mut i32).write_unaligned(next::MISSING) };
    }
}
