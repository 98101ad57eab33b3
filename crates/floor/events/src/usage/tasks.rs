//! Sums over the threads of a process of which some end between two readings.

use std::collections::BTreeMap;

/// Times of one thread.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ThreadUsage {
    /// Processor time in ns.
    pub cpu_ns: u64,
    /// Time in ns in which it could run and no core was free.
    pub runqueue_ns: u64,
}

impl ThreadUsage {
    fn add(self, other: Self) -> Self {
        Self {
            cpu_ns: self.cpu_ns.saturating_add(other.cpu_ns),
            runqueue_ns: self.runqueue_ns.saturating_add(other.runqueue_ns),
        }
    }

    fn wanted_ns(self) -> u64 {
        self.cpu_ns.saturating_add(self.runqueue_ns)
    }
}

/// Times of the threads of a process, those that ended included as they were last seen.
#[derive(Clone, Debug, Default)]
pub struct TaskTally {
    ended: ThreadUsage,
    living: BTreeMap<u32, ThreadUsage>,
}

/// Share of the busiest thread's time from which on a thread counts as busy.
const BUSY_SHARE: f64 = 0.25;
/// Maximum number of threads that are told apart.
const N_THREADS_MAX: usize = 4096;

impl TaskTally {
    /// Takes a reading of all threads that live now.
    pub fn take(&mut self, now: impl IntoIterator<Item = (u32, ThreadUsage)>) {
        let before = std::mem::take(&mut self.living);
        self.living = now.into_iter().take(N_THREADS_MAX).collect();
        for (tid, last) in before {
            // A smaller number is that of a new thread with the same id.
            let is_same = self.living.get(&tid).is_some_and(|now| last.cpu_ns <= now.cpu_ns);
            if !is_same {
                self.ended = self.ended.add(last);
            }
        }
    }

    /// Times of all threads so far.
    pub fn total(&self) -> ThreadUsage {
        self.living.values().fold(self.ended, |sum, thread| sum.add(*thread))
    }

    /// Times of a thread that lives.
    pub fn thread(&self, tid: u32) -> Option<ThreadUsage> {
        self.living.get(&tid).copied()
    }

    /// Number of living threads.
    pub fn n_threads(&self) -> u64 {
        self.living.len() as u64
    }

    /// Number of living threads that ran or wanted to for a good part of the time of the busiest one: the threads
    /// that need a core, unlike those that only wait for messages or signals.
    pub fn n_busy(&self) -> u64 {
        let most = self.living.values().map(|thread| thread.wanted_ns()).max().unwrap_or(0);
        let is_busy = |thread: &&ThreadUsage| {
            BUSY_SHARE * most as f64 <= thread.wanted_ns() as f64 && thread.wanted_ns() != 0
        };
        self.living.values().filter(is_busy).count() as u64
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn threads(times: &[(u32, u64, u64)]) -> Vec<(u32, ThreadUsage)> {
        let usage = |(tid, cpu_ns, runqueue_ns): &(u32, u64, u64)| {
            (*tid, ThreadUsage { cpu_ns: *cpu_ns, runqueue_ns: *runqueue_ns })
        };
        times.iter().map(usage).collect()
    }

    /// Checks total CPU and run-queue time, and numbers of threads and busy threads, after these readings.
    #[track_caller]
    fn check(readings: &[&[(u32, u64, u64)]], expected: (u64, u64, u64, u64)) {
        let mut tally = TaskTally::default();
        readings.iter().for_each(|reading| tally.take(threads(reading)));
        let total = tally.total();
        let found = (total.cpu_ns, total.runqueue_ns, tally.n_threads(), tally.n_busy());
        assert_eq!(found, expected);
    }

    #[test]
    fn sums_never_go_back() {
        check(&[], (0, 0, 0, 0));
        check(&[&[(1, 100, 5), (2, 80, 7)]], (180, 12, 2, 2));
        check(&[&[(1, 100, 5), (2, 80, 7)], &[(1, 110, 6)]], (190, 13, 1, 1));
        // Thread 2 ended, and another one has its id.
        check(&[&[(1, 100, 5), (2, 80, 7)], &[(1, 110, 6), (2, 3, 0)]], (193, 13, 2, 1));
        check(&[&[(1, 100, 5)], &[], &[(1, 120, 9)]], (220, 14, 1, 1));
    }
}
