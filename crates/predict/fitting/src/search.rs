//! Searches combinations of terms that may be the formula: a beam search by relative least squares.
//!
//! The error at a point is relative to the value measured there, so that small times count as
//! much as large ones. The best combinations so far are extended by one term at a time.
//!
//! # Not here
//! Choosing the combination that becomes the model (`score`): the residual never decides that.

use crate::{
    design::{Design, Fold},
    samples::PointValue,
    solve::{N_TERMS_MAX, Normal, Row, dot, forward},
};
use std::cell::OnceCell;

/// How many combinations of each size are looked at.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Breadth {
    /// Number of those that are extended.
    n_extended: usize,
    /// Number of those that are judged.
    n_judged: usize,
}

impl Breadth {
    /// For the formula of a model.
    pub(crate) const WIDE: Self = Self { n_extended: 16, n_judged: 40 };
    /// For formulas that only show how well formulas of this region foretell.
    pub(crate) const NARROW: Self = Self { n_extended: 4, n_judged: 10 };
}

/// Penalty for a term of oddity 1, as a share of the residual.
const ODDITY_COST: f64 = 0.5;
/// A column with less than this share of its square orthogonal to the others counts as dependent on them.
const NEWS_MIN: f64 = 1e-9;
/// Values below this share of the largest are weighted as if they had it.
pub(crate) const SMALL: f64 = 1e-6;

/// A combination of terms of a design.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Candidate {
    /// Indices of the terms in the design, ascending.
    terms: [u16; N_TERMS_MAX],
    n_terms: usize,
    /// Sum of squares of the relative errors.
    pub(crate) residual: f64,
    cost: f64,
    /// Coefficients of the normalized columns.
    pub(crate) coefficients: Row,
}

impl Candidate {
    pub(crate) fn terms(&self) -> impl Iterator<Item = usize> + '_ {
        self.terms[..self.n_terms].iter().map(|term| usize::from(*term))
    }

    pub(crate) const fn n_terms(&self) -> usize {
        self.n_terms
    }

    pub(crate) fn value(&self, coefficients: &Row, term_value: impl Fn(usize) -> f64) -> f64 {
        self.terms().zip(coefficients).map(|(term, c)| c * term_value(term)).sum()
    }

    fn with(&self, term: u16) -> Self {
        let mut longer = *self;
        let mut place = self.n_terms;
        while 0 < place && term < longer.terms[place - 1] {
            longer.terms[place] = longer.terms[place - 1];
            place -= 1;
        }
        longer.terms[place] = term;
        longer.n_terms += 1;
        longer
    }
}

/// A combination with one more term, before it is known to be among the best.
#[derive(Clone, Copy, Debug)]
struct Extension {
    cost: f64,
    residual: f64,
    parent_idx: u16,
    term: u16,
}

/// Relative least-squares problem of one region, over a design.
#[derive(Debug)]
pub(crate) struct RegionProblem<'a> {
    pub(crate) design: &'a Design,
    /// Values of each term relative to the measured values, normalized to unit length.
    pub(crate) columns: Vec<Vec<f64>>,
    /// Lengths of the columns before normalization.
    pub(crate) lengths: Vec<f64>,
    /// Measured values relative to themselves, times the weights of the points.
    pub(crate) target: Vec<f64>,
    /// Products of each column with all; calculated for those columns that combinations are made of.
    gram: Vec<OnceCell<Vec<f64>>>,
    right: Vec<f64>,
}

impl<'a> RegionProblem<'a> {
    pub(crate) fn new(design: &'a Design, measured: &[PointValue]) -> Self {
        let weights = weights(measured);
        let largest =
            measured.iter().map(|point| point.value.abs()).fold(f64::MIN_POSITIVE, f64::max);
        let sizes = measured.iter().map(|point| point.value.abs().max(SMALL * largest));
        let scales: Vec<f64> = sizes.zip(&weights).map(|(size, weight)| weight / size).collect();
        let scaled = measured.iter().zip(&scales).map(|(point, scale)| point.value * scale);
        let target: Vec<f64> = scaled.collect();
        let mut columns = Vec::with_capacity(design.columns.len());
        let mut lengths = Vec::with_capacity(design.columns.len());
        for raw in &design.columns {
            let mut column: Vec<f64> = raw.iter().zip(&scales).map(|(x, s)| x * s).collect();
            let length = dot(&column, &column).sqrt();
            column.iter_mut().for_each(|x| *x /= length);
            columns.push(column);
            lengths.push(length);
        }
        let right = columns.iter().map(|column| dot(column, &target)).collect();
        let gram = vec![OnceCell::new(); columns.len()];
        Self { design, columns, lengths, target, gram, right }
    }

    /// Returns the best combinations of each size up to `n_terms_max`, and up to half the number of points.
    pub(crate) fn candidates(&self, n_terms_max: usize, breadth: Breadth) -> Vec<Candidate> {
        let none = Candidate {
            terms: [0; N_TERMS_MAX],
            n_terms: 0,
            residual: dot(&self.target, &self.target),
            cost: 0.0,
            coefficients: [0.0; N_TERMS_MAX],
        };
        let mut extended = vec![none];
        let mut found: Vec<Candidate> = Vec::new();
        let mut longer = Vec::new();
        for _ in 0..n_terms_max.min(N_TERMS_MAX).min(self.target.len().div_ceil(2)) {
            longer.clear();
            for (parent, idx) in extended.iter().zip(0_u16..) {
                self.extend(parent, idx, &mut longer);
            }
            let best = best(&extended, &mut longer, breadth.n_judged);
            extended = best.iter().take(breadth.n_extended).copied().collect();
            found.extend(best);
        }
        found.retain_mut(|candidate| {
            let solution = self.normal(candidate).solve(candidate.n_terms);
            candidate.coefficients = solution.unwrap_or_default();
            solution.is_some()
        });
        found
    }

