//! Levers: changes to a process that need no description of its program.
//!
//! # Not here
//! Pulling them (`probe`), and the tuning points that a run has for them (`app-description`).

use serde::{Deserialize, Serialize};

/// Something that can be changed in any MPI process. Value 0 is the state in which the process was found.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Lever {
    /// Waiting in MPI: 1 yields the core, 2 sleeps between polls, 3 sleeps once the core was lost.
    Waiting,
    /// Memory of `malloc`: 1 keeps freed memory in the process.
    Memory,
    /// Pages of heap and large blocks: 1 asks for huge ones.
    HugePages,
    /// Cores of the process: 1 spreads the ranks of a node over the cores of the job.
    Binding,
    /// Cores of the process's OpenMP threads: 1 lends those of ranks that wait in MPI.
    Threads,
    /// Algorithms of collective operations: 1 tries them, 2 uses the fastest ones.
    Collectives,
}

impl Lever {
    /// All levers, in the order in which they are tried.
    pub const ALL: [Self; 6] = [
        Self::Waiting,
        Self::Binding,
        Self::Memory,
        Self::HugePages,
        Self::Threads,
        Self::Collectives,
    ];

    /// Name of its tuning point.
    pub fn name(self) -> &'static str {
        match self {
            Self::Waiting => "waiting",
            Self::Memory => "memory",
            Self::HugePages => "huge-pages",
            Self::Binding => "binding",
            Self::Threads => "threads",
            Self::Collectives => "collectives",
        }
    }

    /// Largest value; the smallest is 0.
    pub fn highest(self) -> i64 {
        match self {
            Self::Waiting => 4,
            Self::Collectives => 2,
            _ => 1,
        }
    }

    /// Returns whether it is kept where its effect cannot be measured: it only follows what the system says about
    /// cores, and costs nothing where that is wrong.
    pub fn is_safe_unmeasured(self) -> bool {
        matches!(self, Self::Waiting | Self::Binding | Self::Threads)
    }

    /// Slowdown above which it is taken back; below 0 it has to bring that much.
    pub fn limit(self) -> f64 {
        if self.is_safe_unmeasured() { 0.05 } else { -0.02 }
    }

    /// The same for one of its values: one that only tries something need not help yet.
    pub fn limit_at(self, value: i128) -> f64 {
        if (self, value) == (Self::Collectives, 1) { 0.25 } else { self.limit() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_lever_has_one_name() {
        for lever in Lever::ALL {
            let same = Lever::ALL.iter().filter(|other| other.name() == lever.name());
            assert_eq!(same.count(), 1);
            assert!(0 < lever.highest());
        }
    }
}
