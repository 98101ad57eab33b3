//! Reports as earlier versions wrote them to files. Never change them.

use crate::{CommunicatorReport, ThreadReport};
use events::{
    Clock, InCall, Peer, ProcessKey, Rank, RegionCounters, SizeHistogram, Ticks, WorldId,
};
use serde::{Deserialize, Serialize};

/// A [`crate::ProcessReport`] of versions that did not know what a process used.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct ProcessReport {
    key: ProcessKey,
    node: String,
    host: String,
    world: WorldId,
    rank: Rank,
    size: u32,
    /// `spawned`, `finalizing`, `left`, `gone`.
    states: (bool, bool, bool, bool),
    clock: Clock,
    /// `now`, `init_end`, `finalize_begin`.
    times: (Ticks, Ticks, Option<Ticks>),
    cost_ns_per_call: f64,
    /// `threads_refused`, `main_thread`.
    threads_known: (u32, u32),
    reserved_bytes: u64,
    /// `library`, `program`, `modules`.
    texts: (String, String, String),
    communicators: Vec<CommunicatorReport>,
    threads: Vec<EarlierThread>,
}

/// A [`ThreadReport`].
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
struct EarlierThread {
    idx: u32,
    tid: u32,
    regions: Vec<EarlierRegion>,
    peers: Vec<(u32, EarlierPeer)>,
    in_call: Option<InCall>,
    since: Ticks,
    /// `calls_without_region`, `n_written`, `n_dropped`.
    counts: (u64, u64, u64),
}

/// A [`Peer`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
struct EarlierPeer {
    n_sent: u64,
    bytes_sent: u64,
    n_received: u64,
    bytes_received: u64,
}

/// A [`RegionCounters`].
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
struct EarlierRegion {
    address: u64,
    previous: u64,
    operation: u16,
    n_calls: u64,
    mpi_ticks: u64,
    compute_ticks: u64,
    mpi_ticks_max: u64,
    bytes: u64,
    sizes: SizeHistogram,
}

impl From<ProcessReport> for crate::ProcessReport {
    fn from(earlier: ProcessReport) -> Self {
        let (spawned, finalizing, left, gone) = earlier.states;
        let (now, init_end, finalize_begin) = earlier.times;
        let (threads_refused, main_thread) = earlier.threads_known;
        let (library, program, modules) = earlier.texts;
        Self {
            key: earlier.key,
            node: earlier.node,
            host: earlier.host,
            world: earlier.world,
            rank: earlier.rank,
            size: earlier.size,
            spawned,
            finalizing,
            left,
            gone,
            clock: earlier.clock,
            now,
            init_end,
            finalize_begin,
            cost_ns_per_call: earlier.cost_ns_per_call,
            threads_refused,
            main_thread,
            reserved_bytes: earlier.reserved_bytes,
            library,
            program,
            modules,
            communicators: earlier.communicators,
            threads: earlier.threads.into_iter().map(ThreadReport::from).collect(),
            ..Self::default()
        }
    }
}

impl From<EarlierThread> for ThreadReport {
    fn from(earlier: EarlierThread) -> Self {
        let (calls_without_region, n_written, n_dropped) = earlier.counts;
        Self {
            idx: earlier.idx,
            tid: earlier.tid,
            regions: earlier.regions.into_iter().map(RegionCounters::from).collect(),
            peers: earlier.peers.into_iter().map(|(rank, peer)| (rank, peer.into())).collect(),
            in_call: earlier.in_call,
            since: earlier.since,
            calls_without_region,
            n_written,
            n_dropped,
            ..Self::default()
        }
    }
}

impl From<EarlierRegion> for RegionCounters {
    fn from(earlier: EarlierRegion) -> Self {
        Self {
            address: earlier.address,
            previous: earlier.previous,
            operation: earlier.operation,
            n_calls: earlier.n_calls,
            mpi_ticks: earlier.mpi_ticks,
            compute_ticks: earlier.compute_ticks,
            mpi_ticks_max: earlier.mpi_ticks_max,
            bytes: earlier.bytes,
            sizes: earlier.sizes,
            ..Self::default()
        }
    }
}

impl From<EarlierPeer> for Peer {
    fn from(earlier: EarlierPeer) -> Self {
        let EarlierPeer { n_sent, bytes_sent, n_received, bytes_received } = earlier;
        Self { n_sent, bytes_sent, n_received, bytes_received, ..Self::default() }
    }
}
