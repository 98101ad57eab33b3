//! The values of every possible term at every point, and which points are kept back.

use crate::{
    solve::dot,
    term::{Factor, Term},
    vocabulary::{Choice, Role, choices, is_odd},
};
use std::cmp::Ordering;

/// Columns whose squared cosine is nearer to one say the same.
const SAME_WITHIN: f64 = 1e-10;
/// So many values of a parameter do not show unusual terms of it.
const N_VALUES_FEW: usize = 3;
/// Groups of points when no parameter has enough values to keep the largest back.
const N_GROUPS: usize = 8;

/// Corners beyond the points at which a formula is tried.
const N_FAR_MAX: usize = 1024;
/// Places between points at which a formula is tried.
const N_NEIGHBORS_MAX: usize = 4096;

/// Columns of terms over points, shared by all regions that were measured at the same points.
#[derive(Debug)]
pub(crate) struct Design {
    pub(crate) points: Vec<Vec<f64>>,
    pub(crate) choices: Vec<Choice>,
    /// For each choice its values at the points.
    pub(crate) columns: Vec<Vec<f64>>,
    /// For each choice its values far from the points, where a prediction must still be positive.
    pub(crate) far: Vec<Vec<f64>>,
    /// Neighbors along one parameter, as positions of two points.
    pub(crate) neighbors: Vec<[usize; 2]>,
    /// For each choice its values in the middle between neighbors, where a formula must not leap.
    pub(crate) between: Vec<Vec<f64>>,
    /// Each keeps back the largest values of one parameter.
    pub(crate) folds: Vec<Fold>,
    /// Whether no parameter had enough values for that, so that single points are kept back.
    pub(crate) holds_singles: bool,
}

/// Points that are kept back to judge a formula made of the others.
#[derive(Clone, Debug)]
pub(crate) struct Fold {
    /// 1 for the points that the formula is made of, 0 for the others.
    pub(crate) used: Vec<f64>,
    /// Positions of the points kept back.
    pub(crate) held: Vec<usize>,
}

impl Design {
    /// The design over `points`; `first` are terms that win over others that say the same there.
    pub(crate) fn new(points: &[&[f64]], roles: &[Role], first: &[Term]) -> Self {
        let (folds, holds_singles) = folds(points, roles.len());
        let points_owned = points.iter().map(|at| at.to_vec()).collect();
        let mut design = Self {
            points: points_owned,
            choices: Vec::new(),
            columns: Vec::new(),
            far: Vec::new(),
            neighbors: neighbors(points, roles.len()),
            between: Vec::new(),
            folds,
            holds_singles,
        };
        let far = far_points(points, roles);
        let middles = design.middles();
        let known = first.iter().map(|term| Choice { term: term.clone(), oddity: 0.0 });
        // Through three numbers of processes goes many a curve: of those, the usual ones are the likely ones.
        let is_seen = |factor: &Factor| {
            let (idx, role) = (factor.parameter_idx, roles[factor.parameter_idx]);
            role != Role::Processes
                || !is_odd(role, factor)
                || N_VALUES_FEW < levels(points, idx).len()
        };
        let usual =
            choices(roles).into_iter().filter(|choice| choice.term.factors.iter().all(is_seen));
        for choice in known.chain(usual) {
            design.offer(choice, &far, &middles);
        }
        design
    }

    /// The middle between each two neighbors: sizes differ by factors.
    fn middles(&self) -> Vec<Vec<f64>> {
        let middle = |a: f64, b: f64| {
            if 0.0 < a && 0.0 < b { a.sqrt() * b.sqrt() } else { f64::midpoint(a, b) }
        };
        let of_pair = |[low, high]: &[usize; 2]| {
            let ends = self.points[*low].iter().zip(&self.points[*high]);
            ends.map(|(a, b)| if a < b { middle(*a, *b) } else { *a }).collect()
        };
        self.neighbors.iter().map(of_pair).collect()
    }

    fn offer(&mut self, choice: Choice, far: &[Vec<f64>], middles: &[Vec<f64>]) {
        let column: Vec<f64> = self.points.iter().map(|at| choice.term.value(at)).collect();
        let far: Vec<f64> = far.iter().map(|at| choice.term.value(at)).collect();
        let finite = column.iter().chain(&far).all(|value| value.is_finite());
        let empty = column.iter().all(|value| *value == 0.0);
        if finite && !empty && !self.columns.iter().any(|other| proportional(other, &column)) {
            self.columns.push(column);
            self.far.push(far);
            self.between.push(middles.iter().map(|at| choice.term.value(at)).collect());
            self.choices.push(choice);
        }
    }

    /// Whether the design is the one over these points.
    pub(crate) fn is_over(&self, points: &[&[f64]]) -> bool {
        self.points.len() == points.len() && self.points.iter().zip(points).all(|(a, b)| a == b)
    }
}

fn proportional(left: &[f64], right: &[f64]) -> bool {
    let cosine = dot(left, right);
    (1.0 - SAME_WITHIN) * dot(left, left) * dot(right, right) < cosine * cosine
}

/// The values that a parameter takes, rising.
pub(crate) fn levels(points: &[&[f64]], parameter_idx: usize) -> Vec<f64> {
    let mut levels: Vec<f64> = points.iter().map(|at| at[parameter_idx]).collect();
    levels.sort_unstable_by(f64::total_cmp);
    levels.dedup();
    levels
}

