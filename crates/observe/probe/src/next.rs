//! Real functions behind the wrappers: the next definition of the same name.
#![allow(unsafe_code, reason = "asks the dynamic linker")]

use crate::object;
use std::ffi::{CStr, CString, c_int, c_void};
use std::ptr::null_mut;
use std::sync::atomic::{AtomicBool, AtomicPtr, Ordering};

include!(concat!(env!("OUT_DIR"), "/names.rs"));

/// Function of any type; cast to its own type before it is called.
pub(crate) type Function = unsafe extern "C" fn();

/// Return value of a wrapper when the library lacks the function (`MPI_ERR_OTHER` in nearly all libraries):
/// only a program that looked the function up by name can get here.
pub(crate) const MISSING: c_int = 16;

static C: [AtomicPtr<c_void>; C_NAMES.len()] =
    [const { AtomicPtr::new(null_mut()) }; C_NAMES.len()];
static FORTRAN: [AtomicPtr<c_void>; FORTRAN_NAMES.len()] =
    [const { AtomicPtr::new(null_mut()) }; FORTRAN_NAMES.len()];

/// Returns the real C function of an operation.
#[inline(always)]
pub(crate) fn c(number: usize) -> Option<Function> {
    known(&C[number]).or_else(|| resolve(&C[number], C_NAMES[number]))
}

/// Returns the real Fortran entry point with this number.
pub(crate) fn fortran(number: usize) -> Option<Function> {
    known(&FORTRAN[number]).or_else(|| resolve(&FORTRAN[number], FORTRAN_NAMES[number]))
}

#[inline(always)]
fn known(slot: &AtomicPtr<c_void>) -> Option<Function> {
    // SAFETY: the slot holds null or the address of a function; null becomes `None`.
    unsafe { std::mem::transmute::<*mut c_void, Option<Function>>(slot.load(Ordering::Relaxed)) }
}

#[cold]
#[inline(never)]
fn resolve(slot: &AtomicPtr<c_void>, names: &[&CStr]) -> Option<Function> {
    let address = names.iter().map(|name| real_symbol(name)).find(|address| !address.is_null())?;
    slot.store(address, Ordering::Relaxed);
    known(slot)
}

/// Notes that this library was loaded last: there is no next definition after it.
pub(crate) fn mark_loaded_last() {
    IS_LAST.store(true, Ordering::Relaxed);
}

static IS_LAST: AtomicBool = AtomicBool::new(false);

/// Finds the next definition of a symbol after ours, wherever the MPI library was loaded from.
pub(crate) fn real_symbol(name: &CStr) -> *mut c_void {
    let mut address = null_mut();
    if !IS_LAST.load(Ordering::Relaxed) {
        // SAFETY: a look-up by name.
        address = unsafe { libc::dlsym(libc::RTLD_NEXT, name.as_ptr()) };
    }
    if address.is_null() {
        // Python and plug-in hosts load the MPI library privately (RTLD_LOCAL).
        address = find_in_mpi_libraries(name);
        forget_failure();
    }
    address
}

/// Finds the next definition of a symbol after ours among objects that are loaded for all to see.
pub(crate) fn global_symbol(name: &CStr) -> *mut c_void {
    let order = if IS_LAST.load(Ordering::Relaxed) { libc::RTLD_DEFAULT } else { libc::RTLD_NEXT };
    // SAFETY: a look-up by name.
    let address = unsafe { libc::dlsym(order, name.as_ptr()) };
    if address.is_null() {
        forget_failure();
    }
    address
}

/// Forgets the error of our failed look-up, so that the program does not find it.
pub(crate) fn forget_failure() {
    // SAFETY: takes the linker's last sentence.
    let _forgotten = unsafe { libc::dlerror() };
}

fn find_in_mpi_libraries(name: &CStr) -> *mut c_void {
    let mut paths: Vec<CString> = Vec::new();
    object::for_each_loaded(|path, _, _| {
        if object::is_mpi_library(path.to_bytes()) {
            paths.push(path.to_owned());
        }
    });
    for path in paths {
        // SAFETY: only finds an object that is loaded already.
        let library = unsafe { libc::dlopen(path.as_ptr(), libc::RTLD_NOLOAD | libc::RTLD_LAZY) };
        if library.is_null() {
            continue;
        }
        // SAFETY: a look-up by name in an open object.
        let address = unsafe { libc::dlsym(library, name.as_ptr()) };
        // SAFETY: gives back the reference taken above.
        unsafe { libc::dlclose(library) };
        if !address.is_null() {
            return address;
        }
    }
    null_mut()
}

/// File name of the object that contains an address.
pub(crate) fn file_name_of(function: Function) -> String {
    let mut object = std::mem::MaybeUninit::<libc::Dl_info>::zeroed();
    // SAFETY: a look-up of an address; fills `object` when it returns non-zero.
    let found = unsafe { libc::dladdr(function as *const c_void, object.as_mut_ptr()) };
    // SAFETY: zeroed at the start, so valid in any case.
    let object = unsafe { object.assume_init() };
    if found == 0 || object.dli_fname.is_null() {
        return String::new();
    }
    // SAFETY: the linker's own string.
    let path = unsafe { CStr::from_ptr(object.dli_fname) }.to_string_lossy().into_owned();
    path.rsplit('/').next().unwrap_or_default().to_owned()
}
