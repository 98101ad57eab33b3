//! Collective operations by the algorithms that MPI libraries choose.
//!
//! | operation | few ranks | short | long |
//! |---|---|---|---|
//! | bcast | linear | binomial tree | scatter by a tree, then allgather |
//! | reduce | linear | binomial tree | recursive halving, then gather by a tree |
//! | gather, scatter | linear | binomial tree | binomial tree |
//! | gatherv, scatterv | linear | linear | linear |
//! | allreduce | recursive doubling | recursive doubling | recursive halving, then recursive doubling |
//! | allgather, allgatherv | | recursive doubling; Bruck | ring |
//! | alltoall | | Bruck; all at once | pairwise |
//! | alltoallv | | all at once | all at once |
//! | reduce-scatter | | recursive halving | pairwise |
//! | barrier | | dissemination | |
//! | scan, exscan | | recursive doubling | recursive doubling |
//!
//! Algorithms and lengths are those of MPICH: Thakur, Rabenseifner, Gropp (2005), "Optimization of
//! Collective Communication Operations in MPICH", Int. J. High Performance Computing Applications 19(1),
//! and the defaults of MPICH 4 (`MPIR_CVAR_BCAST_SHORT_MSG_SIZE` and related variables). Few ranks: the
//! library that the source measured sends to up to 3 workers one after the other, and by a hypercube from 4
//! on (Laine 2003).
//!
//! # Invariants
//! - A round in which every rank takes part ends `T(b)` after the later of a rank and its partner began
//!   it. In an algorithm after which every rank depends on every other, all ranks then end together, at the
//!   latest entry plus the sum of the rounds: such an operation costs `O(p)`, however many messages it has.
//! - Trees are evaluated message by message: `O(p)`.
//!
//! # Not here
//! The reduction operator itself: its time counts as computation.

mod clocks;

use super::links::Links;
use super::program::Collective;
pub use clocks::{Clocks, Dependency};
use mpi_abi::CollectiveKind;

/// Message lengths in bytes at which MPICH 4 switches algorithms.
const BCAST_SHORT: u64 = 12_288;
const BCAST_LONG: u64 = 524_288;
const REDUCE_SHORT: u64 = 2048;
const ALLGATHER_SHORT: u64 = 81_920;
const ALLGATHER_LONG: u64 = 524_288;
const ALLTOALL_SHORT: u64 = 256;
const ALLTOALL_MEDIUM: u64 = 32_768;
const REDUCE_SCATTER_LONG: u64 = 524_288;
/// Number of ranks from which a broadcast of long messages is a scatter and an allgather.
const BCAST_RANKS_MIN: usize = 8;
/// Number of ranks from which an alltoall of short messages is Bruck's.
const BRUCK_RANKS_MIN: usize = 8;

/// Settings that select algorithms, besides length and number of ranks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Rules {
    /// Largest number of ranks for which the root of a tree communicates with all others directly.
    pub linear_up_to: usize,
}

impl Default for Rules {
    fn default() -> Self {
        Self { linear_up_to: 4 }
    }
}

/// Advances the clocks of all ranks from their entries to their exits.
///
/// `parts` are the contributions of the ranks, in rank order.
pub fn advance(clocks: &mut Clocks, parts: &[Collective], links: &Links<'_>, rules: Rules) {
    let Some(first) = parts.first().filter(|_| 1 < parts.len()) else { return };
    let n_ranks = parts.len();
    let root = first.root as usize;
    let bytes = parts.iter().map(|part| part.bytes).max().unwrap_or(0);
    let mut tree = Tree { clocks, links, root, is_linear: n_ranks <= rules.linear_up_to };
    match first.kind {
        CollectiveKind::Bcast => tree.broadcast(bytes),
        CollectiveKind::Reduce => tree.reduce(bytes),
        CollectiveKind::Gather if tree.is_linear => tree.gather_linear(|_| bytes),
        CollectiveKind::Gather => tree.up(|n_below| bytes * n_below),
        CollectiveKind::Scatter if tree.is_linear => tree.scatter_linear(|_| bytes),
        CollectiveKind::Scatter => tree.down(|n_below| bytes * n_below),
        CollectiveKind::Gatherv => tree.gather_linear(|rank| parts[rank].bytes),
        CollectiveKind::Scatterv => tree.scatter_linear(|rank| parts[rank].bytes),
        CollectiveKind::Allreduce => allreduce(clocks, links, bytes),
        CollectiveKind::Scan | CollectiveKind::Exscan => scan(clocks, links, bytes),
        CollectiveKind::Barrier => clocks
            .together((0..rounds(n_ranks)).map(|round| links.of_round(round).one_way_s(0)).sum()),
        CollectiveKind::Allgather | CollectiveKind::Allgatherv => {
            let all = parts.iter().map(|part| part.bytes).sum();
            clocks.together(allgather_s(links, n_ranks, bytes, all));
        }
        CollectiveKind::Alltoall => clocks.together(alltoall_s(links, n_ranks, bytes)),
        CollectiveKind::Alltoallv => {
            let most = parts.iter().map(|part| part.bytes.max(part.bytes_received)).max();
            let each = most.unwrap_or(0) / (n_ranks as u64);
            clocks.together(at_once_s(links, n_ranks, each));
        }
        CollectiveKind::ReduceScatter => clocks.together(reduce_scatter_s(links, n_ranks, bytes)),
    }
}

