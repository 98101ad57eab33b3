//! What moves from one partition to another.

use crate::{Partition, RowBytes, Seat};
use std::collections::BTreeMap;
use std::ops::Range;

/// Why there is no plan.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum PlanError {
    /// The partitions are of different things.
    #[error("{n_sources} rows cannot become {n_targets}; both partitions are of the same rows")]
    Rows {
        /// Rows before.
        n_sources: u64,
        /// Rows after.
        n_targets: u64,
    },
    /// A plan begins with other processes than the one before ends with.
    #[error("a plan for {n_targets} targets is not followed by one from {n_sources} sources")]
    Follow {
        /// Targets of the first plan.
        n_targets: u32,
        /// Sources of the second one.
        n_sources: u32,
    },
}

/// Rows that one source gives to one target.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Move {
    /// The source, from 0.
    pub from: u32,
    /// The target, from 0.
    pub to: u32,
    /// The rows.
    pub rows: Range<u64>,
}

/// What one source gives to one target, all together.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PairBytes {
    /// The source.
    pub from: u32,
    /// The target.
    pub to: u32,
    /// Bytes.
    pub bytes: u64,
}

/// All moves from one partition to another, in the order of rows.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Plan {
    n_sources: u32,
    n_targets: u32,
    moves: Vec<Move>,
}

impl Plan {
    /// What has to move so that rows that lie as in `sources` lie as in `targets`.
    ///
    /// # Errors
    /// [`PlanError::Rows`] where the two have not the same number of rows.
    pub fn between(sources: &Partition, targets: &Partition) -> Result<Self, PlanError> {
        if sources.n_rows() != targets.n_rows() {
            let (n_sources, n_targets) = (sources.n_rows(), targets.n_rows());
            return Err(PlanError::Rows { n_sources, n_targets });
        }
        let moves = overlaps(sources.runs(), targets.runs());
        Ok(Self { n_sources: sources.n_parts(), n_targets: targets.n_parts(), moves })
    }

    /// This plan and then `next`, in one.
    ///
    /// # Errors
    /// [`PlanError::Follow`] where `next` begins with other processes than this one ends with, [`PlanError::Rows`]
    /// where it moves other rows.
    pub fn then(&self, next: &Self) -> Result<Self, PlanError> {
        if self.n_targets != next.n_sources {
            let (n_targets, n_sources) = (self.n_targets, next.n_sources);
            return Err(PlanError::Follow { n_targets, n_sources });
        }
        let (n_sources, n_targets) = (self.n_rows(), next.n_rows());
        if n_sources != n_targets {
            return Err(PlanError::Rows { n_sources, n_targets });
        }
        let first = self.moves.iter().map(|step| (step.from, step.rows.clone()));
        let last = next.moves.iter().map(|step| (step.to, step.rows.clone()));
        let moves = overlaps(first, last);
        Ok(Self { n_sources: self.n_sources, n_targets: next.n_targets, moves })
    }

    /// Processes before.
    #[must_use]
    pub const fn n_sources(&self) -> u32 {
        self.n_sources
    }

    /// Processes after.
    #[must_use]
    pub const fn n_targets(&self) -> u32 {
        self.n_targets
    }

    /// Rows of all moves.
    #[must_use]
    pub fn n_rows(&self) -> u64 {
        self.moves.last().map_or(0, |last| last.rows.end)
    }

    /// All moves, in the order of rows.
    #[must_use]
    pub fn moves(&self) -> &[Move] {
        &self.moves
    }

    /// What a source gives, in the order of rows.
    pub fn given_by(&self, source: u32) -> impl Iterator<Item = &Move> {
        self.moves.iter().filter(move |step| step.from == source)
    }

    /// What a target gets, in the order of rows.
    pub fn got_by(&self, target: u32) -> impl Iterator<Item = &Move> {
        self.moves.iter().filter(move |step| step.to == target)
    }

    /// Whether every row stays with the process of its number.
    #[must_use]
    pub fn is_identity(&self) -> bool {
        self.n_sources == self.n_targets && self.moves.iter().all(|step| step.from == step.to)
    }

    /// Bytes between each source and target that share rows, by source, then target.
    #[must_use]
    pub fn bytes_per_pair(&self, of: &RowBytes) -> Vec<PairBytes> {
        let mut pairs = BTreeMap::<(u32, u32), u64>::new();
        for step in &self.moves {
            *pairs.entry((step.from, step.to)).or_default() += of.of(&step.rows);
        }
        pairs.into_iter().map(|((from, to), bytes)| PairBytes { from, to, bytes }).collect()
    }

    /// Bytes that leave their process, with `seats` saying which target was which source.
    #[must_use]
    pub fn bytes_moved(&self, of: &RowBytes, seats: &[Seat]) -> u64 {
        let is_new_place =
            |step: &&Move| seats.get(step.to as usize) != Some(&Seat::Stays { source: step.from });
        self.moves.iter().filter(is_new_place).map(|step| of.of(&step.rows)).sum()
    }
}

/// Where stretches of one side meet those of the other; both in the order of rows, without gaps.
fn overlaps(
    mut sources: impl Iterator<Item = (u32, Range<u64>)>,
    mut targets: impl Iterator<Item = (u32, Range<u64>)>,
) -> Vec<Move> {
    let mut moves = Vec::<Move>::new();
    let (mut source, mut target) = (sources.next(), targets.next());
    let mut row = 0;
    while let (Some((from, given)), Some((to, got))) = (&source, &target) {
        let (from, to, end) = (*from, *to, given.end.min(got.end));
        match moves.last_mut() {
            Some(last) if last.from == from && last.to == to => last.rows.end = end,
            _ => moves.push(Move { from, to, rows: row..end }),
        }
        row = end;
        let (source_ends, target_ends) = (given.end == end, got.end == end);
        if source_ends {
            source = sources.next();
        }
        if target_ends {
            target = targets.next();
        }
    }
    moves
}
