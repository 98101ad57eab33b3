//! Polling loop of MPICH on libfabric: each poll calls the function `read` of a completion queue.
//!
//! That function is in a table of the queue, the queue is opened by a function in a table of its domain, the domain by one of its
//! fabric, and the fabric by `fi_fabric`, to which the MPI library is bound. So our functions have to be in place before
//! `MPI_Init` opens the fabric. Each object gets a copy of its table, where one function is ours.
#![allow(
    unsafe_code,
    reason = "stands between the MPI library and libfabric, whose tables are part of its interface"
)]

use super::poll;
use crate::{next, object};
use std::ffi::{CStr, c_int, c_void};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

const OPEN_FABRIC: &CStr = c"fi_fabric";

/// Places of functions in the tables; the first word of a table is its size in bytes.
const OPEN_DOMAIN: usize = 1;
const OPEN_QUEUE: usize = 2;
const READ_QUEUE: usize = 1;
/// Most words in a table that is believed.
const N_WORDS_MAX: usize = 64;

/// Address of libfabric's function; 0 before it was looked up.
static REAL_OPEN_FABRIC: AtomicUsize = AtomicUsize::new(0);
static HAS_QUEUE: AtomicBool = AtomicBool::new(false);

/// Object of libfabric (`fid_fabric`, `fid_domain` or `fid_cq`).
#[repr(C)]
struct Object {
    /// Class, context and general functions.
    fid: [usize; 3],
    /// Table of its functions.
    table: *const usize,
}

/// Opens an object with the help of another one, by its description.
type Open = unsafe extern "C" fn(*mut Object, *mut c_void, *mut *mut Object, *mut c_void) -> c_int;
type OpenFabric = unsafe extern "C" fn(*mut c_void, *mut *mut Object, *mut c_void) -> c_int;
type Read = unsafe extern "C" fn(*mut Object, *mut c_void, usize) -> isize;

/// Takes the place of `fi_fabric`, before `MPI_Init`.
pub(super) fn prepare() {
    let real = next::real_symbol(OPEN_FABRIC).addr();
    if real != 0 && REAL_OPEN_FABRIC.swap(real, Ordering::AcqRel) == 0 {
        let function = open_fabric as *const () as usize;
        object::bind_calls(OPEN_FABRIC, function, object::LoadedObject::is_mpi_library);
    }
}

/// Returns whether polls come by here.
pub(super) fn has_queue() -> bool {
    HAS_QUEUE.load(Ordering::Relaxed)
}

/// Stands in for `fi_fabric`.
unsafe extern "C" fn open_fabric(
    description: *mut c_void,
    fabric: *mut *mut Object,
    context: *mut c_void,
) -> c_int {
    let real = REAL_OPEN_FABRIC.load(Ordering::Acquire);
    // SAFETY: stored before any call was bound to us; libfabric's function of this signature.
    let real = unsafe { std::mem::transmute::<usize, OpenFabric>(real) };
    // SAFETY: the MPI library's own arguments.
    let result = unsafe { real(description, fabric, context) };
    if result == 0 {
        // SAFETY: the function has opened an object there.
        unsafe { replace(fabric, OPEN_DOMAIN, open_domain as *const () as usize) };
    }
    result
}

/// Stands in for the function `domain` of a fabric.
unsafe extern "C" fn open_domain(
    fabric: *mut Object,
    description: *mut c_void,
    domain: *mut *mut Object,
    context: *mut c_void,
) -> c_int {
    // SAFETY: called through the table that `replace` gave the object.
    let real = unsafe { original(fabric) };
    // SAFETY: a function of libfabric of this signature.
    let real = unsafe { std::mem::transmute::<usize, Open>(real) };
    // SAFETY: the MPI library's own arguments.
    let result = unsafe { real(fabric, description, domain, context) };
    if result == 0 {
        // SAFETY: the function has opened an object there.
        unsafe { replace(domain, OPEN_QUEUE, open_queue as *const () as usize) };
    }
    result
}

/// Stands in for the function `cq_open` of a domain.
unsafe extern "C" fn open_queue(
    domain: *mut Object,
    description: *mut c_void,
    queue: *mut *mut Object,
    context: *mut c_void,
) -> c_int {
    // SAFETY: called through the table that `replace` gave the object.
    let real = unsafe { original(domain) };
    // SAFETY: a function of libfabric of this signature.
    let real = unsafe { std::mem::transmute::<usize, Open>(real) };
    // SAFETY: the MPI library's own arguments.
    let result = unsafe { real(domain, description, queue, context) };
    // SAFETY: the function has opened an object there.
    if result == 0 && unsafe { replace(queue, READ_QUEUE, read_queue as *const () as usize) } {
        HAS_QUEUE.store(true, Ordering::Relaxed);
    }
    result
}

/// Stands in for the function `read` of a completion queue.
unsafe extern "C" fn read_queue(queue: *mut Object, events: *mut c_void, n_max: usize) -> isize {
    // SAFETY: called through the table that `replace` gave the object.
    let real = unsafe { original(queue) };
    // SAFETY: a function of libfabric of this signature.
    let real = unsafe { std::mem::transmute::<usize, Read>(real) };
    // SAFETY: the MPI library's own arguments.
    let n_events = unsafe { real(queue, events, n_max) };
    poll::after_poll(0 < n_events);
    n_events
}

/// Gives an object a copy of its table in which one function is replaced, and behind which the original function is kept;
/// returns false if the table is not one.
///
/// # Safety
/// `object` points to an open object.
unsafe fn replace(object: *mut *mut Object, position: usize, function: usize) -> bool {
    // SAFETY: as the caller says.
    let object = unsafe { *object };
    // SAFETY: as the caller says.
    let object = unsafe { &mut *object };
    if object.table.is_null() {
        return false;
    }
    // SAFETY: every table begins with its size.
    let n_words = unsafe { *object.table } / size_of::<usize>();
    if n_words <= position || N_WORDS_MAX < n_words {
        return false;
    }
    // SAFETY: it has this many words.
    let mut table = unsafe { std::slice::from_raw_parts(object.table, n_words) }.to_vec();
    table.push(table[position]);
    table[position] = function;
    object.table = Box::leak(table.into_boxed_slice()).as_ptr();
    true
}

/// Returns the function that was replaced.
///
/// # Safety
/// The object has the table that [`replace`] gave it.
unsafe fn original(object: *mut Object) -> usize {
    // SAFETY: as the caller says.
    let table = unsafe { (*object).table };
    // SAFETY: the first word is the size of the rest.
    let n_words = unsafe { *table } / size_of::<usize>();
    // SAFETY: `replace` kept it behind the table.
    unsafe { *table.wrapping_add(n_words) }
}
