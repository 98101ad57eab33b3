//! Measures the speed of a core by work of fixed size: integers, floating point, and memory beyond the caches of a
//! core, a third of the time each on an ordinary core.

use std::hint::black_box;

use rustix::time::{ClockId, clock_gettime};

/// Rounds of each kind of work.
const N_WHOLE: u32 = 9_600_000;
const N_FLOATING: u32 = 3_500_000;
const N_MEMORY: u32 = 160_000;
/// Number of integers that memory is read from: 8 MiB.
const N_NUMBERS: u32 = 1 << 21;
/// Time of this work on a core with speed 1, in s: about what an AMD EPYC under a hypervisor took, which has 5192
/// `bogomips`.
const ORDINARY_S: f64 = 0.050;
/// Number of tries, of which the fastest counts: other load only slows the work down.
const N_TRIES: u32 = 3;

/// Speed of this core relative to an ordinary one.
pub(super) fn speed() -> f64 {
    let numbers = numbers();
    let tries = (0..N_TRIES).map(|_| {
        // The thread's own time does not count while other threads run.
        let since_s = thread_seconds();
        black_box(whole(N_WHOLE));
        black_box(floating(N_FLOATING));
        black_box(memory(&numbers, N_MEMORY));
        thread_seconds() - since_s
    });
    // A clock that stands still would give an infinite speed.
    ORDINARY_S / tries.fold(f64::INFINITY, f64::min).max(1e-6)
}

fn thread_seconds() -> f64 {
    let time = clock_gettime(ClockId::ThreadCPUTime);
    #[expect(clippy::cast_precision_loss, reason = "a thread runs for less than 2^52 nanoseconds")]
    let seconds = time.tv_sec as f64 + time.tv_nsec as f64 * 1e-9;
    seconds
}

fn whole(n_rounds: u32) -> u64 {
    (0..n_rounds).fold(0x9E37_79B9_7F4A_7C15, |bits: u64, round| {
        let bits = bits ^ (bits << 13);
        let bits = bits ^ (bits >> 7);
        (bits ^ (bits << 17)).wrapping_add(u64::from(black_box(round)))
    })
}

fn floating(n_rounds: u32) -> f64 {
    let step = |sum: f64, round: u32| (sum * 0.999_999 + f64::from(round)) / 1.000_001;
    (0..n_rounds).map(black_box).fold(1.0, step)
}

fn memory(numbers: &[u32], n_rounds: u32) -> u32 {
    // Each number tells where the next one is read, so that nothing can be prefetched.
    (0..n_rounds).fold(0, |place, round| {
        let idx = usize::try_from(place).unwrap_or(0) % numbers.len().max(1);
        numbers.get(idx).copied().unwrap_or(0).wrapping_add(round)
    })
}

fn numbers() -> Vec<u32> {
    let mut bits = 1_u32;
    let mut next = || {
        bits ^= bits << 13;
        bits ^= bits >> 17;
        bits ^= bits << 5;
        bits
    };
    (0..N_NUMBERS).map(|_| next()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_work_is_done_and_depends_on_its_size() {
        assert_ne!(whole(10), whole(11));
        assert!(floating(10) < floating(11));
        let numbers = numbers();
        assert_ne!(memory(&numbers, 10), memory(&numbers, 11));
        assert!(numbers.iter().collect::<std::collections::BTreeSet<_>>().len() == numbers.len());
    }
}
