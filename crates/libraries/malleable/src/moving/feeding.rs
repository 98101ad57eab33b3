//! Sources send piece by piece, at a rate that lets them compute, and targets receive.
//!
//! # Invariants
//! - Each pair of ranks handles its pieces in the same order on both sides, independent of other ranks.

use super::array_move::{ArrayMove, Landed, landed, to_usize};
use super::error::MoveError;
use super::route::{Piece, split};
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

/// Number of iterations measured first.
const N_BEFORE: usize = 5;
/// Smallest rate, in bytes per second: a tenth of the time, where 1 GB/s is copied.
const RATE_MIN: f64 = 100e6;
const RATE_MAX: f64 = 100e9;
/// Factors on the usual time above which iterations count as slow, and below which they allow more.
const SLOW: f64 = 1.25;
const FAST: f64 = 1.1;
/// Factors on the rate in these cases.
const DOWN: f64 = 0.6;
const UP: f64 = 1.2;

/// Rate at which a computing rank sends: as high as its iterations allow.
///
/// The cost of sending shows in the iterations, whichever side copies: the program's own MPI calls make progress on the
/// transfers. So during the first iterations nothing is sent; then the rate rises while iterations take as long as
/// these, and falls when they take longer, but never below the rate at which copying costs about a tenth of the time.
#[derive(Clone, Debug)]
struct Throttle {
    before_s: Vec<f64>,
    bytes_per_s: f64,
    /// Bytes that may be sent now.
    left: f64,
}

impl Throttle {
    const fn new() -> Self {
        Self { before_s: Vec::new(), bytes_per_s: RATE_MIN, left: 0.0 }
    }

    /// Counts an iteration; returns whether anything may be sent after it.
    fn pass(&mut self, iteration_s: f64) -> bool {
        if self.before_s.len() < N_BEFORE {
            self.before_s.push(iteration_s);
            self.before_s.sort_by(f64::total_cmp);
            return false;
        }
        let usual_s = self.before_s[N_BEFORE / 2];
        if SLOW * usual_s < iteration_s {
            self.bytes_per_s *= DOWN;
        } else if iteration_s < FAST * usual_s {
            self.bytes_per_s *= UP;
        }
        self.bytes_per_s = self.bytes_per_s.clamp(RATE_MIN, RATE_MAX);
        // Time that an iteration left unused is not saved.
        self.left = self.left.min(0.0) + self.bytes_per_s * usual_s;
        0.0 < self.left
    }

    /// Counts sent bytes; returns whether more may follow.
    #[expect(clippy::cast_precision_loss, reason = "pieces are short")]
    fn send(&mut self, n_bytes: u64) -> bool {
        self.left -= n_bytes as f64;
        0.0 < self.left
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Bytes sent in pieces after iterations of these times.
    fn sent(throttle: &mut Throttle, iterations_s: &[f64]) -> u64 {
        let mut n_bytes = 0;
        for iteration_s in iterations_s {
            let mut may_send = throttle.pass(*iteration_s);
            while may_send {
                n_bytes += 1000;
                may_send = throttle.send(1000);
            }
        }
        n_bytes
    }

    #[test]
    fn nothing_is_sent_before_an_iteration_is_known() {
        let mut throttle = Throttle::new();
        assert_eq!(sent(&mut throttle, &[0.001; N_BEFORE]), 0);
        assert_ne!(sent(&mut throttle, &[0.001]), 0);
    }

    #[test]
    fn more_is_sent_while_iterations_are_as_fast_as_before() {
        let mut throttle = Throttle::new();
        sent(&mut throttle, &[0.001; N_BEFORE]);
        let first = sent(&mut throttle, &[0.001; 10]);
        assert!(2 * first < sent(&mut throttle, &[0.001; 10]));
    }

    #[test]
    fn slow_iterations_leave_the_least_rate() {
        let mut throttle = Throttle::new();
        sent(&mut throttle, &[0.001; 20]);
        sent(&mut throttle, &[0.002; 20]);
        assert_eq!(sent(&mut throttle, &[0.002; 10]), 1_000_000);
    }
}
