//! Registration of values and of partitions of rows.

use crate::abi::{
    MALLEABLE_ALIGNED, MALLEABLE_BLOCKS_2D, MALLEABLE_CYCLIC, MALLEABLE_EVEN, MALLEABLE_FAILED,
    MALLEABLE_WEIGHTED, malleable_block, malleable_bounds, malleable_share,
};
use crate::arrays::ProgramValue;
use crate::failure::misuse;
use crate::run::malleable;
use ::malleable::{Class, Cut, Partition};
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

/// Like `malleable_rows_of`, for blocks of a body: rows are its cells, column by column, row by row, plane by plane.
/// `extents` are its numbers of planes, of rows in a plane, and of columns, less than 2^32 each. Of all grids of blocks it is
/// the one with the smallest borders; `malleable_block_of` describes it.
///
/// # Safety
/// As for `malleable_rows_of`; `extents` is null or has three numbers.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn malleable_blocks_3d(
    program: *mut malleable,
    extents: *const u64,
    share: *mut malleable_share,
) -> c_int {
    // SAFETY: by the condition of this function.
    match unsafe { body(extents) } {
        // SAFETY: by the condition of this function.
        Some((n_cells, cut)) => unsafe { space(program, n_cells, cut, share) },
        None => misuse(NO_BODY),
    }
}

/// Writes the block that a rank has of a body with these extents, as `malleable_blocks_3d` cuts it among `n_ranks`. Needs no
/// program, so functions of `malleable_each_size` may call it.
///
/// # Safety
/// `extents` is null or has three numbers; `block` is null or has room for a block.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn malleable_block_of(
    extents: *const u64,
    n_ranks: u32,
    rank: u32,
    block: *mut malleable_block,
) -> c_int {
    // SAFETY: by the condition of this function.
    let Some((n_cells, cut)) = (unsafe { body(extents) }).filter(|_| !block.is_null()) else {
        return misuse(NO_BODY);
    };
    let Some(found) = cut.partition(n_cells, n_ranks).ok().and_then(|parts| block_of(&parts, rank))
    else {
        return misuse(&format!("there is no rank {rank} among {n_ranks}"));
    };
    // SAFETY: by the condition of this function.
    unsafe { block.write(found) };
    0
}

const NO_BODY: &str = "a body was given by a null pointer, or by extents of 2^32 and more";

/// Returns the number of cells of a body, and its partition; `None` for extents that are null or too large.
///
/// # Safety
/// `extents` is null or has three numbers.
unsafe fn body(extents: *const u64) -> Option<(u64, Cut)> {
    // SAFETY: by the condition of this function.
    let [n_planes, n_rows, n_columns] = *unsafe { extents.cast::<[u64; 3]>().as_ref() }?;
    let n_cells = n_planes.checked_mul(n_rows)?.checked_mul(n_columns)?;
    let (n_rows, n_columns) = (u32::try_from(n_rows).ok()?, u32::try_from(n_columns).ok()?);
    Some((n_cells, Cut::Blocks3d { n_rows, n_columns }))
}

fn block_of(parts: &Partition, rank: u32) -> Option<malleable_block> {
    let axes = parts.block(rank)?;
    let n_blocks = parts.n_blocks()?.map(|n| u32::try_from(n).unwrap_or(u32::MAX));
    let [_, rows, columns] = n_blocks;
    let extents = [0, 1, 2].map(|axis: usize| axes[axis].end - axes[axis].start);
    let place = [rank / columns / rows, rank / columns % rows, rank % columns];
    Some(malleable_block { first: axes.map(|axis| axis.start), extents, n_blocks, place })
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