/// Returns `ceil(log2 n)`: the rounds after which every rank depends on every other.
fn rounds(n_ranks: usize) -> u32 {
    n_ranks.next_power_of_two().trailing_zeros()
}

/// Returns the time of rounds that double the data of each rank, from `first` bytes to `n_ranks` times
/// that, in s.
fn doubling_s(links: &Links<'_>, n_ranks: usize, first: u64) -> f64 {
    (0..rounds(n_ranks)).map(|round| links.of_round(round).one_way_s(first << round)).sum()
}

/// Does the same from the largest distance to neighbors.
fn inwards_s(links: &Links<'_>, n_ranks: usize, first: u64) -> f64 {
    let n_rounds = rounds(n_ranks);
    let time_s = |round: u32| links.of_round(n_rounds - 1 - round).one_way_s(first << round);
    (0..n_rounds).map(time_s).sum()
}

fn ring_s(links: &Links<'_>, n_ranks: usize, each: u64) -> f64 {
    (n_ranks - 1) as f64 * links.of_ring().one_way_s(each)
}

/// Returns the time of Bruck's rounds, in s: doubling, and the missing rest in the last one.
fn bruck_s(links: &Links<'_>, n_ranks: usize, each: u64) -> f64 {
    let n_blocks = |round: u32| (1_usize << round).min(n_ranks - (1 << round)) as u64;
    (0..rounds(n_ranks)).map(|round| links.of_round(round).one_way_s(each * n_blocks(round))).sum()
}

fn allgather_s(links: &Links<'_>, n_ranks: usize, each: u64, all: u64) -> f64 {
    if n_ranks.is_power_of_two() && all < ALLGATHER_LONG {
        doubling_s(links, n_ranks, each)
    } else if !n_ranks.is_power_of_two() && all < ALLGATHER_SHORT {
        bruck_s(links, n_ranks, each)
    } else {
        ring_s(links, n_ranks, each)
    }
}

fn alltoall_s(links: &Links<'_>, n_ranks: usize, each: u64) -> f64 {
    if each <= ALLTOALL_SHORT && BRUCK_RANKS_MIN <= n_ranks {
        let half = each * (n_ranks as u64).div_ceil(2);
        (0..rounds(n_ranks)).map(|round| links.of_round(round).one_way_s(half)).sum()
    } else if each <= ALLTOALL_MEDIUM {
        at_once_s(links, n_ranks, each)
    } else {
        ring_s(links, n_ranks, each)
    }
}

/// Returns the time when all messages are started, then waited for, in s: the first latency counts, further
/// ones overlap.
fn at_once_s(links: &Links<'_>, n_ranks: usize, each: u64) -> f64 {
    let networks = links.to_all(n_ranks).into_iter().filter(|(_, n)| 0 < *n);
    let costs = networks.map(|(network, n)| (network.cost(each), n as f64));
    let [first_s, sum_s] = costs.fold([0.0_f64, 0.0], |[first_s, sum_s], (cost, n)| {
        [first_s.max(cost.flight_s), sum_s + n * (2.0 * cost.overhead_s + cost.data_s)]
    });
    first_s + sum_s
}

fn reduce_scatter_s(links: &Links<'_>, n_ranks: usize, all: u64) -> f64 {
    if all < REDUCE_SCATTER_LONG {
        halving_s(links, n_ranks, all)
    } else {
        ring_s(links, n_ranks, all / (n_ranks as u64))
    }
}

/// Returns the time of rounds that halve the data for which a rank is responsible, from neighbors outwards, in s.
fn halving_s(links: &Links<'_>, n_ranks: usize, all: u64) -> f64 {
    (1..=rounds(n_ranks)).map(|round| links.of_round(round - 1).one_way_s(all >> round)).sum()
}

