//! Variables that tools see.

use std::sync::atomic::{AtomicI32, Ordering};

points::variables! {
    /// First iteration of the stretch.
    ml_iteration: i32 = 0;
    /// Number of iterations in the stretch.
    ml_n_iterations: i32 = 0;
    /// Present number of ranks, and the request for another one.
    ml_n_ranks: i32 = 0;
}

/// Integer variable that tools see.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Variable {
    Iteration,
    Iterations,
    Ranks,
}

impl Variable {
    /// Sets the variable; numbers above the largest `int` are clamped to it.
    pub(crate) fn set(self, value: u64) {
        let value = i32::try_from(value).unwrap_or(i32::MAX);
        self.atomic().store(value, Ordering::Relaxed);
    }

    /// Returns the value; 0 for a negative one.
    pub(crate) fn get(self) -> u32 {
        u32::try_from(self.atomic().load(Ordering::Relaxed)).unwrap_or(0)
    }

    fn atomic(self) -> &'static AtomicI32 {
        as_atomic(match self {
            Self::Iteration => &raw mut ml_iteration,
            Self::Iterations => &raw mut ml_n_iterations,
            Self::Ranks => &raw mut ml_n_ranks,
        })
    }
}

#[inline(always)]
#[expect(clippy::inline_always, reason = "so that the instruction names the variable")]
#[expect(unsafe_code, reason = "the variable has the type of C, not that of an atomic")]
fn as_atomic(variable: *mut i32) -> &'static AtomicI32 {
    // SAFETY: the pointer is to one of the statics above, which live forever and are aligned; all accesses of
    // this program go through here, and tools write whole values while the thread that reads them is stopped.
    unsafe { AtomicI32::from_ptr(variable) }
}
