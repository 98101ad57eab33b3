//! Assignment of sources to targets so that as little as possible moves.

use crate::RowBytes;
use crate::plan::{MovePlan, PairBytes, TargetProcess};

/// Error in the assignment: more sources must stay than there are targets.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "{n_bound} processes cannot leave, so that {n_targets} are too few; shrink to {n_bound} at least"
)]
pub struct StayError {
    n_bound: u32,
    n_targets: u32,
}

/// Returns a seat for each target: as many sources stay as possible, and together they keep as many bytes as possible.
///
/// `is_bound` tells for each source whether it must stay; missing entries count as false. For partitions into blocks
/// this is the optimum: if two sources that share rows with their seats had crossing seats, exchanging the seats would
/// keep at least as much. Otherwise it is the optimum among assignments without crossing seats.
///
/// # Errors
/// [`StayError`] if more sources must stay than there are targets.
pub fn stay(
    plan: &MovePlan,
    of: &RowBytes,
    is_bound: &[bool],
) -> Result<Vec<TargetProcess>, StayError> {
    let (n_sources, n_targets) = (plan.n_sources() as usize, plan.n_targets() as usize);
    let mut bound = is_bound.to_vec();
    bound.resize(n_sources, false);
    let n_bound = bound.iter().filter(|bound| **bound).count();
    if n_targets < n_bound {
        let n_bound = u32::try_from(n_bound).unwrap_or(u32::MAX);
        return Err(StayError { n_bound, n_targets: plan.n_targets() });
    }
    // With seats for all sources, all stay anyway.
    let n_levels = if n_sources <= n_targets { 1 } else { 2 * n_bound + 1 };
    if n_levels == 1 {
        bound.fill(false);
    }
    let matching = Matching { n_sources, n_targets, n_levels, bound };
    Ok(matching.seats(&plan.bytes_per_pair(of)))
}

/// Decision on the next source or target in the dynamic program.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Step {
    /// The source becomes the target.
    Stays,
    /// The source shares no rows with its target; it leaves, or takes a seat that is left over.
    Source,
    /// The target is none of the sources that share rows with it.
    Target {
        /// Whether there were already enough seats.
        was_enough: bool,
    },
}

/// Dynamic program over sources and targets in order, and the number of seats left for sources that must stay but share
/// nothing.
struct Matching {
    n_sources: usize,
    n_targets: usize,
    /// Number of levels: seats left less sources that need one, from `-n_bound` to `n_bound`; larger values are capped.
    n_levels: usize,
    bound: Vec<bool>,
}

impl Matching {
    /// Computes the seats; `pairs` are the bytes that sources and targets share, by source.
    fn seats(&self, pairs: &[PairBytes]) -> Vec<TargetProcess> {
        let width = (self.n_targets + 1) * self.n_levels;
        let mut steps = vec![None; (self.n_sources + 1) * width];
        let mut pairs = pairs.iter().peekable();
        // Largest number of bytes that the sources so far keep in the first targets, at each level.
        let mut best = vec![None; width];
        best[self.n_levels / 2] = Some(0);
        self.skip_targets(&mut best, &mut steps[..width]);
        for source in 0..self.n_sources {
            let mut shared = vec![0; self.n_targets];
            while let Some(pair) = pairs.next_if(|pair| pair.from as usize == source) {
                shared[pair.to as usize] = pair.bytes;
            }
            let row = &mut steps[(source + 1) * width..][..width];
            best = self.after(source, &best, &shared, row);
            self.skip_targets(&mut best, row);
        }
        self.way_back(&best, &steps)
    }

    /// Computes the next row: the source becomes one of the targets, or not.
    fn after(
        &self,
        source: usize,
        before: &[Option<u64>],
        shared: &[u64],
        steps: &mut [Option<Step>],
    ) -> Vec<Option<u64>> {
        let mut best = vec![None; before.len()];
        for (place, kept) in before.iter().enumerate() {
            let Some(kept) = *kept else { continue };
            let (target, level) = (place / self.n_levels, place % self.n_levels);
            if let Some(bytes) = shared.get(target) {
                let seat = place + self.n_levels;
                let sum = Some(kept.saturating_add(*bytes));
                better(&mut best[seat], &mut steps[seat], sum, Step::Stays);
            }
            if let Some(level) = level.checked_sub(self.bound[source].into()) {
                let seat = target * self.n_levels + level;
                better(&mut best[seat], &mut steps[seat], Some(kept), Step::Source);
            }
        }
        best
    }

    fn skip_targets(&self, best: &mut [Option<u64>], steps: &mut [Option<Step>]) {
        for place in 0..best.len().saturating_sub(self.n_levels) {
            let (target, level) = (place / self.n_levels, place % self.n_levels);
            let seat = (target + 1) * self.n_levels + (level + 1).min(self.n_levels - 1);
            let by = Step::Target { was_enough: level + 1 == self.n_levels };
            let kept = best[place];
            better(&mut best[seat], &mut steps[seat], kept, by);
        }
    }

    fn way_back(&self, best: &[Option<u64>], steps: &[Option<Step>]) -> Vec<TargetProcess> {
        let width = (self.n_targets + 1) * self.n_levels;
        let last = self.n_targets * self.n_levels;
        let ends = self.n_levels / 2..self.n_levels;
        let mut level = ends.max_by_key(|level| best[last + level]).unwrap_or(0);
        let mut seats = vec![None; self.n_targets];
        let (mut source, mut target) = (self.n_sources, self.n_targets);
        let mut left = Vec::new();
        while let Some(step) = steps[source * width + target * self.n_levels + level] {
            match step {
                Step::Stays => {
                    (source, target) = (source - 1, target - 1);
                    seats[target] = Some(source);
                }
                Step::Source => {
                    source -= 1;
                    left.push(source);
                    level += usize::from(self.bound[source]);
                }
                Step::Target { was_enough } => {
                    target -= 1;
                    level -= usize::from(!was_enough);
                }
            }
        }
        // Sources that must stay get seats first, then the others in order.
        left.sort_by_key(|source| (!self.bound[*source], *source));
        let mut left = left.into_iter();
        let seat = |source: usize| TargetProcess::Stays {
            source: u32::try_from(source).unwrap_or(u32::MAX),
        };
        seats
            .into_iter()
            .map(|taken| taken.or_else(|| left.next()).map_or(TargetProcess::New, seat))
            .collect()
    }
}

/// Takes `sum` if it is at least the known one: among equal seats a source gets the first, so that rank 0 stays rank 0.
fn better(best: &mut Option<u64>, step: &mut Option<Step>, sum: Option<u64>, by: Step) {
    if sum.is_some() && *best <= sum {
        (*best, *step) = (sum, Some(by));
    }
}