/// Points that follow each other along one parameter, where all others are the same; of very many some.
fn neighbors(points: &[&[f64]], n_parameters: usize) -> Vec<[usize; 2]> {
    let mut neighbors = Vec::new();
    for idx in 0..n_parameters {
        let others = |point: usize| {
            let at = points[point];
            at[..idx].iter().chain(&at[idx + 1..])
        };
        let by_others = |a: usize, b: usize| {
            let mut pairs = others(a).zip(others(b)).map(|(a, b)| a.total_cmp(b));
            pairs.find(|order| order.is_ne()).unwrap_or(Ordering::Equal)
        };
        let mut order: Vec<usize> = (0..points.len()).collect();
        order.sort_unstable_by(|a, b| {
            by_others(*a, *b).then_with(|| points[*a][idx].total_cmp(&points[*b][idx]))
        });
        let pairs = order.windows(2).map(|pair| [pair[0], pair[1]]);
        neighbors.extend(pairs.filter(|[low, high]| {
            by_others(*low, *high).is_eq() && points[*low][idx] < points[*high][idx]
        }));
    }
    let every = neighbors.len().div_ceil(N_NEIGHBORS_MAX).max(1);
    neighbors.into_iter().step_by(every).collect()
}

/// Corners of a box that reaches well beyond the points: processes grow more than sizes. Of many parameters some.
fn far_points(points: &[&[f64]], roles: &[Role]) -> Vec<Vec<f64>> {
    let mut far: Vec<Vec<f64>> = vec![Vec::new()];
    for (idx, role) in roles.iter().enumerate() {
        let levels = levels(points, idx);
        let (Some(low), Some(high)) = (levels.first(), levels.last()) else { return Vec::new() };
        let reach: &[f64] = if *role == Role::Processes { &[1.0, 4.0, 32.0] } else { &[1.0, 4.0] };
        let values = [*low].into_iter().chain(reach.iter().map(|factor| factor * high));
        let longer = |value: f64| {
            far.iter().map(move |at| at.iter().copied().chain([value]).collect::<Vec<f64>>())
        };
        far = values.flat_map(longer).collect();
        // No more than four times too many, and five divides neither three values nor four: each stays.
        let every = if N_FAR_MAX < far.len() { 5 } else { 1 };
        far = far.into_iter().step_by(every).collect();
    }
    far
}

impl Fold {
    fn of(n_points: usize, is_held: impl Fn(usize) -> bool) -> Self {
        let used = (0..n_points).map(|idx| if is_held(idx) { 0.0 } else { 1.0 }).collect();
        Self { used, held: (0..n_points).filter(|idx| is_held(*idx)).collect() }
    }
}

/// The largest values of each parameter are kept back, and where there are many, the two largest.
fn folds(points: &[&[f64]], n_parameters: usize) -> (Vec<Fold>, bool) {
    let mut folds = Vec::new();
    for idx in 0..n_parameters {
        let levels = levels(points, idx);
        let n_held: &[usize] = match levels.len() {
            0..=2 => &[],
            3..=4 => &[1],
            _ => &[1, 2],
        };
        for n in n_held {
            let edge = levels[levels.len() - n];
            folds.push(Fold::of(points.len(), |point| edge <= points[point][idx]));
        }
    }
    let holds_singles = folds.is_empty();
    if holds_singles {
        let n_groups = N_GROUPS.min(points.len());
        folds.extend(
            (0..n_groups).map(|group| Fold::of(points.len(), |point| point % n_groups == group)),
        );
    }
    (folds, holds_singles)
}

#[cfg(test)]
mod tests {
    use super::*;

    const GRID: [[f64; 2]; 9] = [
        [1.0, 10.0],
        [1.0, 20.0],
        [1.0, 30.0],
        [2.0, 10.0],
        [2.0, 20.0],
        [2.0, 30.0],
        [4.0, 10.0],
        [4.0, 20.0],
        [4.0, 30.0],
    ];

    fn design(points: &[[f64; 2]]) -> Design {
        let points: Vec<&[f64]> = points.iter().map(|at| &at[..]).collect();
        Design::new(&points, &[Role::Processes, Role::Size], &[])
    }

    #[test]
    fn the_largest_of_each_parameter_is_kept_back() {
        let design = design(&GRID);
        let held: Vec<&[usize]> = design.folds.iter().map(|fold| &fold.held[..]).collect();
        assert_eq!(held, [&[6, 7, 8][..], &[2, 5, 8]]);
        assert!(!design.holds_singles);
    }

    #[test]
    fn single_points_are_kept_back_where_nothing_else_can_be() {
        let design = design(&GRID[..2]);
        let held: Vec<&[usize]> = design.folds.iter().map(|fold| &fold.held[..]).collect();
        assert_eq!(held, [&[0][..], &[1]]);
        assert!(design.holds_singles);
    }

    #[test]
    fn terms_that_say_the_same_occur_once() {
        // Without a second size, sizes say nothing; powers of two have whole logarithms.
        let names = ["n".to_owned(), "p".to_owned()];
        let design = design(&[GRID[0], GRID[3], GRID[6]]);
        assert!(
            design.choices.iter().all(|choice| choice
                .term
                .factors
                .iter()
                .all(|factor| { factor.parameter_idx == 0 && !factor.whole_log })),
            "{:?}",
            design.choices.iter().map(|c| c.term.text(&names)).collect::<Vec<_>>()
        );
    }
}
