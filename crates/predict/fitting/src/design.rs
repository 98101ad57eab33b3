//! Design matrix of a fit: the value of every possible term at every point, and the points that are held out.

use crate::{
    solve::dot,
    term::{Factor, Term},
    vocabulary::{Choice, ParameterRole, choices, is_unusual},
};
use std::cmp::Ordering;

/// Two columns are proportional when their squared cosine is at least 1 minus this.
const SAME_WITHIN: f64 = 1e-10;
/// Up to this many distinct numbers of processes, unusual terms in them are not tried.
const N_VALUES_FEW: usize = 3;
/// Number of groups of held-out points when no parameter has enough values to hold its largest out.
const N_GROUPS: usize = 8;

/// Largest number of points beyond the measured ones at which a formula is tested.
const N_FAR_MAX: usize = 1024;
/// Largest number of middles between points at which a formula is tested.
const N_NEIGHBORS_MAX: usize = 4096;

/// Columns of terms over points, shared by all regions that were measured at the same points.
#[derive(Debug, Default)]
pub(crate) struct Design {
    pub(crate) points: Vec<Vec<f64>>,
    pub(crate) choices: Vec<Choice>,
    /// Values at the points, for each choice.
    pub(crate) columns: Vec<Vec<f64>>,
    /// Values far from the points, where a prediction must still be positive, for each choice.
    pub(crate) far: Vec<Vec<f64>>,
    /// Neighbors along one parameter, as indices of two points.
    pub(crate) neighbors: Vec<[usize; 2]>,
    /// Values at the middles between neighbors, where a formula must not leap, for each choice.
    pub(crate) between: Vec<Vec<f64>>,
    /// Folds, each of which holds out the largest values of one parameter.
    pub(crate) folds: Vec<Fold>,
    /// True if no parameter had enough values for that, so that groups of points are held out instead.
    pub(crate) holds_singles: bool,
}

/// Split of the points: some are held out to judge a formula fitted to the others.
#[derive(Clone, Debug)]
pub(crate) struct Fold {
    /// Weight of each point in the fit: 0 for those held out, else 1.
    pub(crate) used: Vec<f64>,
    /// Indices of the points held out.
    pub(crate) held: Vec<usize>,
}

impl Design {
    /// Creates the design over `points`; terms in `first` take precedence over proportional ones.
    pub(crate) fn new(points: &[&[f64]], roles: &[ParameterRole], first: &[Term]) -> Self {
        let (folds, holds_singles) = folds(points, roles.len());
        let mut design = Self {
            points: points.iter().map(|at| at.to_vec()).collect(),
            neighbors: neighbors(points, roles.len()),
            folds,
            holds_singles,
            ..Self::default()
        };
        let far = far_points(points, roles);
        let middles = design.middles();
        let mut signatures = Signatures::of(points.len());
        let known = first.iter().map(|term| Choice { term: term.clone(), oddity: 0.0 });
        // Many curves pass through three numbers of processes; of those, the usual ones are likely.
        let is_seen = |factor: &Factor| {
            let (idx, role) = (factor.parameter_idx, roles[factor.parameter_idx]);
            role != ParameterRole::Processes
                || !is_unusual(role, factor)
                || N_VALUES_FEW < distinct_values(points, idx).len()
        };
        let usual =
            choices(roles).into_iter().filter(|choice| choice.term.factors.iter().all(is_seen));
        for choice in known.chain(usual) {
            design.offer(choice, &far, &middles, &mut signatures);
        }
        design
    }

    /// Returns the geometric middle between every two neighbors, because sizes grow by factors.
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

    fn offer(
        &mut self,
        choice: Choice,
        far: &[Vec<f64>],
        middles: &[Vec<f64>],
        signatures: &mut Signatures,
    ) {
        let column: Vec<f64> = self.points.iter().map(|at| choice.term.value(at)).collect();
        let is_finite = |numbers: &[f64]| numbers.iter().all(|value| value.is_finite());
        let is_empty = column.iter().all(|value| *value == 0.0);
        if is_empty || !is_finite(&column) || signatures.hold(&self.columns, &column) {
            return;
        }
        let far: Vec<f64> = far.iter().map(|at| choice.term.value(at)).collect();
        if is_finite(&far) {
            signatures.add(self.columns.len(), &column);
            self.columns.push(column);
            self.far.push(far);
            self.between.push(middles.iter().map(|at| choice.term.value(at)).collect());
            self.choices.push(choice);
        }
    }

    /// Returns whether the design is over exactly these points.
    pub(crate) fn is_over(&self, points: &[&[f64]]) -> bool {
        self.points.len() == points.len() && self.points.iter().zip(points).all(|(a, b)| a == b)
    }
}

/// A number for each column that proportional columns share, to look only among few for one that is proportional.
struct Signatures {
    /// Weight of each point, of different sizes.
    weights: Vec<f64>,
    /// Signatures with the indices of their columns, ascending.
    all: Vec<(f64, usize)>,
}

impl Signatures {
    fn of(n_points: usize) -> Self {
        // Multiples of the golden ratio lie everywhere between 0 and 1.
        let weight = |idx: usize| 0.5 + (0.618_033_988_749_895 * idx as f64).fract();
        Self { weights: (0..n_points).map(weight).collect(), all: Vec::new() }
    }

