//! Clock of all records: the processor's time-stamp counter, and its relation to the time of day.

use std::time::{SystemTime, UNIX_EPOCH};

/// Reads the time-stamp counter.
#[inline(always)]
pub fn ticks() -> u64 {
    // SAFETY: every x86-64 processor has the counter, and Linux lets programs read it.
    unsafe { std::arch::x86_64::_rdtsc() }
}

/// Returns ticks and nanoseconds since 1970 at the same moment.
///
/// The tightest of a few tries, since an interruption between the two readings would pair them wrongly.
pub fn point() -> (u64, u64) {
    let tries = (0..8).map(|_| {
        let before = ticks();
        let since_1970 = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        let after = ticks();
        let ns = u64::try_from(since_1970.as_nanos()).unwrap_or(u64::MAX);
        (after.wrapping_sub(before), before.wrapping_add(after.wrapping_sub(before) / 2), ns)
    });
    let (_, at, ns) = tries.min_by_key(|(width, ..)| *width).unwrap_or_default();
    (at, ns)
}
