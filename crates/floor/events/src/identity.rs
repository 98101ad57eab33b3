//! Identity of a measurement (rank, world, process, communicator), and its clock.

use bytemuck::{Pod, Zeroable};
use serde::{Deserialize, Serialize};

/// A rank in its `MPI_COMM_WORLD`.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize,
)]
#[serde(transparent)]
pub struct Rank(pub u32);

/// Number of an `MPI_COMM_WORLD`: the same in all its ranks, different in spawned children and in
/// the next `mpirun` of a job script.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize,
)]
#[serde(transparent)]
pub struct WorldId(pub u64);

/// One process on one node; a node's collector never sees the same pair twice in a run.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize,
)]
pub struct ProcessKey {
    /// Process id on its node.
    pub pid: u32,
    /// Time-stamp counter when the probe started in the process; distinguishes processes that reuse a pid.
    pub started: u64,
}

/// Number of a communicator: a hash of its world ranks in their order.
///
/// Duplicates of a communicator share the number. 0 is `MPI_COMM_WORLD`.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize,
)]
#[serde(transparent)]
pub struct CommunicatorId(pub u32);

/// Cycles of the processor's time-stamp counter.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Ticks(pub u64);

/// Linear map from ticks to nanoseconds since 1970 on one node, given by two points measured some time apart.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, Pod, Zeroable)]
#[repr(C)]
pub struct Clock {
    /// Ticks at the first point.
    pub first_ticks: u64,
    /// Nanoseconds since 1970 at the first point.
    pub first_ns: u64,
    /// Ticks at the second point, later than the first.
    pub last_ticks: u64,
    /// Nanoseconds since 1970 at the second point.
    pub last_ns: u64,
}

impl Clock {
    /// Nanoseconds per tick; 0 when both points are the same.
    pub fn ns_per_tick(&self) -> f64 {
        let ticks = self.last_ticks.saturating_sub(self.first_ticks);
        let ns = self.last_ns.saturating_sub(self.first_ns);
        if ticks == 0 { 0.0 } else { ns as f64 / ticks as f64 }
    }

    /// Returns the length of a span of `ticks` in seconds.
    pub fn seconds(&self, ticks: u64) -> f64 {
        ticks as f64 * self.ns_per_tick() * 1e-9
    }

    /// Returns nanoseconds since 1970 at `at`, which may lie before the first point.
    pub fn ns_at(&self, at: Ticks) -> i64 {
        let since_first = at.0.wrapping_sub(self.first_ticks).cast_signed();
        let ns = since_first as f64 * self.ns_per_tick();
        #[expect(clippy::cast_possible_truncation, reason = "a run is far shorter than 2^63 ns")]
        let ns = ns as i64;
        self.first_ns.cast_signed().wrapping_add(ns)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(at: u64, expected_ns: i64) {
        let clock = Clock { first_ticks: 1000, first_ns: 50, last_ticks: 3000, last_ns: 1050 };
        assert_eq!(clock.ns_at(Ticks(at)), expected_ns);
    }

    #[test]
    fn a_clock_is_a_line_through_its_two_points() {
        check(1000, 50);
        check(3000, 1050);
        check(2000, 550);
        check(900, 0);
        check(5000, 2050);
    }

    #[test]
    fn a_clock_of_one_point_has_no_rate() {
        assert!(Clock::default().ns_per_tick() == 0.0);
    }
}
