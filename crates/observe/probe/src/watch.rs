//! Records of MPI calls for the tuner: the next ones of a thread, to find the program's iterations in their sequence, or
//! the passages of one call site, to measure them.
//!
//! # Invariants
//! - The control thread writes the request, the program's threads only count down in it: a call that nobody asked for costs
//!   one load.
//! - A record that finds no room is left out; what iterations are made of has a bound, or comes again.

use events::{FunctionKind, WatchedCall};
use ring::ThreadWriter;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};
use wire::control::WatchedCalls;

/// Words in the set of operations.
const N_WORDS: usize = 32;
/// No calls.
const NOTHING: u64 = 0;
/// The next calls, as long as some are left.
const NEXT: u64 = 1;

/// [`NOTHING`], [`NEXT`], or the return address of a call site.
static WANTED: AtomicU64 = AtomicU64::new(NOTHING);
/// Index of the thread in the segment.
static THREAD: AtomicU32 = AtomicU32::new(0);
/// Calls still to be recorded.
static LEFT: AtomicU32 = AtomicU32::new(0);
/// Passages of the call site for one record.
static EVERY: AtomicU32 = AtomicU32::new(1);
/// Passages since the last record.
static PASSED: AtomicU32 = AtomicU32::new(0);
/// Calls since the last record.
static CALLED: AtomicU64 = AtomicU64::new(0);
/// Operations that count as calls, a bit each.
static OPERATIONS: [AtomicU64; N_WORDS] = [const { AtomicU64::new(0) }; N_WORDS];

/// Starts recording for the tuner; replaces what was recorded before.
pub(crate) fn start(thread: u32, calls: &WatchedCalls, operations: &[u64]) {
    stop();
    THREAD.store(thread, Ordering::Relaxed);
    for (at, word) in OPERATIONS.iter().enumerate() {
        word.store(operations.get(at).copied().unwrap_or(0), Ordering::Relaxed);
    }
    PASSED.store(0, Ordering::Relaxed);
    CALLED.store(0, Ordering::Relaxed);
    let wanted = match *calls {
        WatchedCalls::None => NOTHING,
        WatchedCalls::Next { n_calls } => {
            LEFT.store(n_calls, Ordering::Relaxed);
            NEXT
        }
        WatchedCalls::Site { address, every } => {
            EVERY.store(every.max(1), Ordering::Relaxed);
            address
        }
    };
    WANTED.store(wanted, Ordering::Release);
}

/// Ends recording.
pub(crate) fn stop() {
    WANTED.store(NOTHING, Ordering::Release);
}

/// Returns whether any thread's calls are asked for.
#[inline(always)]
pub(crate) fn is_on() -> bool {
    WANTED.load(Ordering::Relaxed) != NOTHING
}

/// Counts a call from `enter` to `exit`, and records it if it was asked for.
#[cold]
#[inline(never)]
pub(crate) fn see(
    writer: &mut ThreadWriter,
    operation: u16,
    address: u64,
    (enter_ticks, exit_ticks): (u64, u64),
    bytes: u64,
) {
    let wanted = WANTED.load(Ordering::Acquire);
    if writer.idx() != THREAD.load(Ordering::Relaxed) || !is_counted(operation) {
        return;
    }
    let n_calls = CALLED.load(Ordering::Relaxed) + 1;
    CALLED.store(n_calls, Ordering::Relaxed);
    if !is_due(wanted, address) {
        return;
    }
    CALLED.store(0, Ordering::Relaxed);
    let kind = FunctionKind::Watched as u16;
    let call = WatchedCall {
        enter_ticks,
        exit_ticks,
        address,
        bytes,
        n_calls,
        operation,
        kind,
        ..WatchedCall::default()
    };
    let _has_room = writer.append(&call.into());
}

fn is_counted(operation: u16) -> bool {
    let word = OPERATIONS.get(usize::from(operation / 64));
    word.is_some_and(|word| word.load(Ordering::Relaxed) >> (operation % 64) & 1 != 0)
}

/// Counts down, and returns whether this call is to be recorded.
fn is_due(wanted: u64, address: u64) -> bool {
    match wanted {
        NOTHING => false,
        NEXT => {
            let left = LEFT.load(Ordering::Relaxed);
            if left == 0 {
                stop();
                return false;
            }
            LEFT.store(left - 1, Ordering::Relaxed);
            true
        }
        site if site == address => {
            let n_passed = PASSED.load(Ordering::Relaxed) + 1;
            let is_due = EVERY.load(Ordering::Relaxed) <= n_passed;
            PASSED.store(if is_due { 0 } else { n_passed }, Ordering::Relaxed);
            is_due
        }
        _ => false,
    }
}