    /// Appends every combination of `parent`, which has this index, and one more term.
    fn extend(&self, parent: &Candidate, parent_idx: u16, longer: &mut Vec<Extension>) {
        let n = parent.n_terms;
        let normal = self.normal(parent);
        let Some(lower) = normal.lower(n) else { return };
        let middle = forward(&lower, &normal.right, n);
        let choices = &self.design.choices;
        let oddity: f64 = parent.terms().map(|term| choices[term].oddity).sum();
        let products: Vec<&[f64]> = parent.terms().map(|term| self.products(term)).collect();
        for (idx, term) in (0..self.columns.len()).zip(0_u16..) {
            if parent.terms[..n].contains(&term) {
                continue;
            }
            let mut shared = [0.0; N_TERMS_MAX];
            products.iter().zip(&mut shared).for_each(|(products, s)| *s = products[idx]);
            let shared = forward(&lower, &shared, n);
            let news = 1.0 - dot(&shared[..n], &shared[..n]);
            if news < NEWS_MIN {
                continue;
            }
            let gain = (self.right[idx] - dot(&shared[..n], &middle[..n])).powi(2) / news;
            let residual = (parent.residual - gain).max(0.0);
            let odd = ODDITY_COST * (oddity + choices[idx].oddity);
            longer.push(Extension { cost: residual * (1.0 + odd), residual, parent_idx, term });
        }
    }

    /// Returns the products of a column with all.
    fn products(&self, term: usize) -> &[f64] {
        self.gram[term].get_or_init(|| {
            self.columns.iter().map(|column| dot(&self.columns[term], column)).collect()
        })
    }

    fn product(&self, left: usize, right: usize) -> f64 {
        let known = |of: usize, with: usize| self.gram[of].get().map(|products| products[with]);
        let known = known(left, right).or_else(|| known(right, left));
        known.unwrap_or_else(|| dot(&self.columns[left], &self.columns[right]))
    }

    /// Returns the normal equations over all points.
    pub(crate) fn normal(&self, candidate: &Candidate) -> Normal {
        let mut normal = Normal::default();
        for (row, term) in candidate.terms().enumerate() {
            for (column, other) in candidate.terms().enumerate().take(row + 1) {
                normal.gram[row][column] = self.product(term, other);
            }
            normal.right[row] = self.right[term];
        }
        normal
    }

    /// Returns the normal equations over the points that a fold does not hold out.
    pub(crate) fn normal_without(&self, candidate: &Candidate, fold: &Fold) -> Normal {
        let mut normal = Normal::default();
        for (row, term) in candidate.terms().enumerate() {
            let mut used = [0.0; N_POINTS_AT_ONCE];
            let parts = self.columns[term].chunks(N_POINTS_AT_ONCE);
            for (part, values) in parts.enumerate() {
                let from = part * N_POINTS_AT_ONCE;
                let until = from + values.len();
                let used = &mut used[..values.len()];
                let kept = values.iter().zip(&fold.used[from..until]);
                used.iter_mut().zip(kept).for_each(|(u, (x, kept))| *u = x * kept);
                for (column, other) in candidate.terms().enumerate().take(row + 1) {
                    normal.gram[row][column] += dot(used, &self.columns[other][from..until]);
                }
                normal.right[row] += dot(used, &self.target[from..until]);
            }
        }
        normal
    }
}

/// Number of points summed at once, in a buffer on the stack.
const N_POINTS_AT_ONCE: usize = 32;

/// Returns the weights of the points: more kept repetitions make a value more certain.
fn weights(measured: &[PointValue]) -> Vec<f64> {
    let n_kept: usize = measured.iter().map(|point| point.n_kept).sum();
    let share = measured.len() as f64 / n_kept.max(1) as f64;
    measured.iter().map(|point| (point.n_kept as f64 * share).sqrt()).collect()
}

/// Returns the cheapest distinct combinations.
fn best(parents: &[Candidate], longer: &mut [Extension], n_judged: usize) -> Vec<Candidate> {
    // A combination is found once from each of its terms.
    let n_top = (N_TERMS_MAX * n_judged).min(longer.len());
    if n_top < longer.len() {
        longer.select_nth_unstable_by(n_top, |a, b| a.cost.total_cmp(&b.cost));
    }
    let candidate = |extension: &Extension| {
        let candidate = parents[usize::from(extension.parent_idx)].with(extension.term);
        Candidate { residual: extension.residual, cost: extension.cost, ..candidate }
    };
    let mut top: Vec<Candidate> = longer[..n_top].iter().map(candidate).collect();
    top.sort_unstable_by(|a, b| a.cost.total_cmp(&b.cost).then(a.terms.cmp(&b.terms)));
    let mut best: Vec<Candidate> = Vec::with_capacity(n_judged);
    for candidate in top {
        if best.len() < n_judged && !best.iter().any(|other| other.terms == candidate.terms) {
            best.push(candidate);
        }
    }
    best
}
