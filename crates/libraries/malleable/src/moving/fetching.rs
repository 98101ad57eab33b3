//! Targets fetch what they need piece by piece, at their own pace.
//!
//! # Invariants
//! - A call takes about as long as its budget, so that a rank that computes can fetch between its iterations.

use super::array_move::{ArrayMove, Landed, landed, to_usize};
use super::error::MoveError;
use super::route::{Piece, split};
use crate::bridge::Bridge;
use mpi::{Fetch, Mpi, Window};
use std::collections::VecDeque;
use std::sync::Arc;
use std::time::{Duration, Instant};

/// Size of a piece, in bytes: long enough that starting it costs little, and short enough that no rank waits
/// for it long.
const PIECE_BYTES: u64 = 1 << 20;
/// Largest number of pieces in flight, where the library needs the help of other ranks to fetch them.
const N_OPEN_MAX: usize = 8;

/// Arrays fetched by their targets.
pub(crate) struct Fetching {
    windows: Vec<Window>,
    arrays: VecDeque<Array>,
    done: Vec<Landed>,
}

struct Array {
    number: usize,
    window: usize,
    fetch: Fetch,
    pieces: VecDeque<Piece>,
}

/// Windows on arrays, with the arrays' numbers.
pub(crate) type Windows = Vec<(usize, Window)>;

/// Exposes all arrays of which a part moves. All ranks of the bridge call it.
pub(crate) fn expose(bridge: &Bridge<'_>, array_moves: &[ArrayMove]) -> Result<Windows, MoveError> {
    let mut windows = Vec::new();
    for (number, array_move) in
        array_moves.iter().enumerate().filter(|(_, array_move)| 0 < array_move.bytes[1])
    {
        windows.push((number, Window::expose(bridge.comm, array_move.lent.clone())?));
    }
    Ok(windows)
}

impl Fetching {
    /// Takes prepared arrays; also returns those of which nothing has to be fetched.
    pub(crate) fn of(
        mpi: &Arc<Mpi>,
        windows: Windows,
        array_moves: Vec<ArrayMove>,
    ) -> (Self, Vec<Landed>) {
        let (numbers, windows): (Vec<_>, Vec<_>) = windows.into_iter().unzip();
        let mut fetching = Self { windows, arrays: VecDeque::new(), done: Vec::new() };
        let mut here = Vec::new();
        for (number, array_move) in array_moves.into_iter().enumerate() {
            let pieces = split(&array_move.route.receives, PIECE_BYTES).collect::<VecDeque<_>>();
            let Some((number, memory)) = landed((number, array_move)) else { continue };
            match numbers.iter().position(|exposed| *exposed == number) {
                Some(window) if !pieces.is_empty() => {
                    let fetch = Fetch::into(mpi, memory);
                    fetching.arrays.push_back(Array { number, window, fetch, pieces });
                }
                _ => here.push((number, memory)),
            }
        }
        (fetching, here)
    }

    /// Fetches pieces for about as long as the budget, at least one unless it is zero; returns whether this
    /// rank has all.
    pub(crate) fn advance(&mut self, budget: Duration) -> Result<bool, MoveError> {
        let began = Instant::now();
        while let Some(array) = self.arrays.front_mut() {
            array.fetch.is_complete()?;
            while !budget.is_zero()
                && array.fetch.n_open() < N_OPEN_MAX
                && let Some(piece) = array.pieces.pop_front()
            {
                let [here, there, n_bytes] = [piece.here, piece.there, piece.n_bytes].map(to_usize);
                let window = &self.windows[array.window];
                window.get(&mut array.fetch, here, (piece.peer, there), n_bytes)?;
                array.fetch.is_complete()?;
                if budget <= began.elapsed() {
                    return Ok(false);
                }
            }
            if 0 < array.fetch.n_open() || !array.pieces.is_empty() {
                return Ok(false);
            }
            if let Some(array) = self.arrays.pop_front() {
                let memory = array.fetch.finished();
                self.done.extend(memory.map(|memory| (array.number, memory)));
            }
        }
        Ok(true)
    }

    /// Frees the windows, together with the other ranks, when no rank fetches any more.
    pub(crate) fn close(self) -> Result<Vec<Landed>, MoveError> {
        for window in self.windows {
            window.close()?;
        }
        Ok(self.done)
    }
}
