//! Partitioning rules as C states them.
//!
//! A partition by a C function needs its context, for which a Rust function has no place: so there is one Rust function
//! for each of a few numbers, and a table of the C functions with their contexts.

use crate::abi::{
    MALLEABLE_ALIGNED, MALLEABLE_BLOCKS_2D, MALLEABLE_CYCLIC, MALLEABLE_EVEN, MALLEABLE_WEIGHTED,
    malleable_bounds,
};
use core::ffi::{c_int, c_void};
use malleable::Cut;
use std::sync::{Mutex, PoisonError};

/// Largest number of C functions in one program.
const N_GIVEN: usize = 4;

#[derive(Clone, Copy)]
struct Given {
    function: malleable_bounds,
    context: *mut c_void,
}

// SAFETY: the program that gives a function lets the library call it, as the header says.
unsafe impl Send for Given {}

static GIVEN: Mutex<Vec<Given>> = Mutex::new(Vec::new());

/// Returns the rule with this number, with its parameter; `None` where there is none.
pub(crate) fn cut(number: c_int, with: u64) -> Option<Cut> {
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
pub(crate) fn given(function: malleable_bounds, context: *mut c_void) -> Option<Cut> {
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