    fn signature(&self, column: &[f64]) -> f64 {
        dot(&self.weights, column).abs() / dot(column, column).sqrt()
    }

    /// Returns whether one of the columns is proportional to this one.
    fn hold(&self, columns: &[Vec<f64>], column: &[f64]) -> bool {
        let signature = self.signature(column);
        // Proportional columns of unit length differ by less than the root of twice their tolerance.
        let apart = (2.0 * SAME_WITHIN).sqrt() * dot(&self.weights, &self.weights).sqrt();
        let from = self.all.partition_point(|(other, _)| *other < signature - apart);
        let mut near = self.all[from..].iter().take_while(|(other, _)| *other <= signature + apart);
        near.any(|(_, idx)| proportional(&columns[*idx], column))
    }

    fn add(&mut self, idx: usize, column: &[f64]) {
        let signature = self.signature(column);
        let place = self.all.partition_point(|(other, _)| *other < signature);
        self.all.insert(place, (signature, idx));
    }
}

fn proportional(left: &[f64], right: &[f64]) -> bool {
    let cosine = dot(left, right);
    (1.0 - SAME_WITHIN) * dot(left, left) * dot(right, right) < cosine * cosine
}

/// Returns the distinct values of a parameter, ascending.
pub(crate) fn distinct_values(points: &[&[f64]], parameter_idx: usize) -> Vec<f64> {
    let mut distinct_values: Vec<f64> = points.iter().map(|at| at[parameter_idx]).collect();
    distinct_values.sort_unstable_by(f64::total_cmp);
    distinct_values.dedup();
    distinct_values
}

/// Returns pairs of points adjacent along one parameter with all others equal; of very many pairs a sample.
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

/// Returns corners of a box well beyond the points, further for processes than for sizes; of very many corners a
/// sample.
fn far_points(points: &[&[f64]], roles: &[ParameterRole]) -> Vec<Vec<f64>> {
    let mut far: Vec<Vec<f64>> = vec![Vec::new()];
    for (idx, role) in roles.iter().enumerate() {
        let distinct_values = distinct_values(points, idx);
        let (Some(low), Some(high)) = (distinct_values.first(), distinct_values.last()) else {
            return Vec::new();
        };
        let reach: &[f64] =
            if *role == ParameterRole::Processes { &[1.0, 4.0, 32.0] } else { &[1.0, 4.0] };
        let values = [*low].into_iter().chain(reach.iter().map(|factor| factor * high));
        let longer = |value: f64| {
            far.iter().map(move |at| at.iter().copied().chain([value]).collect::<Vec<f64>>())
        };
        far = values.flat_map(longer).collect();
        // At most four times `N_FAR_MAX` here; a step of five, coprime to three and four values per parameter,
        // keeps every value.
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

/// Holds out the largest value of each parameter and, where it has five or more values, also the two largest
/// together.
fn folds(points: &[&[f64]], n_parameters: usize) -> (Vec<Fold>, bool) {
    let mut folds = Vec::new();
    for idx in 0..n_parameters {
        let distinct_values = distinct_values(points, idx);
        let n_held: &[usize] = match distinct_values.len() {
            0..=2 => &[],
            3..=4 => &[1],
            _ => &[1, 2],
        };
        for n in n_held {
            let edge = distinct_values[distinct_values.len() - n];
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

    /// Returns the points of 3 numbers of processes and 3 sizes.
    fn grid() -> [[f64; 2]; 9] {
        std::array::from_fn(|idx| [[1.0, 2.0, 4.0][idx / 3], [10.0, 20.0, 30.0][idx % 3]])
    }

    fn design(points: &[[f64; 2]]) -> Design {
        let points: Vec<&[f64]> = points.iter().map(|at| &at[..]).collect();
        Design::new(&points, &[ParameterRole::Processes, ParameterRole::Size], &[])
    }

    #[test]
    fn the_largest_of_each_parameter_is_kept_back() {
        let design = design(&grid());
        let held: Vec<&[usize]> = design.folds.iter().map(|fold| &fold.held[..]).collect();
        assert_eq!(held, [&[6, 7, 8][..], &[2, 5, 8]]);
        assert!(!design.holds_singles);
    }

    #[test]
    fn single_points_are_kept_back_where_nothing_else_can_be() {
        let design = design(&grid()[..2]);
        let held: Vec<&[usize]> = design.folds.iter().map(|fold| &fold.held[..]).collect();
        assert_eq!(held, [&[0][..], &[1]]);
        assert!(design.holds_singles);
    }

    #[test]
    fn terms_that_say_the_same_occur_once() {
        // Without a second size, terms of the size are proportional to others; powers of two have whole
        // logarithms.
        let names = ["n".to_owned(), "p".to_owned()];
        let grid = grid();
        let terms = design(&[grid[0], grid[3], grid[6]]).choices.into_iter().map(|it| it.term);
        for term in terms {
            let is_of_first = |it: &Factor| it.parameter_idx == 0 && !it.whole_log;
            assert!(term.factors.iter().all(is_of_first), "{}", term.text(&names));
        }
    }
}
