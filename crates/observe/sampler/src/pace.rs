//! Share of the time in which a process is sampled: each switch between threads costs more while it is.
//!
//! A process that switches often is sampled in a part of the intervals between two readings only, and each sample then
//! stands for several.

use std::fs;

/// Number of switches per second of processor time from which on sampling would cost more than 0.4 % of it, at 2.3 us each.
const SWITCHES_PER_S_MAX: u64 = 1700;
/// Maximum number of intervals of which one is sampled.
const N_INTERVALS_MAX: u64 = 50;
/// Maximum number of threads that are looked at.
const N_THREADS_MAX: usize = 32;
/// Number of intervals for which a pace is new: while MPI starts, processes switch less than later.
const N_NEW: u64 = 10;
/// Number of intervals after which it is new no more, even if the process has hardly computed.
const N_NEW_INTERVALS: u64 = 50;
/// Processor time in ns below which a rate is not known.
const CPU_NS_MIN: u64 = 20_000_000;

/// Pace of a process's samples.
///
/// Nothing is sampled until the rate of switches is known.
#[derive(Debug, Default)]
pub(crate) struct Pace {
    /// Number of intervals of which one is sampled; 0 while it is not known.
    n_intervals: u64,
    interval: u64,
    /// Number of times it was determined.
    n_known: u64,
    /// Processor time in ns and number of switches when last looked at.
    last: Option<(u64, u64)>,
}

impl Pace {
    /// Begins the next interval; returns whether it is sampled.
    pub(crate) fn begin_interval(&mut self) -> bool {
        self.interval += 1;
        self.n_intervals != 0 && self.interval.is_multiple_of(self.n_intervals)
    }

    /// Returns whether it is not known, or not for long.
    pub(crate) fn is_new(&self) -> bool {
        self.n_known < N_NEW && self.interval < N_NEW_INTERVALS
    }

    /// Number of periods that a sample of the present interval stands for.
    pub(crate) fn n_periods(&self) -> u64 {
        self.n_intervals.max(1)
    }

    /// Adapts the pace to the number of switches of these threads since the last time.
    pub(crate) fn adapt(&mut self, pid: u32, tids: &[i32]) {
        let (mut cpu_ns, mut n_switches) = (0_u64, 0_u64);
        for tid in tids.iter().take(N_THREADS_MAX) {
            let text = fs::read_to_string(format!("/proc/{pid}/task/{tid}/schedstat"));
            let (cpu, switches) = text.ok().as_deref().and_then(parse).unwrap_or_default();
            cpu_ns = cpu_ns.saturating_add(cpu);
            n_switches = n_switches.saturating_add(switches);
        }
        let Some((cpu_before, switches_before)) = self.last else {
            self.last = Some((cpu_ns, n_switches));
            return;
        };
        let cpu = cpu_ns.saturating_sub(cpu_before);
        if cpu_ns < cpu_before || CPU_NS_MIN <= cpu {
            self.last = Some((cpu_ns, n_switches));
        }
        if CPU_NS_MIN <= cpu {
            self.n_known += 1;
            self.n_intervals = n_intervals(n_switches.saturating_sub(switches_before), cpu);
        }
    }
}

/// Returns the number of intervals of which one is sampled, given switches in a processor time.
fn n_intervals(n_switches: u64, cpu_ns: u64) -> u64 {
    let per_s = n_switches.saturating_mul(1_000_000_000) / cpu_ns.max(1);
    per_s.div_ceil(SWITCHES_PER_S_MAX).clamp(1, N_INTERVALS_MAX)
}

/// Parses processor time in ns, time waiting for a processor in ns, and number of times that the thread was switched to.
fn parse(schedstat: &str) -> Option<(u64, u64)> {
    let mut numbers = schedstat.split_ascii_whitespace().map(str::parse::<u64>);
    let (cpu_ns, _waiting_ns, n_switches) = (numbers.next()?, numbers.next()?, numbers.next()?);
    Some((cpu_ns.ok()?, n_switches.ok()?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(n_switches: u64, cpu_ns: u64, expected: u64) {
        assert_eq!(n_intervals(n_switches, cpu_ns), expected);
    }

    #[test]
    fn a_process_that_switches_often_is_sampled_less() {
        check(0, 1_000_000_000, 1);
        check(1700, 1_000_000_000, 1);
        check(17_000, 1_000_000_000, 10);
        check(1700, 100_000_000, 10);
        check(u64::MAX, 1, 50);
    }

    #[test]
    fn times_and_switches_are_read() {
        assert_eq!(parse("123 45 6\n"), Some((123, 6)));
        assert_eq!(parse("123 45\n"), None);
    }

    #[test]
    fn one_of_the_intervals_is_sampled() {
        let mut pace = Pace { n_intervals: 3, ..Pace::default() };
        let sampled = (0..9).filter(|_| pace.begin_interval()).count();
        assert_eq!(sampled, 3);
        assert!((0..9).all(|_| !Pace::default().begin_interval()));
    }
}
