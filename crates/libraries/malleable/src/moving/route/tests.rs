//! Tests that carry out routes on arrays in memory, and compare them with arrays distributed from scratch.

#![expect(clippy::cast_possible_truncation, reason = "small numbers of rows and elements")]

use super::*;
use proptest::prelude::*;
use resize_plan::{Partition, RowBytes, TargetProcess, stay};

/// Partition to test: kind, number of parts, length of blocks.
type Way = (u8, u32, u64);

fn way() -> impl Strategy<Value = Way> {
    (0..5_u8, 1..7_u32, 1..5_u64)
}

fn divide((kind, parts, block): Way, lengths: &[u32]) -> Partition {
    let n_rows = lengths.len() as u64;
    let weights = lengths.iter().copied().map(u64::from).collect::<Vec<_>>();
    let partition = match kind {
        0 => Partition::even(n_rows, parts),
        1 => Partition::weighted(&weights, parts),
        2 => Partition::aligned(n_rows, parts, block),
        3 => Partition::cyclic(n_rows, parts, block),
        _ if n_rows.is_multiple_of(block) => Partition::blocks_2d(n_rows / block, block, parts),
        _ => Partition::blocks_2d(n_rows, 1, parts),
    };
    partition.expect("there are parts and blocks")
}

/// Bytes of a part's rows: for each row its number of elements, filled with its number.
fn contents(partition: &Partition, part: u32, lengths: &[u32], element: u64) -> Vec<u8> {
    let mut bytes = Vec::new();
    for row in partition.rows_of(part).flatten() {
        for entry in 0..u64::from(lengths[row as usize]) * element {
            bytes.push((row * 31 + entry) as u8);
        }
    }
    bytes
}

/// Resize as every rank sees it.
#[derive(Debug)]
struct Change {
    plan: MovePlan,
    sources: Partition,
    targets: Partition,
    source_ranks: Vec<u32>,
    target_ranks: Vec<u32>,
    n_ranks: u32,
    lengths: Vec<u32>,
}

impl Change {
    fn between(sources: Partition, targets: Partition, lengths: Vec<u32>, is_merge: bool) -> Self {
        let plan = MovePlan::between(&sources, &targets).expect("the same rows");
        let source_ranks = (0..sources.n_parts()).collect::<Vec<_>>();
        let mut n_ranks = sources.n_parts();
        let bytes = RowBytes::of_rows(lengths.iter().map(|length| u64::from(*length)));
        let seats = match is_merge {
            true => stay(&plan, &bytes, &[]).expect("nobody must stay"),
            false => vec![TargetProcess::New; targets.n_parts() as usize],
        };
        let rank_of = |seat: &TargetProcess| match seat {
            TargetProcess::Stays { source } => *source,
            TargetProcess::New => {
                n_ranks += 1;
                n_ranks - 1
            }
        };
        let target_ranks = seats.iter().map(rank_of).collect();
        Self { plan, sources, targets, source_ranks, target_ranks, n_ranks, lengths }
    }

    fn transfers(&self) -> Vec<RowTransfer> {
        let said = (0..self.plan.n_sources()).map(|source| {
            let rows = self.sources.rows_of(source).flatten();
            let own = rows.map(|row| self.lengths[row as usize]).collect::<Vec<_>>();
            elements_given(&self.plan, source, &own)
        });
        let moves = in_order_of_moves(&self.plan, &said.collect::<Vec<_>>()).expect("all said it");
        transfers(&self.plan, |number, _| moves[number])
    }

    fn routes(&self, element: u64) -> Vec<Route> {
        let transfers = self.transfers();
        let seats = Seats { sources: &self.source_ranks, targets: &self.target_ranks };
        (0..self.n_ranks).map(|rank| Route::of(rank, seats, &transfers, element)).collect()
    }

    /// Arrays before the resize.
    fn before(&self, element: u64) -> Vec<Vec<u8>> {
        let mut arrays = vec![Vec::new(); self.n_ranks as usize];
        for (part, rank) in (0..).zip(&self.source_ranks) {
            arrays[*rank as usize] = contents(&self.sources, part, &self.lengths, element);
        }
        arrays
    }

    #[track_caller]
    fn check(&self, after: &[Vec<u8>], element: u64) {
        for (part, rank) in (0..).zip(&self.target_ranks) {
            let expected = contents(&self.targets, part, &self.lengths, element);
            assert_eq!(after[*rank as usize], expected, "part {part} on rank {rank}");
        }
    }
}

fn copy(from: &[u8], at: u64, to: &mut [u8], place: u64, n_bytes: u64) {
    let bytes = &from[at as usize..][..n_bytes as usize];
    to[place as usize..][..n_bytes as usize].copy_from_slice(bytes);
}

/// New arrays, with what each rank keeps.
fn kept(routes: &[Route], before: &[Vec<u8>]) -> Vec<Vec<u8>> {
    let own = |(route, before): (&Route, &Vec<u8>)| {
        let mut after = vec![0xee; route.n_bytes as usize];
        for piece in &route.keeps {
            copy(before, piece.here, &mut after, piece.there, piece.n_bytes);
        }
        after
    };
    routes.iter().zip(before).map(own).collect()
}

