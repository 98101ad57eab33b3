//! The critical path: the work and messages that determine the end of the program.
//!
//! It is followed backwards from the rank that ends last: through its own steps to the last moment at
//! which it depended on another rank, and from there at that rank.
//!
//! # Invariants
//! - Legs and transfers have no gaps: their times, with those of extrapolated iterations, add up to the
//!   total.

use super::collectives::Dependency;
use super::outcome::PathInterval;

/// Record of an evaluation, for finding the path.
#[derive(Debug)]
pub(super) struct Log {
    /// Start of each step in s and its region, by rank.
    steps: Vec<Vec<(f64, u32)>>,
    /// Dependencies in the order of time, by rank.
    dependencies: Vec<Vec<Dependency>>,
    extrapolations: Vec<Extrapolation>,
}

/// Iterations of a repeated phase that were extrapolated.
#[derive(Debug)]
struct Extrapolation {
    /// Number of steps and dependencies recorded before, by rank.
    marks: Vec<(usize, usize)>,
    period_s: f64,
    added_s: f64,
}

/// The path, while it is followed backwards.
#[derive(Debug)]
pub(super) struct Path {
    /// Stays at ranks; in reverse order until the path is complete.
    pub(super) intervals: Vec<PathInterval>,
    /// Time on the path in s, by region.
    pub(super) regions_s: Vec<f64>,
    /// Part of this time between two ranks, in s.
    pub(super) transfer_s: f64,
    /// Factor for time in the last evaluated period, which also stands for the extrapolated ones.
    weight: f64,
    weighed_from_s: f64,
}

impl Log {
    pub(super) fn new(n_ranks: usize) -> Self {
        Self {
            steps: vec![Vec::new(); n_ranks],
            dependencies: vec![Vec::new(); n_ranks],
            extrapolations: Vec::new(),
        }
    }

    /// Records that a rank begins a step.
    pub(super) fn step(&mut self, rank: usize, at_s: f64, region: u32) {
        // Consecutive steps in the same region need only one entry.
        let resumed = self.extrapolations.last().map(|stretch| stretch.marks[rank].0);
        let steps = &mut self.steps[rank];
        let is_first = resumed.unwrap_or(0) == steps.len();
        if is_first || steps.last().is_none_or(|(_, last)| *last != region) {
            steps.push((at_s, region));
        }
    }

    /// Records that a rank depended on another one.
    pub(super) fn dependency(&mut self, rank: usize, dependency: Dependency) {
        self.dependencies[rank].push(dependency);
    }

    /// Records that all clocks advance by `added_s`: periods of `period_s`, each like the one before.
    pub(super) fn extrapolate(&mut self, period_s: f64, added_s: f64) {
        let marks = self.steps.iter().zip(&self.dependencies);
        let marks = marks.map(|(steps, dependencies)| (steps.len(), dependencies.len())).collect();
        self.extrapolations.push(Extrapolation { marks, period_s, added_s });
    }

    /// Follows the path from the end of a rank.
    pub(super) fn path(&self, rank: usize, end_s: f64, n_regions: usize) -> Path {
        let mut path = Path {
            intervals: Vec::new(),
            regions_s: vec![0.0; n_regions],
            transfer_s: 0.0,
            weight: 1.0,
            weighed_from_s: f64::INFINITY,
        };
        let mut at = Cursor { rank, at_s: end_s, n_stretches: self.extrapolations.len() };
        // Each dependency is passed at most once, so that the loop ends even with messages that take no
        // time.
        let n_bonds: usize = self.dependencies.iter().map(Vec::len).sum();
        for _ in 0..=n_bonds + self.extrapolations.len() {
            if !self.follow(&mut at, &mut path) {
                break;
            }
        }
        path.intervals.reverse();
        path
    }

