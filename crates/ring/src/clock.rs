//! The clock of all records: the processor's time-stamp counter, and what ties it to the time of day.

use std::time::{SystemTime, UNIX_EPOCH};

/// The time-stamp counter now.
#[inline(always)]
pub fn ticks() -> u64 {
    // SAFETY: every x86-64 processor has the counter, and Linux lets programs read it.
    unsafe { std::arch::x86_64::_rdtsc() }
}

/// Ticks and nanoseconds since 1970 at one moment.
///
/// The tightest of a few tries: an interruption between the readings would tie them wrongly.
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
