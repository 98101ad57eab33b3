//! Sources send piece by piece, at a rate that lets them compute, and targets receive.
//!
//! # Invariants
//! - Each pair of ranks handles its pieces in the same order on both sides, independent of other ranks.

use super::array_move::{ArrayMove, Landed, landed, to_usize};
use super::error::MoveError;
use super::route::{Piece, split};
use super::throttle::Throttle;
use crate::bridge::Bridge;
use crate::tags::Tag;
use mpi::{ArrayPiece, Comm, PieceReceiver, PieceSender};
use std::collections::{BTreeMap, VecDeque};
use std::time::{Duration, Instant};

/// Size of a piece, in bytes.
const PIECE_BYTES: u64 = 1 << 18;
/// Largest number of pieces in flight between two ranks.
const N_OPEN_MAX: usize = 16;

/// Arrays sent piece by piece.
pub(crate) struct Feeding {
    feed: PieceSender,
    intake: PieceReceiver,
    /// Number of each array that is received.
    numbers: Vec<usize>,
    sends: Queues,
    receives: Queues,
    throttle: Throttle,
    last: Instant,
}

/// Pieces for each other rank, in order, with the array that they belong to.
type Queues = BTreeMap<u32, VecDeque<(usize, Piece)>>;

impl Feeding {
    /// Takes prepared arrays; also returns those that need not be sent.
    pub(crate) fn of(bridge: &Bridge<'_>, array_moves: Vec<ArrayMove>) -> (Self, Vec<Landed>) {
        let (mut lent, mut memories, mut numbers) = (Vec::new(), Vec::new(), Vec::new());
        let (mut sends, mut receives) = (Queues::new(), Queues::new());
        let mut array_moves = array_moves.into_iter().enumerate().collect::<Vec<_>>();
        array_moves.sort_by_key(|(number, array_move)| (array_move.turn, *number));
        let mut here = Vec::new();
        for (number, mut array_move) in array_moves {
            if array_move.bytes[1] == 0 {
                here.extend(landed((number, array_move)));
                continue;
            }
            if let Some(array) = array_move.lent.take() {
                queue(&mut sends, lent.len(), &array_move.route.sends);
                lent.push(array);
            }
            queue(&mut receives, memories.len(), &array_move.route.receives);
            if let Some((number, memory)) = landed((number, array_move)) {
                memories.push(memory);
                numbers.push(number);
            }
        }
        let mpi = bridge.comm.mpi();
        let (feed, intake) = (PieceSender::of(mpi, lent), PieceReceiver::of(mpi, memories));
        let (throttle, last) = (Throttle::new(), Instant::now());
        (Self { feed, intake, numbers, sends, receives, throttle, last }, here)
    }

    /// Makes progress, and sends further pieces; all of them if the budget is unlimited. Returns whether all have
    /// been sent and received.
    pub(crate) fn advance(&mut self, comm: &Comm, budget: Duration) -> Result<bool, MoveError> {
        let iteration_s = self.last.elapsed().as_secs_f64();
        self.last = Instant::now();
        let (mut is_done, is_hurried) = (self.intake.is_complete()?, budget == Duration::MAX);
        for (from, pieces) in &mut self.receives {
            while self.intake.n_open(*from) < N_OPEN_MAX
                && let Some((array, piece)) = pieces.pop_front()
            {
                self.intake.receive(comm, part(array, &piece), *from, Tag::Feed.number())?;
            }
            is_done &= pieces.is_empty();
        }
        is_done &= self.feed.is_complete()?;
        let mut may_send = self.throttle.pass(iteration_s);
        for (to, pieces) in &mut self.sends {
            while (is_hurried || may_send)
                && self.feed.n_open(*to) < N_OPEN_MAX
                && let Some((array, piece)) = pieces.pop_front()
            {
                self.feed.send(comm, part(array, &piece), *to, Tag::Feed.number())?;
                may_send = self.throttle.send(piece.n_bytes);
                is_done = false;
            }
            is_done &= pieces.is_empty();
        }
        Ok(is_done && self.intake.is_complete()?)
    }

    /// Returns the received arrays, once all have been received.
    pub(crate) fn landed(self) -> Vec<Landed> {
        let memories = self.intake.finished().unwrap_or_default();
        self.numbers.into_iter().zip(memories).collect()
    }
}

fn queue(queues: &mut Queues, array: usize, pieces: &[Piece]) {
    for piece in split(pieces, PIECE_BYTES) {
        queues.entry(piece.peer).or_default().push_back((array, piece));
    }
}

fn part(array: usize, piece: &Piece) -> ArrayPiece {
    ArrayPiece { array, start: to_usize(piece.here), n_bytes: to_usize(piece.n_bytes) }
}
