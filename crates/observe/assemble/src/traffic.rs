//! Traffic between pairs of ranks.
//!
//! A message is counted by its sender. The receiver's count is used where the sender's is missing: when the
//! sender is unknown, and for data that the receiver fetched by a one-sided operation, of which the owner of
//! the window knows nothing.

use super::roster::Roster;
use events::{OperationId, Peer};
use mpi_abi::Flow;
use run_record::summary::Traffic;
use std::collections::BTreeMap;
use wire::ProcessReport;

type Counts = BTreeMap<(u32, u32), (u64, u64)>;

/// Returns the traffic between the ranks of each world, ordered by world, sender and receiver.
pub(super) fn pairs(roster: &Roster<'_>) -> Vec<Traffic> {
    let worlds = roster.worlds.iter().enumerate();
    let traffic = worlds.flat_map(|(idx, world)| {
        let reports: Vec<&ProcessReport> =
            roster.of_world(world).iter().map(|rank| rank.report).collect();
        of_world(&reports).into_iter().map(move |((from, to), (messages, bytes))| Traffic {
            world: idx,
            from,
            to,
            messages,
            bytes,
        })
    });
    traffic.filter(|pair| pair.messages != 0 || pair.bytes != 0).collect()
}

fn of_world(reports: &[&ProcessReport]) -> Counts {
    let mut sent: Counts = BTreeMap::new();
    for report in reports {
        for (peer, counts) in peers(report) {
            let sum = sent.entry((report.rank.0, peer)).or_default();
            *sum = (sum.0 + counts.n_sent, sum.1 + counts.bytes_sent);
        }
    }
    let is_known = |rank: u32| reports.binary_search_by_key(&rank, |report| report.rank.0).is_ok();
    for report in reports {
        let fetches = fetches(report);
        for (peer, counts) in received(report) {
            let sum = sent.entry((peer, report.rank.0)).or_default();
            if fetches || !is_known(peer) {
                *sum = (sum.0.max(counts.0), sum.1.max(counts.1));
            }
        }
    }
    sent
}

fn peers(report: &ProcessReport) -> impl Iterator<Item = (u32, Peer)> {
    report.threads.iter().flat_map(|thread| thread.peers.iter().copied())
}

fn received(report: &ProcessReport) -> BTreeMap<u32, (u64, u64)> {
    let mut received: BTreeMap<u32, (u64, u64)> = BTreeMap::new();
    for (peer, counts) in peers(report) {
        let sum = received.entry(peer).or_default();
        *sum = (sum.0 + counts.n_received, sum.1 + counts.bytes_received);
    }
    received
}

/// Returns whether a process called one-sided operations that fetch data.
fn fetches(report: &ProcessReport) -> bool {
    let mut regions = report.threads.iter().flat_map(|thread| &thread.regions);
    regions.any(|counters| {
        let operation = mpi_abi::operation(OperationId(counters.operation));
        operation.is_some_and(|o| o.movements.iter().any(|moved| moved.flow == Flow::Get))
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::samples::{measured, peer, process, region};

    /// Checks `(from, to, messages, bytes)` of the only world.
    #[track_caller]
    fn check(processes: Vec<ProcessReport>, expected: &[(u32, u32, u64, u64)]) {
        let found: Vec<_> = pairs(&Roster::new(&measured(processes), 0.0))
            .iter()
            .map(|pair| (pair.from, pair.to, pair.messages, pair.bytes))
            .collect();
        assert_eq!(found, expected);
    }

    fn with_peers(rank: u32, peers: &[(u32, Peer)]) -> ProcessReport {
        let mut process = process(0, rank);
        process.threads[0].peers = peers.to_vec();
        process
    }

    #[test]
    fn the_sender_counts() {
        check(vec![], &[]);
        let first = with_peers(0, &[(1, peer(3, 30, 1, 9000))]);
        let second = with_peers(1, &[(0, peer(1, 10, 3, 30)), (1, peer(2, 4, 0, 0))]);
        check(vec![first, second], &[(0, 1, 3, 30), (1, 0, 1, 10), (1, 1, 2, 4)]);
    }

    #[test]
    fn the_receiver_counts_when_the_sender_is_unknown() {
        check(vec![with_peers(1, &[(0, peer(0, 0, 3, 30))])], &[(0, 1, 3, 30)]);
    }

    #[test]
    fn what_is_fetched_comes_from_the_owner_of_the_window() {
        let mut fetching = with_peers(1, &[(0, peer(0, 0, 5, 500))]);
        fetching.threads[0].regions = vec![region(1, (0, 0x10), "MPI_Get", 5, (0.1, 0.0))];
        check(vec![process(0, 0), fetching], &[(0, 1, 5, 500)]);
        check(vec![process(0, 0), with_peers(1, &[(0, peer(0, 0, 5, 500))])], &[]);
    }
}
