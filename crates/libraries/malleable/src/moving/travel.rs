//! Arrays being moved, by any of the methods.

use super::Method;
use super::array_move::{ArrayMove, Landed, landed};
use super::error::MoveError;
use super::feeding::Feeding;
use super::fetching::Fetching;
use crate::bridge::Bridge;
use mpi::{Bundle, Comm, Exchange};
use std::time::Duration;

/// Arrays being moved, numbered in the order of registration.
#[derive(Default)]
pub(crate) struct Travel {
    exchanges: Vec<(Vec<usize>, Exchange)>,
    fetching: Option<Fetching>,
    feeding: Option<Feeding>,
    /// Arrays that have arrived.
    landed: Vec<Landed>,
}

impl Travel {
    /// Starts to send prepared arrays. All ranks of the bridge do, with the same method.
    pub(crate) fn begin(
        bridge: &Bridge<'_>,
        array_moves: Vec<ArrayMove>,
        method: Method,
    ) -> Result<Self, MoveError> {
        let mut travel = Self::default();
        let n_turns = array_moves.iter().map(|array_move| array_move.turn + 1).max().unwrap_or(0);
        let mut array_moves = array_moves.into_iter().enumerate().collect::<Vec<_>>();
        for turn in 0..n_turns {
            let (now, later) =
                array_moves.into_iter().partition(|(_, array_move)| array_move.turn == turn);
            array_moves = later;
            travel.send(bridge.comm, now, method)?;
        }
        Ok(travel)
    }

    /// Arrays that targets fetch, and those that need no fetching.
    pub(crate) fn fetch((fetching, landed): (Fetching, Vec<Landed>)) -> Self {
        Self { fetching: Some(fetching), landed, ..Self::default() }
    }

    /// Arrays that sources send piece by piece, and those that need no sending.
    pub(crate) fn feed((feeding, landed): (Feeding, Vec<Landed>)) -> Self {
        Self { feeding: Some(feeding), landed, ..Self::default() }
    }

    /// Starts to send the arrays of a turn, with one message to each rank.
    fn send(
        &mut self,
        comm: &Comm,
        array_moves: Vec<(usize, ArrayMove)>,
        method: Method,
    ) -> Result<(), MoveError> {
        let (moved, kept): (Vec<_>, Vec<_>) =
            array_moves.into_iter().partition(|(_, array_move)| 0 < array_move.bytes[1]);
        self.landed.extend(kept.into_iter().filter_map(landed));
        let (Some((_, first)), n_arrays) = (moved.first(), moved.len()) else { return Ok(()) };
        let (width, tag) = (first.width, u16::try_from(first.turn).unwrap_or(u16::MAX));
        let is_plain = n_arrays == 1 && first.is_plain;
        let (mut bundle, mut numbers) = (Bundle::default(), Vec::with_capacity(n_arrays));
        for (number, mut array_move) in moved {
            let n_received = bundle.received.len();
            array_move.board(&mut bundle);
            numbers.extend((n_received < bundle.received.len()).then_some(number));
        }
        let exchange = match (method, is_plain) {
            (Method::Sync, true) => comm.exchange_rows_now(bundle, width),
            (Method::Sync, false) => comm.exchange_now(bundle),
            (Method::PointToPoint, _) => comm.start_messages(bundle, tag),
            (Method::Async | Method::Get, true) => comm.start_exchange_of_rows(bundle, width),
            (Method::Async | Method::Get, false) => comm.start_exchange(bundle),
        };
        self.exchanges.push((numbers, exchange?));
        Ok(())
    }

    /// Makes progress, and fetches for about as long as the budget; returns whether all has arrived.
    pub(crate) fn advance(&mut self, comm: &Comm, budget: Duration) -> Result<bool, MoveError> {
        let mut open = Vec::new();
        for (numbers, mut exchange) in std::mem::take(&mut self.exchanges) {
            if exchange.is_complete()? {
                let received = exchange.finished().unwrap_or_default().received;
                let memories = received.into_iter().map(|(memory, _)| memory);
                self.landed.extend(numbers.into_iter().zip(memories));
            } else {
                open.push((numbers, exchange));
            }
        }
        self.exchanges = open;
        let has_fetched = match &mut self.fetching {
            Some(fetching) => fetching.advance(budget)?,
            None => true,
        };
        let has_fed = match &mut self.feeding {
            Some(feeding) => feeding.advance(comm, budget)?,
            None => true,
        };
        Ok(has_fetched && has_fed && self.exchanges.is_empty())
    }

    /// Returns all arrays, once every rank has fetched what it needs.
    pub(crate) fn close(mut self) -> Result<Vec<Landed>, MoveError> {
        if let Some(fetching) = self.fetching.take() {
            self.landed.extend(fetching.close()?);
        }
        self.landed.extend(self.feeding.take().map(Feeding::landed).unwrap_or_default());
        Ok(self.landed)
    }
}
