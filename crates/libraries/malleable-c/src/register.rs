//! Registration of values and of partitions of rows.

use crate::abi::{
    MALLEABLE_ALIGNED, MALLEABLE_BLOCKS_2D, MALLEABLE_CYCLIC, MALLEABLE_EVEN, MALLEABLE_FAILED,
    MALLEABLE_WEIGHTED, malleable_bounds, malleable_share,
};
use crate::arrays::ProgramValue;
use crate::failure::misuse;
use crate::run::malleable;
use ::malleable::{Class, Cut};
use c_interface::set_last_error;
use core::ffi::{CStr, c_char, c_int, c_void};
use std::sync::{Mutex, PoisonError};

/// Copies a name of the program, for good.
///
/// # Safety
/// `text` is null or ends with a zero byte.
pub(crate) unsafe fn name(text: *const c_char) -> Option<&'static str> {
    if text.is_null() {
        return None;
    }
    // SAFETY: by the condition of this function.
    let text = unsafe { CStr::from_ptr(text) };
    // The leak is small: a program registers few objects, once.
    Some(Box::leak(text.to_string_lossy().into_owned().into_boxed_str()))
}

/// Registers bytes that are the same on every rank and never change: they move while the program computes.
///
/// All functions that register return 0 or `MALLEABLE_MISUSE`. Every process registers the same objects, in the same
/// order, before its first resize point; a new process registers places that are still empty. Names are for messages.
///
/// # Safety
/// The name ends with a zero byte, and `place` holds `n_bytes` bytes until the end.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn malleable_constant(
    program: *mut malleable,
    called: *const c_char,
    place: *mut c_void,
    n_bytes: usize,
) -> c_int {
    // SAFETY: by the condition of this function.
    unsafe { value(program, called, (place, n_bytes), Class::Constant) }
}

/// Registers bytes that are the same on every rank and change between iterations.
///
/// # Safety
/// As for `malleable_constant`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn malleable_variable(
    program: *mut malleable,
    called: *const c_char,
    place: *mut c_void,
    n_bytes: usize,
) -> c_int {
    // SAFETY: by the condition of this function.
    unsafe { value(program, called, (place, n_bytes), Class::Variable) }
}

unsafe fn value(
    program: *mut malleable,
    called: *const c_char,
    (place, n_bytes): (*mut c_void, usize),
    class: Class,
) -> c_int {
    // SAFETY: by the condition of the callers.
    let (Some(program), Some(name)) = (unsafe { program.as_ref() }, unsafe { name(called) }) else {
        return misuse("a value was registered with a null pointer");
    };
    if place.is_null() {
        return misuse(&format!("`{name}` is registered at a null pointer"));
    }
    // SAFETY: by the condition of the callers.
    let value = unsafe { ProgramValue::new(place.cast(), n_bytes) };
    program.with(|parts| {
        parts.state.value(name, class, value);
        0
    })
}

/// Sets the partition of the rows of the arrays that are registered next: `MALLEABLE_EVEN` and so on, with its
/// parameter. `share` receives the rows of this rank: here, except for `MALLEABLE_WEIGHTED`, and after every resize. A
/// new rank need not know `n_rows`.
///
/// # Safety
/// `share` stays at its address until the end.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn malleable_rows_of(
    program: *mut malleable,
    n_rows: u64,
    cut: c_int,
    with: u64,
    share: *mut malleable_share,
) -> c_int {
    match numbered_cut(cut, with) {
        // SAFETY: by the condition of this function.
        Some(cut) => unsafe { space(program, n_rows, cut, share) },
        None => misuse(&format!("`{cut}` is not a cut; the header lists all")),
    }
}

/// Like `malleable_rows_of`, for blocks whose bounds a function of the program writes; at most four such functions.
///
/// # Safety
/// As for `malleable_rows_of`; the function writes one bound more than there are parts.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn malleable_rows_given(
    program: *mut malleable,
    n_rows: u64,
    bounds: malleable_bounds,
    context: *mut c_void,
    share: *mut malleable_share,
) -> c_int {
    if bounds.is_none() {
        return misuse("`malleable_rows_given` got no function");
    }
    match given_cut(bounds, context) {
        // SAFETY: by the condition of this function.
        Some(cut) => unsafe { space(program, n_rows, cut, share) },
        None => misuse("there are four functions for bounds already"),
    }
}

unsafe fn space(
    program: *mut malleable,
    n_rows: u64,
    cut: Cut,
    share: *mut malleable_share,
) -> c_int {
    // SAFETY: by the condition of the callers.
    let (Some(program), false) = (unsafe { program.as_ref() }, share.is_null()) else {
        return misuse("rows were registered with a null pointer");
    };
    program.with(|parts| {
        if let Some(first) = parts.first_share(n_rows, cut) {
            let Ok(first) = first.map_err(|why| set_last_error(&why)) else {
                return MALLEABLE_FAILED;
            };
            // SAFETY: `share` is the program's own memory for it.
            unsafe { share.write(first) };
        }
        // SAFETY: by the condition of the callers.
        unsafe { parts.state.space(n_rows, cut, share) };
        0
    })
}

/// Largest number of C functions in one program.
const N_GIVEN: usize = 4;

#[derive(Clone, Copy)]
struct Given {
    function: malleable_bounds,
    context: *mut c_void,
}

// SAFETY: the program that gives a function lets the library call it, as the header says.
unsafe impl Send for Given {}

/// C functions that partition rows. Each needs its context, for which a Rust function has no place: so there is one Rust
/// function for each of a few numbers.
static GIVEN: Mutex<Vec<Given>> = Mutex::new(Vec::new());

/// Returns the rule with this number, with its parameter; `None` where there is none.
fn numbered_cut(number: c_int, with: u64) -> Option<Cut> {
    Some(match number {
        MALLEABLE_EVEN => Cut::Even,
        MALLEABLE_WEIGHTED => Cut::Weighted,
        MALLEABLE_ALIGNED => Cut::Aligned(with),
        MALLEABLE_CYCLIC => Cut::Cyclic(with),
        MALLEABLE_BLOCKS_2D => Cut::Blocks2d { n_columns: with },
        _ => return None,
    })
}

/// Returns the rule of a C function; `None` when there are too many.
fn given_cut(function: malleable_bounds, context: *mut c_void) -> Option<Cut> {
    let mut given = GIVEN.lock().unwrap_or_else(PoisonError::into_inner);
    let functions =
        [bounds::<0>, bounds::<1>, bounds::<2>, bounds::<3>] as [fn(_, _) -> _; N_GIVEN];
    let cut = functions.get(given.len()).map(|function| Cut::Given(*function))?;
    given.push(Given { function, context });
    Some(cut)
}

fn bounds<const N: usize>(n_rows: u64, n_parts: u32) -> Vec<u64> {
    let mut bounds = vec![0; n_parts as usize + 1];
    let given = GIVEN.lock().unwrap_or_else(PoisonError::into_inner).get(N).copied();
    if let Some(Given { function: Some(function), context }) = given {
        // SAFETY: a function of the program with its context and room for so many bounds, as the header says.
        unsafe { function(n_rows, n_parts, bounds.as_mut_ptr(), context) };
    }
    bounds
}