/// Moves each piece by a read of its target, as one-sided operations do.
fn get(routes: &[Route], before: &[Vec<u8>], bytes_max: u64) -> Vec<Vec<u8>> {
    let mut after = kept(routes, before);
    for (route, after) in routes.iter().zip(&mut after) {
        for piece in split(&route.receives, bytes_max) {
            assert!(piece.n_bytes <= bytes_max);
            copy(&before[piece.peer as usize], piece.there, after, piece.here, piece.n_bytes);
        }
    }
    after
}

/// Moves all that a rank has for another in one message, received in the order in which it was packed, as a collective
/// exchange with derived types does.
fn exchange(routes: &[Route], before: &[Vec<u8>]) -> Vec<Vec<u8>> {
    let mut after = kept(routes, before);
    for (rank, after) in (0..).zip(&mut after) {
        for peer in 0..routes.len() as u32 {
            let sent = routes[peer as usize].sends.iter().filter(|piece| piece.peer == rank);
            let array = &before[peer as usize];
            let packed =
                sent.flat_map(|piece| &array[piece.here as usize..][..piece.n_bytes as usize]);
            let packed = packed.copied().collect::<Vec<_>>();
            let mut at = 0;
            for piece in routes[rank as usize].receives.iter().filter(|piece| piece.peer == peer) {
                copy(&packed, at, after, piece.here, piece.n_bytes);
                at += piece.n_bytes;
            }
            assert_eq!(at, packed.len() as u64, "{peer} to {rank}");
        }
    }
    after
}

/// Moves each piece in its own message; the first one sent is the first one received.
fn point_to_point(routes: &[Route], before: &[Vec<u8>], bytes_max: u64) -> Vec<Vec<u8>> {
    let mut after = kept(routes, before);
    for (rank, after) in (0..).zip(&mut after) {
        for peer in 0..routes.len() as u32 {
            let sent =
                split(&routes[peer as usize].sends, bytes_max).filter(|piece| piece.peer == rank);
            let got = split(&routes[rank as usize].receives, bytes_max)
                .filter(|piece| piece.peer == peer);
            let (sent, got) = (sent.collect::<Vec<_>>(), got.collect::<Vec<_>>());
            assert_eq!(sent.len(), got.len(), "{peer} to {rank}");
            for (from, to) in sent.iter().zip(&got) {
                assert_eq!(from.n_bytes, to.n_bytes);
                copy(&before[peer as usize], from.here, after, to.here, to.n_bytes);
            }
        }
    }
    after
}

fn change() -> impl Strategy<Value = Change> {
    let lengths = prop::collection::vec(0..6_u32, 0..50);
    (way(), way(), lengths, any::<bool>()).prop_map(|(from, to, lengths, is_merge)| {
        let (from, to) = (divide(from, &lengths), divide(to, &lengths));
        Change::between(from, to, lengths, is_merge)
    })
}

proptest! {
    #[test]
    fn all_methods_give_what_a_fresh_distribution_gives(change in change(), element in 1..9_u64, bytes_max in 1..40_u64) {
        let (routes, before) = (change.routes(element), change.before(element));
        change.check(&get(&routes, &before, bytes_max), element);
        change.check(&exchange(&routes, &before), element);
        change.check(&point_to_point(&routes, &before, bytes_max), element);
    }

    #[test]
    fn every_byte_goes_once(change in change(), element in 1..9_u64) {
        let routes = change.routes(element);
        let sum = |pieces: &[Piece]| pieces.iter().map(|piece| piece.n_bytes).sum::<u64>();
        let (mut sent, mut received, mut held) = (0, 0, 0);
        for (rank, route) in (0..).zip(&routes) {
            sent += sum(&route.sends);
            received += sum(&route.receives);
            held += sum(&route.receives) + sum(&route.keeps);
            prop_assert!(route.sends.iter().chain(&route.receives).all(|piece| piece.peer != rank));
        }
        let all = change.lengths.iter().map(|length| u64::from(*length)).sum::<u64>() * element;
        prop_assert_eq!((sent, held), (received, all));
    }

    #[test]
    fn the_same_distribution_sends_nothing(change in change()) {
        let same = Change::between(change.sources.clone(), change.sources, change.lengths, true);
        for route in same.routes(8) {
            prop_assert_eq!((&route.sends, &route.receives), (&vec![], &vec![]));
            prop_assert!(route.keeps.len() <= 1);
        }
    }
}

#[test]
fn pieces_are_split() {
    let piece = |here, n_bytes| Piece { peer: 3, here, there: here + 100, n_bytes };
    let found = split(&[piece(0, 7), piece(9, 3)], 3).collect::<Vec<_>>();
    assert_eq!(found, [piece(0, 3), piece(3, 3), piece(6, 1), piece(9, 3)]);
    let large = split(&[piece(0, 5 << 31)], 1 << 30).collect::<Vec<_>>();
    assert_eq!((large.len(), large[9].here), (10, 9 << 30));
}
