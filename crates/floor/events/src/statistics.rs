//! Counters of MPI calls, by region and by peer; single calls are not kept.

use crate::SizeHistogram;
use bytemuck::{Pod, Zeroable};
use serde::{Deserialize, Serialize};

/// Counters of one *region*: the computation after the call at `previous` and the MPI call at
/// `address` that ends it.
///
/// Summing over `previous` gives the call site; summing over `address` as well gives the operation.
/// Regions that found no room in the table are counted under `address` 0 and `previous` 0.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct RegionCounters {
    /// Return address of the MPI call that ends the region.
    pub address: u64,
    /// Return address of the MPI call before it; 0 at the start of a thread.
    pub previous: u64,
    /// Index of the operation in the table of `mpi-abi`.
    pub operation: u16,
    /// Number of calls.
    pub n_calls: u64,
    /// Ticks inside the MPI calls.
    pub mpi_ticks: u64,
    /// Ticks of computation before the MPI calls.
    pub compute_ticks: u64,
    /// Longest single MPI call in ticks.
    pub mpi_ticks_max: u64,
    /// Bytes moved, as `mpi-abi` defines them for the operation.
    pub bytes: u64,
    /// Calls by message size.
    pub sizes: SizeHistogram,
    /// Sampled parts of the computation.
    pub compute: SampledTime,
    /// Sampled parts of the MPI calls.
    pub mpi: SampledTime,
}

/// Sampled time of a thread, and the parts of it on a core and waiting for one, in units of [`SampledTime::UNIT_NS`];
/// for the rest of it the thread was blocked.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct SampledTime {
    /// Time between the samples.
    pub elapsed: u32,
    /// Processor time.
    pub cpu: u32,
    /// Time in which the thread could run and no core was free.
    pub runqueue: u32,
}

impl SampledTime {
    /// Unit in ns: fine beside the millisecond between samples, and 32 bits of it last for 78 hours.
    pub const UNIT_NS: u64 = 1 << 16;

    /// Adds another time; a sum beyond the range stays at its end.
    pub fn add(&mut self, other: Self) {
        self.elapsed = self.elapsed.saturating_add(other.elapsed);
        self.cpu = self.cpu.saturating_add(other.cpu);
        self.runqueue = self.runqueue.saturating_add(other.runqueue);
    }

    /// Share of the time on a core, 0 to 1; `None` if nothing was sampled.
    pub fn cpu_share(self) -> Option<f64> {
        self.share(self.cpu)
    }

    /// Share of the time waiting for a core, 0 to 1; `None` if nothing was sampled.
    pub fn runqueue_share(self) -> Option<f64> {
        self.share(self.runqueue)
    }

    fn share(self, part: u32) -> Option<f64> {
        // The parts can exceed the time a little: they are rounded one by one.
        let whole = u64::from(self.elapsed).max(u64::from(self.cpu) + u64::from(self.runqueue));
        (whole != 0).then(|| f64::from(part) / whole as f64)
    }
}

/// Point-to-point and one-sided traffic with one other rank, seen from this thread.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Pod, Zeroable, Serialize, Deserialize)]
#[repr(C)]
pub struct Peer {
    /// Messages sent (or put) to the rank.
    pub n_sent: u64,
    /// Bytes sent to the rank.
    pub bytes_sent: u64,
    /// Messages received (or got) from the rank.
    pub n_received: u64,
    /// Bytes received from the rank.
    pub bytes_received: u64,
    /// Tag of the last message sent to the rank.
    pub last_tag: i32,
    /// Padding, so that the layout has no holes.
    #[serde(skip)]
    pub reserved: u32,
}

/// MPI call in progress.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct InCall {
    /// Index of the operation in the table of `mpi-abi`.
    pub operation: u16,
    /// Return address: the call site.
    pub address: u64,
}

/// Communicator of a process, told apart from others with the same members.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize,
)]
pub struct CommunicatorKey {
    /// [`crate::CommunicatorId`] as a number, the same for communicators with the same members; 0 is the world.
    pub id: u32,
    /// Number among the communicators with these members in the order in which they were made, from 1 on; 0 for
    /// `MPI_COMM_WORLD`, [`CommunicatorKey::NOT_SEEN`] for one whose making was not seen.
    pub ordinal: u32,
}

impl CommunicatorKey {
    /// Ordinal of a communicator whose making was not seen.
    pub const NOT_SEEN: u32 = u32::MAX;
    /// Communicator that the probe does not know.
    pub const UNKNOWN: Self = Self { id: u32::MAX, ordinal: Self::NOT_SEEN };
}

/// Arguments by which a blocking MPI call in progress tells what it waits for. The operation says which of them it has.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Awaited {
    /// Communicator.
    pub communicator: CommunicatorKey,
    /// Destination, source or root as a rank in the communicator; negative: [`crate::call::NO_PEER`] or
    /// [`crate::call::ANY_PEER`].
    pub peer: i32,
    /// Tag of the message; -1 stands for any tag where the operation receives.
    pub tag: i32,
    /// Source of the receiving half of a send-receive.
    pub source: i32,
    /// Tag of the receiving half of a send-receive.
    pub source_tag: i32,
    /// Number of elements.
    pub count: i64,
    /// Requests that the call was given.
    pub n_requests: u32,
    /// The first of these requests, as far as their making was seen.
    pub requests: Vec<AwaitedRequest>,
}

/// Request that a call waits for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct AwaitedRequest {
    /// Index in the table of `mpi-abi` of the operation that made it.
    pub operation: u16,
    /// World rank of the other side or of the root; negative: as in [`crate::CallRecord::peer`], or
    /// [`crate::call::ANY_PEER`].
    pub peer: i32,
    /// Tag of the message.
    pub tag: i32,
    /// Communicator.
    pub communicator: CommunicatorKey,
}

/// Collective calls of a process on one communicator.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct CollectiveCalls {
    /// Communicator.
    pub communicator: CommunicatorKey,
    /// Calls entered so far.
    pub n_calls: u64,
    /// Index in the table of `mpi-abi` of the last one's operation.
    pub operation: u16,
    /// Return address of the last one.
    pub address: u64,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check((elapsed, cpu, runqueue): (u32, u32, u32), expected: Option<(f64, f64)>) {
        let time = SampledTime { elapsed, cpu, runqueue };
        assert_eq!(time.cpu_share().zip(time.runqueue_share()), expected);
    }

    #[test]
    fn shares_are_of_what_was_sampled() {
        check((0, 0, 0), None);
        check((100, 25, 50), Some((0.25, 0.5)));
        check((100, 0, 0), Some((0.0, 0.0)));
        check((100, 60, 60), Some((0.5, 0.5)));
    }
}
