//! Use of processors, memory and files by a process, and the cores that it may use.
//!
//! The kernel tells it in files under `/proc/PID`; [`proc_files`] reads their texts, wherever these come from.
//!
//! # Not here
//! Reading the files (`collector`, `probe`).

mod cores;
pub mod mappings;
pub mod proc_files;
mod tasks;

pub use cores::{CoreSet, Cores};
pub use tasks::{TaskTally, ThreadUsage};

use bytemuck::{Pod, Zeroable};
use serde::{Deserialize, Serialize};

/// Size of the smallest pages of memory, in bytes.
pub const SMALL_PAGE_BYTES: usize = 4096;
/// Number of words of a [`Usage`].
pub const N_WORDS: usize = size_of::<Usage>() / size_of::<u64>();

/// Use of resources by a process, all its threads together unless another one is named.
///
/// Every number only grows while the process lives, apart from the two numbers of threads.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Pod, Zeroable, Serialize, Deserialize)]
#[repr(C)]
pub struct Usage {
    /// Processor time in ns.
    pub cpu_ns: u64,
    /// Part of the processor time inside the kernel, in ns.
    pub system_ns: u64,
    /// Time in ns in which a thread could run and no core was free.
    pub runqueue_ns: u64,
    /// Processor time of the thread that called `MPI_Init`, in ns.
    pub main_cpu_ns: u64,
    /// Time in ns in which that thread waited for a core.
    pub main_runqueue_ns: u64,
    /// Page faults served from memory.
    pub n_minor_faults: u64,
    /// Page faults served from disk.
    pub n_major_faults: u64,
    /// Times that a thread gave up its core to wait.
    pub n_voluntary_switches: u64,
    /// Times that a thread was made to leave its core.
    pub n_involuntary_switches: u64,
    /// Largest resident memory so far, in bytes.
    pub memory_max_bytes: u64,
    /// Bytes read by system calls, from files and whatever else is read like them.
    pub read_bytes: u64,
    /// Bytes written by system calls.
    pub written_bytes: u64,
    /// System calls that read.
    pub n_reads: u64,
    /// System calls that write.
    pub n_writes: u64,
    /// Threads.
    pub n_threads: u64,
    /// Threads that run, or want to, for a good part of the time; see [`TaskTally::n_busy`].
    pub n_busy_threads: u64,
}

impl Usage {
    /// Returns the numbers as words, for shared memory.
    pub fn to_words(self) -> [u64; N_WORDS] {
        bytemuck::cast(self)
    }

    /// Returns the usage with these words.
    pub fn from_words(words: [u64; N_WORDS]) -> Self {
        bytemuck::cast(words)
    }

    /// Returns whether nothing is known.
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }

    /// Returns the larger of each pair of numbers: the later of two readings of one process, of which each may
    /// lack what the other one saw.
    #[must_use]
    pub fn later(self, other: Self) -> Self {
        let (mut words, others) = (self.to_words(), other.to_words());
        for (word, other) in words.iter_mut().zip(others) {
            *word = (*word).max(other);
        }
        Self::from_words(words)
    }

    /// Returns what was used since `start`; levels (memory, threads) stay as they are.
    #[must_use]
    pub fn since(self, start: Self) -> Self {
        let (mut words, starts) = (self.to_words(), start.to_words());
        for (word, start) in words.iter_mut().zip(starts) {
            *word = word.saturating_sub(start);
        }
        Self {
            memory_max_bytes: self.memory_max_bytes,
            n_threads: self.n_threads,
            n_busy_threads: self.n_busy_threads,
            ..Self::from_words(words)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn usage(cpu_ns: u64, n_reads: u64, n_threads: u64) -> Usage {
        Usage { cpu_ns, n_reads, n_threads, memory_max_bytes: 7, ..Usage::default() }
    }

    #[test]
    fn the_later_reading_lacks_nothing_that_the_other_saw() {
        assert_eq!(usage(5, 1, 2).later(usage(3, 4, 1)), usage(5, 4, 2));
        assert_eq!(Usage::default().later(usage(3, 4, 1)), usage(3, 4, 1));
    }

    #[test]
    fn what_was_used_before_the_start_does_not_count() {
        assert_eq!(usage(5, 4, 2).since(usage(3, 1, 1)), usage(2, 3, 2));
        assert_eq!(usage(5, 4, 2).since(usage(9, 1, 1)).cpu_ns, 0);
    }

    #[test]
    fn words_are_the_numbers() {
        let words = usage(5, 4, 2).to_words();
        assert_eq!((words[0], words[12]), (5, 4));
        assert_eq!(Usage::from_words(words), usage(5, 4, 2));
        assert!(Usage::default().is_empty() && !usage(5, 4, 2).is_empty());
    }
}