/// Recursive doubling, or halving and doubling. The ranks beyond a power of two hand their part to a
/// neighbor and get the result from it.
fn allreduce(clocks: &mut Clocks, links: &Links<'_>, bytes: u64) {
    let n_ranks = clocks.n_ranks();
    let power: usize = 1 << n_ranks.ilog2();
    let n_paired = n_ranks - power;
    let core_s = if bytes <= REDUCE_SHORT {
        (0..rounds(power)).map(|round| links.of_round(round).one_way_s(bytes)).sum()
    } else {
        halving_s(links, power, bytes) + inwards_s(links, power, (bytes >> rounds(power)).max(1))
    };
    let cost = |pair: usize| links.network(2 * pair, 2 * pair + 1).cost(bytes);
    for pair in 0..n_paired {
        clocks.message(2 * pair, 2 * pair + 1, cost(pair));
    }
    clocks.together_of(core_s, |rank| 2 * n_paired <= rank || rank % 2 == 1);
    for pair in 0..n_paired {
        clocks.message(2 * pair + 1, 2 * pair, cost(pair));
    }
}

/// Scans by recursive doubling: in round `k` rank `i` sends to `i + 2^k`.
fn scan(clocks: &mut Clocks, links: &Links<'_>, bytes: u64) {
    for round in 0..rounds(clocks.n_ranks()) {
        clocks.shift(1 << round, links.of_round(round).cost(bytes));
    }
}

/// Operations with a root.
struct Tree<'a, 'b> {
    clocks: &'a mut Clocks,
    links: &'b Links<'b>,
    root: usize,
    is_linear: bool,
}

impl Tree<'_, '_> {
    fn broadcast(&mut self, bytes: u64) {
        let n_ranks = self.clocks.n_ranks();
        if self.is_linear {
            self.scatter_linear(|_| bytes);
        } else if bytes < BCAST_SHORT || n_ranks < BCAST_RANKS_MIN {
            self.down(|_| bytes);
        } else {
            let each = bytes / (n_ranks as u64);
            self.down(|n_below| each * n_below);
            let is_medium = n_ranks.is_power_of_two() && bytes < BCAST_LONG;
            self.clocks.together(if is_medium {
                doubling_s(self.links, n_ranks, each)
            } else {
                ring_s(self.links, n_ranks, each)
            });
        }
    }

    fn reduce(&mut self, bytes: u64) {
        let n_ranks = self.clocks.n_ranks();
        if self.is_linear {
            self.gather_linear(|_| bytes);
        } else if bytes <= REDUCE_SHORT {
            self.up(|_| bytes);
        } else {
            self.clocks.together(halving_s(self.links, n_ranks, bytes));
            let each = bytes / (n_ranks as u64);
            self.up(|n_below| each * n_below);
        }
    }

    fn scatter_linear(&mut self, bytes: impl Fn(usize) -> u64) {
        for rank in (0..self.clocks.n_ranks()).filter(|rank| *rank != self.root) {
            let cost = self.links.network(self.root, rank).cost(bytes(rank));
            self.clocks.message(self.root, rank, cost);
        }
    }

    fn gather_linear(&mut self, bytes: impl Fn(usize) -> u64) {
        for rank in (0..self.clocks.n_ranks()).filter(|rank| *rank != self.root) {
            let cost = self.links.network(rank, self.root).cost(bytes(rank));
            self.clocks.message(rank, self.root, cost);
        }
    }

    /// Sends down a binomial tree: the length of a message depends on the number of ranks below its branch.
    fn down(&mut self, bytes: impl Fn(u64) -> u64) {
        let n_ranks = self.clocks.n_ranks();
        // A parent has a smaller number than its children, so it has its message when it is processed.
        for parent in 0..n_ranks {
            let height = if parent == 0 { rounds(n_ranks) } else { parent.trailing_zeros() };
            for branch in (0..height).rev().map(|power| 1 << power) {
                self.branch(parent, branch, &bytes, false);
            }
        }
    }

    /// Sends up a binomial tree.
    fn up(&mut self, bytes: impl Fn(u64) -> u64) {
        let n_ranks = self.clocks.n_ranks();
        for branch in (0..rounds(n_ranks)).map(|power| 1 << power) {
            for parent in (0..n_ranks).step_by(2 * branch) {
                self.branch(parent, branch, &bytes, true);
            }
        }
    }

    /// Passes the message between a parent and its child `parent + branch`, both counted from the root.
    fn branch(&mut self, parent: usize, branch: usize, bytes: impl Fn(u64) -> u64, is_up: bool) {
        let n_ranks = self.clocks.n_ranks();
        let child = parent + branch;
        if child < n_ranks {
            let n_below = branch.min(n_ranks - child) as u64;
            let rank = |number: usize| (number + self.root) % n_ranks;
            let (parent, child) = (rank(parent), rank(child));
            let (from, to) = if is_up { (child, parent) } else { (parent, child) };
            self.clocks.message(from, to, self.links.network(from, to).cost(bytes(n_below)));
        }
    }
}

#[cfg(test)]
mod tests;
