//! Agreement of the ranks of a communicator about the call from which on something changes, without a wait.
//!
//! Every rank counts the synchronizing calls of the communicator, writes its count *before* each call, and *then* reads
//! the change. One rank proposes a change for a call that nobody has reached; only if nobody has reached it *after* the
//! proposal was written is the change confirmed. So a rank that passes that call has either seen the proposal, or was
//! seen to have passed it (both are sequentially consistent). A rank that reaches the call and finds a mere proposal
//! withdraws it. Confirming and withdrawing are one exchange of the same word, so that one of them fails.
//!
//! # Invariants
//! - All ranks make a change at the same call, or none does.
//! - Nobody waits for anybody.
//! - There is one change at a time: the next one is proposed when all ranks have made the last one.

use super::{RankTable, Seat};
use std::sync::atomic::Ordering::SeqCst;

/// Something that changes at a call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Change {
    /// Communicators for the algorithms are made.
    Make,
    /// All calls use this algorithm, and are timed.
    Try(u8),
    /// Each cell uses what was chosen.
    Use,
    /// All calls use the library's algorithm.
    Rest,
}

/// What a rank says of itself with its count.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Standing {
    /// Value of the lever.
    pub level: u8,
    /// Whether it can make changes.
    pub is_able: bool,
}

/// States of a change, in the lowest bits of its word.
const NONE: u64 = 0;
const PROPOSED: u64 = 1;
const CONFIRMED: u64 = 2;
const STATE_MASK: u64 = 3;
/// Position of the kind of a change, and of its call.
const KIND_SHIFT: u32 = 2;
const CALL_SHIFT: u32 = 10;
/// Calls between the furthest rank and a proposal.
const N_AHEAD: u64 = 2;
/// Position of a count in a rank's word, after its standing.
const COUNT_SHIFT: u32 = 4;
const ABLE: u64 = 4;

impl Change {
    fn number(self) -> u64 {
        match self {
            Self::Try(arm) => arm.into(),
            Self::Make => 253,
            Self::Use => 254,
            Self::Rest => 255,
        }
    }

    fn of(word: u64) -> Self {
        match u8::try_from((word >> KIND_SHIFT) & 0xff) {
            Ok(253) => Self::Make,
            Ok(254) => Self::Use,
            Ok(arm) if usize::from(arm) < super::N_ARMS => Self::Try(arm),
            _ => Self::Rest,
        }
    }
}

impl Seat {
    fn count(&self) -> u64 {
        self.progress.load(SeqCst) >> COUNT_SHIFT
    }
}

impl RankTable {
    /// Notes that a rank enters its call number `count`, from 1; returns what it has to change now.
    pub fn enter(&self, rank: usize, count: u64, standing: Standing) -> Option<Change> {
        let able = if standing.is_able { ABLE } else { 0 };
        let word = count << COUNT_SHIFT | able | u64::from(standing.level & 3);
        self.seats.get(rank)?.progress.store(word, SeqCst);
        let mut change = self.change.load(SeqCst);
        loop {
            match change & STATE_MASK {
                _ if change >> CALL_SHIFT != count => return None,
                CONFIRMED => return Some(Change::of(change)),
                PROPOSED => {
                    let withdrawn = change & !STATE_MASK | NONE;
                    match self.change.compare_exchange(change, withdrawn, SeqCst, SeqCst) {
                        Ok(_) => return None,
                        Err(now) => change = now,
                    }
                }
                _ => return None,
            }
        }
    }

    /// Notes that a rank has made the change of this call.
    pub fn adopted(&self, rank: usize, count: u64) {
        if let Some(seat) = self.seats.get(rank) {
            seat.adopted.store(count, SeqCst);
        }
    }

    /// Proposes a change, and confirms it at once if no rank has got so far; returns the call at which it happens.
    pub fn decide(&self, n_ranks: usize, change: Change) -> Option<u64> {
        let seats = self.seats.get(..n_ranks)?;
        let before = self.change.load(SeqCst);
        let is_made = |seat: &Seat| before >> CALL_SHIFT <= seat.adopted.load(SeqCst);
        let is_free = match before & STATE_MASK {
            CONFIRMED => seats.iter().all(is_made),
            state => state == NONE,
        };
        if !is_free || self.is_broken() || seats.iter().any(|seat| seat.count() == 0) {
            return None;
        }
        let call = seats.iter().map(Seat::count).max()? + N_AHEAD;
        let proposed = call << CALL_SHIFT | change.number() << KIND_SHIFT | PROPOSED;
        self.change.compare_exchange(before, proposed, SeqCst, SeqCst).ok()?;
        let is_ahead = seats.iter().all(|seat| seat.count() < call);
        let state = if is_ahead { CONFIRMED } else { NONE };
        let decided = proposed & !STATE_MASK | state;
        let exchanged = self.change.compare_exchange(proposed, decided, SeqCst, SeqCst);
        (exchanged.is_ok() && is_ahead).then_some(call)
    }

