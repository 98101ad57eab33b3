//! Samples of a thread's processor time and of its waiting for a core, at the begins and ends of MPI calls.
//!
//! Asking the kernel costs about a microsecond, as much as forty calls, so it is done about a thousand times in a second of
//! processor time, which threads that share a core have less often: the sample counts for the part (computing, or a call)
//! that ends there. A sample is followed by one at the end of the next part, so that this one is measured exactly: otherwise
//! the shorter of two parts that alternate would always be counted as the longer one.
//!
//! # Invariants
//! - What the kernel refuses is not asked again: the thread has no samples then.

use events::SampledTime;
use ring::layout::SampledWords;
use std::ffi::c_int;

/// Time between samples, in ns.
const INTERVAL_NS: u64 = 1_000_000;
/// The same in ticks until the first sample tells how many they are: 1 ms at 2 GHz.
const FIRST_INTERVAL_TICKS: u64 = 2_000_000;
/// Most times that the time between samples is longer than that where the thread is seldom on a core.
const STRETCH_MAX: u64 = 8;
/// Part of the sums of recent times that is forgotten at each sample.
const FORGOTTEN: u64 = 8;
/// Smallest number of our files: programs choose small ones for theirs.
const FILE_MIN: c_int = 400;
/// Never due.
const OFF: u64 = u64::MAX;

/// Sampler of the thread that owns it.
#[derive(Debug)]
pub(crate) struct Sampler {
    /// Ticks from which on the end of a part is sampled.
    due_ticks: u64,
    interval_ticks: u64,
    /// Time and processor time of the last samples in ns, the older the less.
    recent_ns: [u64; 2],
    last_ticks: u64,
    last: Reading,
    /// `/proc/thread-self/schedstat`, or -1.
    file: c_int,
    /// Whether the next end of a part is sampled in any case.
    is_next: bool,
    /// Remainders of less than a unit: time, processor time, waiting.
    rest_ns: [u64; 3],
}

/// Clocks of a thread in ns.
#[derive(Clone, Copy, Debug, Default)]
struct Reading {
    clock: u64,
    cpu: u64,
    runqueue: u64,
}

impl Sampler {
    /// Sampler that never samples.
    pub(crate) const fn off() -> Self {
        Self {
            due_ticks: OFF,
            interval_ticks: FIRST_INTERVAL_TICKS,
            recent_ns: [0; 2],
            last_ticks: 0,
            last: Reading { clock: 0, cpu: 0, runqueue: 0 },
            file: -1,
            is_next: false,
            rest_ns: [0; 3],
        }
    }

    /// Sampler of the calling thread.
    pub(crate) fn start() -> Self {
        let mut sampler = Self { file: open(), ..Self::off() };
        if let Some(now) = sampler.read() {
            sampler.last = now;
            sampler.last_ticks = ring::clock::ticks();
            sampler.due_ticks = sampler.last_ticks.saturating_add(FIRST_INTERVAL_TICKS);
        }
        sampler
    }

    /// Returns whether a part that ends at these ticks is to be sampled.
    #[inline(always)]
    pub(crate) fn is_due(&self, ticks: u64) -> bool {
        self.due_ticks <= ticks
    }

    /// Counts the time since the last sample for the part that ends now.
    #[cold]
    #[inline(never)]
    pub(crate) fn sample(&mut self, ticks: u64, part: &SampledWords) {
        let Some(now) = self.read() else {
            self.end();
            return;
        };
        let passed = [
            now.clock.saturating_sub(self.last.clock),
            now.cpu.saturating_sub(self.last.cpu),
            now.runqueue.saturating_sub(self.last.runqueue),
        ];
        self.learn_interval(ticks.saturating_sub(self.last_ticks), [passed[0], passed[1]]);
        let [elapsed, cpu, runqueue] = self.units(passed);
        part.add(SampledTime { elapsed, cpu, runqueue });
        (self.last, self.last_ticks) = (now, ticks);
        self.is_next = !self.is_next;
        self.due_ticks = if self.is_next { 0 } else { ticks.saturating_add(self.interval_ticks) };
    }

    /// Ends sampling.
    pub(crate) fn end(&mut self) {
        self.due_ticks = OFF;
        if 0 <= self.file {
            // SAFETY: our own file; it is not used again.
            unsafe { libc::close(self.file) };
            self.file = -1;
        }
    }

