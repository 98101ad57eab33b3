//! Open MPI's polling loop: after a poll without events `opal_progress` calls `sched_yield`, if it was told to yield by
//! `opal_progress_set_yield_when_idle`. There our own function takes the place of `sched_yield`.
#![allow(unsafe_code, reason = "calls functions behind the MPI library")]

use super::{mode, poll};
use crate::pause::{self, Mode, Pause};
use crate::{next, object};
use std::ffi::{CStr, c_int};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

const SET_YIELD: &CStr = c"opal_progress_set_yield_when_idle";

/// Time for which yielding is better than sleeping: a rank that comes back finds its messages at the next poll.
const YIELD_US: u64 = 100;

/// Address of Open MPI's function; 0 before it was looked up.
static REAL_SET_YIELD: AtomicUsize = AtomicUsize::new(0);
/// Whether Open MPI yields by itself.
static YIELDS_ITSELF: AtomicBool = AtomicBool::new(false);
/// Whether our function has taken the place of `sched_yield`.
static IS_ENTERED: AtomicBool = AtomicBool::new(false);

type SetYield = unsafe extern "C" fn(bool) -> bool;

/// Takes the place of `sched_yield`, unless it is taken; returns false in other libraries.
pub(super) fn enter() -> bool {
    if find() == 0 {
        return false;
    }
    if !IS_ENTERED.swap(true, Ordering::Relaxed) {
        let function = yield_when_idle as *const () as usize;
        object::bind_calls(c"sched_yield", function, |object| object.path.contains("libopen-pal"));
    }
    true
}

/// Returns whether Open MPI yielded before a mode was set; its loop stays as it is.
pub(super) fn yields_by_itself() -> bool {
    find() != 0 && YIELDS_ITSELF.load(Ordering::Relaxed)
}

/// Returns the address of Open MPI's function, and notes at first whether Open MPI yields; 0 in other libraries.
fn find() -> usize {
    let known = REAL_SET_YIELD.load(Ordering::Acquire);
    if known != 0 {
        return known;
    }
    let real = next::real_symbol(SET_YIELD).addr();
    if real != 0 {
        let before = set_yield(real, true);
        set_yield(real, before);
        YIELDS_ITSELF.store(before, Ordering::Relaxed);
        REAL_SET_YIELD.store(real, Ordering::Release);
    }
    real
}

/// Makes Open MPI yield when it is idle, or not, as a mode wants it.
pub(super) fn follow(mode: Mode) {
    let real = REAL_SET_YIELD.load(Ordering::Acquire);
    if real != 0 {
        set_yield(real, mode != Mode::Off || YIELDS_ITSELF.load(Ordering::Relaxed));
    }
}

/// Calls Open MPI's function at an address; returns whether it yielded before.
fn set_yield(real: usize, yields: bool) -> bool {
    // SAFETY: Open MPI's function, of one signature in all versions.
    let real = unsafe { std::mem::transmute::<usize, SetYield>(real) };
    // SAFETY: it stores one word, which `opal_progress` reads.
    unsafe { real(yields) }
}

/// Stands in for `sched_yield` in `opal_progress`.
unsafe extern "C" fn yield_when_idle() -> c_int {
    let next = match mode() {
        Mode::Off => Pause::Yield,
        mode => poll::choose(mode, YIELD_US),
    };
    let yields_itself = YIELDS_ITSELF.load(Ordering::Relaxed);
    pause::make(if next == Pause::None && yields_itself { Pause::Yield } else { next });
    0
}
