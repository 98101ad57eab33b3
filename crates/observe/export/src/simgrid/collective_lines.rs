//! A collective call as lines of one rank.
//!
//! A replay knows only the world. A call on part of it becomes messages between one member (the root, or
//! otherwise the first) and all others, which preserves who waits for whom.

use super::collectives::MatchedCollective;
use models::Flow;
use mpi_abi::CollectiveKind::{
    Allgather, Allgatherv, Allreduce, Alltoall, Alltoallv, Barrier, Bcast, Exscan, Gather, Gatherv,
    Reduce, ReduceScatter, Scan, Scatter, Scatterv,
};

/// Returns the action of a call on the whole world.
pub(super) fn of_world(call: &MatchedCollective<'_>, rank: u32, own_bytes: u64) -> String {
    let MatchedCollective { kind, bytes, shares, .. } = *call;
    let root = match call.flow {
        Flow::FromRoot(root) | Flow::ToRoot(root) => root,
        Flow::All => 0,
    };
    let share = count(bytes);
    let arguments = match kind {
        Bcast => format!(" {bytes} {root}"),
        Reduce => format!(" {bytes} 0 {root}"),
        Allreduce | Scan | Exscan => format!(" {bytes} 0"),
        Gather | Scatter => format!(" {share} {share} {root}"),
        Allgather | Alltoall => format!(" {share} {share}"),
        Gatherv => format!(" {} {} {root}", count(own_bytes), list(shares)),
        Allgatherv => format!(" {} {}", count(own_bytes), list(shares)),
        Scatterv => scatterv(shares, root, rank),
        ReduceScatter => format!(" {} 0", list(&vec![bytes; call.members.len()])),
        Alltoallv => alltoallv(shares, own_bytes),
        Barrier => String::new(),
    };
    format!("{rank} {}{arguments}", kind.name())
}

/// Returns whether a replay gives all ranks the same amount even if the program did not.
pub(super) fn is_even(call: &MatchedCollective<'_>) -> bool {
    matches!(call.kind, ReduceScatter | Alltoallv)
}

/// Returns the messages of a call on part of the world.
pub(super) fn of_part(call: &MatchedCollective<'_>, rank: u32, tag: u32) -> Vec<String> {
    let MatchedCollective { bytes, members, .. } = *call;
    let (center, gathers, spreads) = match call.flow {
        Flow::All => (members.first().copied().unwrap_or(rank), true, true),
        Flow::FromRoot(root) => (root, false, true),
        Flow::ToRoot(root) => (root, true, false),
    };
    let is_center = rank == center;
    let others = || {
        let others = if is_center { members.iter().copied().collect() } else { vec![center] };
        others.into_iter().filter(move |other| *other != rank)
    };
    let lines = |action: &'static str| {
        others().map(move |other| format!("{rank} {action} {other} {tag} {bytes}"))
    };
    let towards = lines(if is_center { "recv" } else { "send" }).filter(|_| gathers);
    let back = lines(if is_center { "send" } else { "recv" }).filter(|_| spreads);
    towards.chain(back).collect()
}

/// Limits a byte count to the 31 bits that a replay uses in these actions.
fn count(bytes: u64) -> u32 {
    u32::try_from(bytes).unwrap_or(u32::MAX).min(i32::MAX.cast_unsigned())
}

fn list(shares: &[u64]) -> String {
    let shares: Vec<String> = shares.iter().map(|bytes| count(*bytes).to_string()).collect();
    shares.join(" ")
}

/// Returns the arguments of `scatterv`: the root's own share is its total minus the others' shares.
fn scatterv(shares: &[u64], root: u32, rank: u32) -> String {
    let mut shares = shares.to_vec();
    let others: u64 = (0_u32..).zip(&shares).filter(|(r, _)| *r != root).map(|(_, b)| *b).sum();
    if let Some(own) = shares.get_mut(root as usize) {
        *own = own.saturating_sub(others);
    }
    let own = shares.get(rank as usize).copied().unwrap_or(0);
    format!(" {} {} {root}", list(&shares), count(own))
}

/// Returns the arguments of `alltoallv`, in which each rank sends equal shares to all.
fn alltoallv(shares: &[u64], bytes: u64) -> String {
    let n_ranks = (shares.len() as u64).max(1);
    let sent = vec![bytes / n_ranks; shares.len()];
    let received: Vec<u64> = shares.iter().map(|bytes| bytes / n_ranks).collect();
    let (n_sent, n_received) = (sent.iter().sum(), received.iter().sum());
    format!(" {} {} {} {}", count(n_sent), list(&sent), count(n_received), list(&received))
}
