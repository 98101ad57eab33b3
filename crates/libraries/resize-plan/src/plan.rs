//! Plans: the moves from one partition to another.

use crate::Partition;
use std::collections::BTreeMap;
use std::ops::Range;

/// Error in making a plan: the partitions have different numbers of rows.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{n_sources} rows cannot become {n_targets}; both partitions are of the same rows")]
pub struct PlanError {
    n_sources: u64,
    n_targets: u64,
}

/// Rows that move from one source to one target.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Move {
    /// Source, from 0.
    pub from: u32,
    /// Target, from 0.
    pub to: u32,
    /// Rows that move.
    pub rows: Range<u64>,
}

/// Process that becomes a target.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TargetProcess {
    /// A source that continues, perhaps under another number.
    Stays {
        /// Number of the source.
        source: u32,
    },
    /// A newly started process.
    New,
}

/// Bytes that move from one source to one target.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PairBytes {
    /// Source, from 0.
    pub from: u32,
    /// Target, from 0.
    pub to: u32,
    /// Number of bytes.
    pub bytes: u64,
}

/// All moves from one partition to another, in the order of rows.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MovePlan {
    n_sources: u32,
    n_targets: u32,
    moves: Vec<Move>,
}

impl MovePlan {
    /// Plans the moves from the partition `sources` to the partition `targets`.
    ///
    /// # Errors
    /// [`PlanError`] if they have different numbers of rows.
    pub fn between(sources: &Partition, targets: &Partition) -> Result<Self, PlanError> {
        let (n_sources, n_targets) = (sources.n_rows(), targets.n_rows());
        if n_sources != n_targets {
            return Err(PlanError { n_sources, n_targets });
        }
        let moves = overlaps(sources.runs(), targets.runs());
        Ok(Self { n_sources: sources.n_parts(), n_targets: targets.n_parts(), moves })
    }

    /// Number of processes before.
    #[must_use]
    pub const fn n_sources(&self) -> u32 {
        self.n_sources
    }

    /// Number of processes afterwards.
    #[must_use]
    pub const fn n_targets(&self) -> u32 {
        self.n_targets
    }

    /// Number of rows in all moves.
    #[must_use]
    pub fn n_rows(&self) -> u64 {
        self.moves.last().map_or(0, |last| last.rows.end)
    }

    /// All moves, in the order of rows.
    #[must_use]
    pub fn moves(&self) -> &[Move] {
        &self.moves
    }

    /// Moves from a source, in the order of rows.
    pub fn given_by(&self, source: u32) -> impl Iterator<Item = &Move> {
        self.moves.iter().filter(move |step| step.from == source)
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

    /// Bytes that move to another process, where `seats` tells which target was which source.
    #[must_use]
    pub fn bytes_moved(&self, of: &RowBytes, seats: &[TargetProcess]) -> u64 {
        let is_new_place = |step: &&Move| {
            seats.get(step.to as usize) != Some(&TargetProcess::Stays { source: step.from })
        };
        self.moves.iter().filter(is_new_place).map(|step| of.of(&step.rows)).sum()
    }
}

/// Overlaps of the stretches of both sides, which are in the order of rows, without gaps.
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

/// Sizes of the rows of an object.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum RowBytes {
    /// The same number of bytes for every row.
    Each(u64),
    /// Prefix sums: one more than rows, the first one 0.
    Sums(Vec<u64>),
}

impl RowBytes {
    /// Creates prefix sums from the bytes of each row, in order.
    pub fn of_rows(bytes: impl IntoIterator<Item = u64>) -> Self {
        let mut sum = 0_u64;
        let sums = bytes.into_iter().map(|row| {
            sum = sum.saturating_add(row);
            sum
        });
        Self::Sums(std::iter::once(0).chain(sums).collect())
    }

    /// Bytes of `rows`; rows that do not exist count 0.
    #[must_use]
    pub fn of(&self, rows: &Range<u64>) -> u64 {
        match self {
            Self::Each(bytes) => bytes.saturating_mul(rows.end.saturating_sub(rows.start)),
            Self::Sums(sums) => {
                let until = |row: u64| {
                    let place = usize::try_from(row).unwrap_or(usize::MAX);
                    sums.get(place).or(sums.last()).copied().unwrap_or(0)
                };
                until(rows.end).saturating_sub(until(rows.start))
            }
        }
    }
}