    /// Lowest standing of the ranks; `None` while one has not taken its seat.
    pub fn standing(&self, n_ranks: usize) -> Option<Standing> {
        let words = self.seats.get(..n_ranks)?.iter().map(|seat| seat.progress.load(SeqCst));
        let lowest = Standing { level: 3, is_able: true };
        words
            .filter(|word| *word != 0)
            .try_fold((lowest, 0), |(lowest, n), word| {
                let level = lowest.level.min(u8::try_from(word & 3).unwrap_or(0));
                let is_able = lowest.is_able && word & ABLE != 0;
                Some((Standing { level, is_able }, n + 1))
            })
            .and_then(|(lowest, n)| (n == n_ranks).then_some(lowest))
    }

    /// Returns whether all ranks have made the change of this call.
    pub fn is_made(&self, n_ranks: usize, call: u64) -> bool {
        self.seats.iter().take(n_ranks).all(|seat| call <= seat.adopted.load(SeqCst))
    }

    /// Checks, when a synchronizing call has ended, that every rank has entered it, as far as it has a seat. Otherwise
    /// ranks have counted differently, and nothing is changed any more.
    pub fn check(&self, n_ranks: usize, count: u64) {
        let is_behind = |seat: &Seat| (1..count).contains(&seat.count());
        if self.seats.iter().take(n_ranks).any(is_behind) {
            self.is_broken.store(1, SeqCst);
        }
    }

    /// Returns whether ranks have counted differently.
    pub fn is_broken(&self) -> bool {
        self.is_broken.load(SeqCst) != 0
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::board;
    use super::*;
    use std::sync::atomic::{AtomicU64, Ordering};
    use std::sync::{Arc, Barrier};

    const READY: Standing = Standing { level: 1, is_able: true };

    #[test]
    fn a_change_needs_all_seats_and_its_predecessor_made() {
        let table = board().table(1).unwrap();
        assert_eq!(table.enter(0, 1, READY), None);
        assert_eq!((table.decide(2, Change::Make), table.standing(2)), (None, None));
        assert_eq!(table.enter(1, 1, Standing { level: 2, ..READY }), None);
        assert_eq!(table.standing(2), Some(READY));
        assert_eq!(table.decide(2, Change::Make), Some(3));
        assert_eq!(table.decide(2, Change::Rest), None);
        assert_eq!((table.enter(0, 2, READY), table.enter(1, 2, READY)), (None, None));
        assert_eq!(table.enter(0, 3, READY), Some(Change::Make));
        table.adopted(0, 3);
        assert_eq!(table.decide(2, Change::Rest), None);
        assert_eq!(table.enter(1, 3, READY), Some(Change::Make));
        table.adopted(1, 3);
        assert!(table.is_made(2, 3));
        assert_eq!(table.decide(2, Change::Try(4)), Some(5));
    }

    #[test]
    fn ranks_that_count_differently_change_nothing() {
        let table = board().table(1).unwrap();
        table.enter(0, 5, READY);
        table.check(2, 5);
        assert!(!table.is_broken(), "a rank without a seat is no rank behind");
        table.enter(1, 4, READY);
        table.check(2, 5);
        assert!(table.is_broken());
        assert_eq!(table.decide(2, Change::Make), None);
    }

    /// Ranks run freely, without any barrier between their calls, while one decides; all must make the same changes at
    /// the same calls.
    #[test]
    fn ranks_that_run_freely_agree() {
        const N_RANKS: usize = 4;
        const N_CALLS: u64 = 50_000;
        let table = board().table(1).unwrap();
        let start = Arc::new(Barrier::new(N_RANKS));
        let n_decided = Arc::new(AtomicU64::new(0));
        let ranks: Vec<_> = (0..N_RANKS)
            .map(|rank| {
                let (start, n_decided) = (Arc::clone(&start), Arc::clone(&n_decided));
                std::thread::spawn(move || {
                    let mut made = Vec::new();
                    start.wait();
                    for count in 1..=N_CALLS {
                        if let Some(change) = table.enter(rank, count, READY) {
                            made.push((count, change));
                            table.adopted(rank, count);
                        }
                        let arm = u8::try_from(count % 5).unwrap();
                        if rank == 0 && table.decide(N_RANKS, Change::Try(arm)).is_some() {
                            n_decided.fetch_add(1, Ordering::Relaxed);
                        }
                        if count % 64 == rank as u64 {
                            std::thread::yield_now();
                        }
                    }
                    made
                })
            })
            .collect();
        let made: Vec<_> = ranks.into_iter().map(|rank| rank.join().unwrap()).collect();
        assert!(made.iter().all(|other| *other == made[0]));
        // The last one may lie behind the last call.
        let n_decided = usize::try_from(n_decided.load(Ordering::Relaxed)).unwrap();
        assert!((n_decided.saturating_sub(1)..=n_decided).contains(&made[0].len()));
    }
}