    /// Learns the time between samples from ticks that took this time and processor time.
    fn learn_interval(&mut self, ticks: u64, passed_ns: [u64; 2]) {
        for (recent, passed) in self.recent_ns.iter_mut().zip(passed_ns) {
            *recent = (*recent - *recent / FORGOTTEN).saturating_add(passed);
        }
        let [recent, recent_cpu] = self.recent_ns.map(u128::from);
        let wanted_ns = u128::from(INTERVAL_NS) * recent / recent_cpu.max(1);
        let longest_ns = INTERVAL_NS * STRETCH_MAX;
        let wanted_ns = wanted_ns.clamp(INTERVAL_NS.into(), longest_ns.into());
        let ns = passed_ns[0];
        if INTERVAL_NS / 4 < ns {
            let interval = u128::from(ticks) * wanted_ns / u128::from(ns);
            self.interval_ticks = u64::try_from(interval).unwrap_or(OFF).clamp(1000, OFF / 2);
        }
    }

    /// Returns whole units, and keeps the remainders for the next sample.
    fn units(&mut self, passed_ns: [u64; 3]) -> [u32; 3] {
        let mut units = [0; 3];
        for ((unit, rest), passed) in units.iter_mut().zip(&mut self.rest_ns).zip(passed_ns) {
            let ns = rest.saturating_add(passed);
            *unit = u32::try_from(ns / SampledTime::UNIT_NS).unwrap_or(u32::MAX);
            *rest = ns % SampledTime::UNIT_NS;
        }
        units
    }

    fn read(&self) -> Option<Reading> {
        let runqueue = waited_ns(self.file)?;
        Some(Reading {
            clock: clock_ns(libc::CLOCK_MONOTONIC)?,
            cpu: clock_ns(libc::CLOCK_THREAD_CPUTIME_ID)?,
            runqueue,
        })
    }
}

/// Time of a clock in ns, if it is known.
pub(crate) fn clock_ns(clock: libc::clockid_t) -> Option<u64> {
    let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: writes to a place of its own.
    let read = unsafe { libc::clock_gettime(clock, &raw mut time) };
    let ns = time.tv_sec.cast_unsigned().checked_mul(1_000_000_000)?;
    (read == 0).then(|| ns.saturating_add(time.tv_nsec.cast_unsigned()))
}

/// Makes room for numbers of our files while the process has one thread: later the kernel makes all threads wait, about 15 ms,
/// until none can use the smaller table any more.
pub(crate) fn make_room_for_files() {
    let file = open();
    if 0 <= file {
        // SAFETY: our own file; it is not used again.
        unsafe { libc::close(file) };
    }
}

/// Opens the calling thread's file, with a number that programs do not choose; -1 if there is none.
fn open() -> c_int {
    let path = c"/proc/thread-self/schedstat".as_ptr();
    // SAFETY: a constant path.
    let file = unsafe { libc::open(path, libc::O_RDONLY | libc::O_CLOEXEC) };
    if file < 0 {
        return -1;
    }
    // SAFETY: our own file.
    let moved = unsafe { libc::fcntl(file, libc::F_DUPFD_CLOEXEC, FILE_MIN) };
    // SAFETY: our own file, which is not used again. Where the limit on files is low, there are no samples.
    unsafe { libc::close(file) };
    moved
}

/// Returns the second number in the file: the time in ns in which the thread waited for a core.
fn waited_ns(file: c_int) -> Option<u64> {
    let mut text = [0_u8; 96];
    // SAFETY: writes at most that many bytes to a place of its own.
    let n_read = unsafe { libc::pread(file, text.as_mut_ptr().cast(), text.len(), 0) };
    let text = text.get(..usize::try_from(n_read).ok()?)?;
    let mut words = text.split(|byte| byte.is_ascii_whitespace());
    let (_cpu, runqueue) = (words.next()?, words.next()?);
    std::str::from_utf8(runqueue).ok()?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Learns from samples of this much time and processor time, at 2 GHz, and checks the time between samples.
    #[track_caller]
    fn check(sampler: &mut Sampler, passed_us: [u64; 2], expected_us: u64) {
        for _ in 0..100 {
            sampler.learn_interval(2000 * passed_us[0], passed_us.map(|us| 1000 * us));
        }
        let us = sampler.interval_ticks / 2000;
        assert!(us.abs_diff(expected_us) <= expected_us / 50, "{us} us for {passed_us:?}");
    }

    #[test]
    fn a_thread_that_shares_its_core_is_sampled_less_often() {
        let mut sampler = Sampler::off();
        check(&mut sampler, [1000, 1000], 1000);
        check(&mut sampler, [4000, 1000], 4000);
        check(&mut sampler, [1000, 0], 8000);
        check(&mut sampler, [300, 300], 1000);
    }
}