    /// Follows one stay and its cause; returns false at the start of the program, or without ranks.
    fn follow(&self, at: &mut Cursor, path: &mut Path) -> bool {
        let Some(dependencies) = self.dependencies.get(at.rank) else { return false };
        let steps = &self.steps[at.rank];
        let stretch = at.n_stretches.checked_sub(1).map(|last| &self.extrapolations[last]);
        let next = self.extrapolations.get(at.n_stretches);
        let (steps_from, bonds_from) = stretch.map_or((0, 0), |stretch| stretch.marks[at.rank]);
        let (steps_end, bonds_end) =
            next.map_or((steps.len(), dependencies.len()), |next| next.marks[at.rank]);
        let steps = &steps[steps_from..steps_end];
        let dependencies = &dependencies[bonds_from..bonds_end];
        let n_before = dependencies.partition_point(|dependency| dependency.at_s <= at.at_s);
        if let Some(dependency) = n_before.checked_sub(1).map(|last| dependencies[last]) {
            path.stay(at.rank, [dependency.at_s, at.at_s], steps);
            let region = region_at(steps, dependency.at_s);
            let from_s = dependency.since_s.min(dependency.at_s);
            let took_s = path.weighed([from_s, dependency.at_s]);
            path.add(region, took_s);
            path.transfer_s += took_s;
            (at.rank, at.at_s) = (dependency.on as usize, from_s);
            return true;
        }
        let Some(stretch) = stretch else {
            path.stay(at.rank, [0.0, at.at_s], steps);
            return false;
        };
        // The last step before the extrapolated iterations ended where they begin.
        let resumed_s = steps.first().map_or(at.at_s, |step| step.0);
        path.stay(at.rank, [resumed_s.min(at.at_s), at.at_s], steps);
        let last_s = resumed_s.min(at.at_s) - stretch.added_s;
        path.weight = 1.0 + stretch.added_s / stretch.period_s;
        path.weighed_from_s = last_s - stretch.period_s;
        (at.at_s, at.n_stretches) = (last_s, at.n_stretches - 1);
        true
    }
}

/// Position of the path.
struct Cursor {
    rank: usize,
    at_s: f64,
    /// Number of stretches before this moment.
    n_stretches: usize,
}

fn region_at(steps: &[(f64, u32)], at_s: f64) -> Option<u32> {
    // A step that begins at this moment comes after it.
    let n_before = steps.partition_point(|(begin_s, _)| *begin_s < at_s);
    n_before.checked_sub(1).map(|last| steps[last].1)
}

impl Path {
    /// Adds a part of a rank's own time.
    fn stay(&mut self, rank: usize, [from_s, to_s]: [f64; 2], steps: &[(f64, u32)]) {
        if to_s <= from_s {
            return;
        }
        let first = steps.partition_point(|(begin_s, _)| *begin_s <= from_s).saturating_sub(1);
        let mut longest = (0.0, None);
        for (at, (begin_s, region)) in steps.iter().enumerate().skip(first) {
            if to_s <= *begin_s {
                break;
            }
            let end_s = steps.get(at + 1).map_or(to_s, |next| next.0.min(to_s));
            let span = [begin_s.max(from_s), end_s];
            let took_s = self.weighed(span);
            self.add(Some(*region), took_s);
            if longest.0 < took_s {
                longest = (took_s, Some(*region));
            }
        }
        let rank = u32::try_from(rank).unwrap_or(u32::MAX);
        self.intervals.push(PathInterval { rank, from_s, to_s, region: longest.1 });
    }

    fn add(&mut self, region: Option<u32>, took_s: f64) {
        let region = region.and_then(|region| self.regions_s.get_mut(region as usize));
        if let Some(region_s) = region {
            *region_s += took_s;
        }
    }

    /// Returns the time of a span, including extrapolated iterations like it, in s.
    fn weighed(&self, [from_s, to_s]: [f64; 2]) -> f64 {
        let inside_s = (to_s - from_s.max(self.weighed_from_s)).max(0.0);
        (to_s - from_s).max(0.0) + (self.weight - 1.0) * inside_s
    }
}
