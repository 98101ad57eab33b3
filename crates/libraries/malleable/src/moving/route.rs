//! From a plan to the bytes that one rank sends, receives and keeps.
//!
//! Each part holds its rows in their order, without gaps. So the moves of a plan, one after the other, define where
//! each stretch of elements lies in the array of its source and in that of its target.
//!
//! # Invariants
//! - Every rank computes the same by itself; what one sends to another is what the other receives from it.
//! - Data that stay on a rank are never sent.

use resize_plan::{Move, MovePlan};
use std::collections::BTreeMap;

/// Stretch of an array that moves from one part to another; positions count elements.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct RowTransfer {
    pub(crate) from: u32,
    pub(crate) to: u32,
    pub(crate) send_at: u64,
    pub(crate) receive_at: u64,
    pub(crate) n_elements: u64,
}

/// All transfers of an array; `n_elements` returns the number of elements in each move of the plan, by its number.
pub(crate) fn transfers(
    plan: &MovePlan,
    n_elements: impl Fn(usize, &Move) -> u64,
) -> Vec<RowTransfer> {
    let mut given = vec![0; plan.n_sources() as usize];
    let mut got = vec![0; plan.n_targets() as usize];
    let transfer = |(number, step): (usize, &Move)| {
        let n_elements = n_elements(number, step);
        let (send_at, receive_at) = (&mut given[step.from as usize], &mut got[step.to as usize]);
        let (from, to) = (step.from, step.to);
        let transfer =
            RowTransfer { from, to, send_at: *send_at, receive_at: *receive_at, n_elements };
        *send_at += n_elements;
        *receive_at += n_elements;
        transfer
    };
    plan.moves().iter().enumerate().map(transfer).collect()
}

/// Number of elements in each move of a source, where `lengths` are those of the source's rows.
pub(crate) fn elements_given(plan: &MovePlan, source: u32, lengths: &[u32]) -> Vec<u64> {
    let mut lengths = lengths.iter();
    let sum = |step: &Move| {
        let n_rows = usize::try_from(step.rows.end - step.rows.start).unwrap_or(usize::MAX);
        lengths.by_ref().take(n_rows).map(|length| u64::from(*length)).sum()
    };
    plan.given_by(source).map(sum).collect()
}

/// Brings the results of [`elements_given`] of all sources into the order of moves.
pub(crate) fn in_order_of_moves(plan: &MovePlan, said: &[Vec<u64>]) -> Option<Vec<u64>> {
    let mut said = said.iter().map(|moves| moves.iter()).collect::<Vec<_>>();
    plan.moves().iter().map(|step| said.get_mut(step.from as usize)?.next().copied()).collect()
}

/// Contiguous bytes that two ranks exchange.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Piece {
    /// Other rank.
    pub(crate) peer: u32,
    /// Position in the array here.
    pub(crate) here: u64,
    /// Position in the array there.
    pub(crate) there: u64,
    pub(crate) n_bytes: u64,
}

/// One rank's part in moving an array.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Route {
    pub(crate) sends: Vec<Piece>,
    pub(crate) receives: Vec<Piece>,
    /// Bytes kept: `here` is the position before, `there` afterwards.
    pub(crate) keeps: Vec<Piece>,
    /// Length of the array afterwards, in bytes.
    pub(crate) n_bytes: u64,
}

/// Ranks of sources and of targets.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Seats<'a> {
    pub(crate) sources: &'a [u32],
    pub(crate) targets: &'a [u32],
}

impl Route {
    /// Computes the route of `rank` for an array with elements of `element` bytes.
    pub(crate) fn of(rank: u32, seats: Seats<'_>, transfers: &[RowTransfer], element: u64) -> Self {
        let mut route = Self::default();
        let [mut sends, mut receives, mut keeps] = [const { Pieces::new() }; 3];
        for transfer in transfers.iter().filter(|transfer| 0 < transfer.n_elements) {
            let from = seats.sources[transfer.from as usize];
            let to = seats.targets[transfer.to as usize];
            let n_bytes = transfer.n_elements * element;
            let (before, after) = (transfer.send_at * element, transfer.receive_at * element);
            let outward = Piece { peer: to, here: before, there: after, n_bytes };
            match (from == rank, to == rank) {
                (true, true) => keeps.add(outward),
                (true, false) => sends.add(outward),
                (false, true) => {
                    receives.add(Piece { peer: from, here: after, there: before, n_bytes });
                }
                (false, false) => {}
            }
            if to == rank {
                route.n_bytes = after + n_bytes;
            }
        }
        [route.sends, route.receives, route.keeps] = [sends.all, receives.all, keeps.all];
        route
    }
}

/// Collector of pieces that merges those that are adjacent on both sides.
struct Pieces {
    all: Vec<Piece>,
    last_of: BTreeMap<u32, usize>,
}

impl Pieces {
    const fn new() -> Self {
        Self { all: Vec::new(), last_of: BTreeMap::new() }
    }

    fn add(&mut self, piece: Piece) {
        let last = self.last_of.get(&piece.peer).and_then(|place| self.all.get_mut(*place));
        if let Some(last) = last
            && last.here + last.n_bytes == piece.here
            && last.there + last.n_bytes == piece.there
        {
            last.n_bytes += piece.n_bytes;
            return;
        }
        self.last_of.insert(piece.peer, self.all.len());
        self.all.push(piece);
    }
}

/// Splits pieces into ones of at most `bytes_max`, in the same order.
pub(crate) fn split(pieces: &[Piece], bytes_max: u64) -> impl Iterator<Item = Piece> {
    pieces.iter().flat_map(move |piece| {
        (0..piece.n_bytes).step_by(usize::try_from(bytes_max).unwrap_or(usize::MAX)).map(
            move |at| {
                let n_bytes = bytes_max.min(piece.n_bytes - at);
                Piece { here: piece.here + at, there: piece.there + at, n_bytes, ..*piece }
            },
        )
    })
}

#[cfg(test)]
mod tests;
