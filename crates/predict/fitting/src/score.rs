//! Chooses the combination of terms that becomes the model: the one that best predicts held-out measurements.
//!
//! The formula is refitted without the largest values of each parameter and tested on them; and
//! likewise without each single point. Unusual terms, additional terms and negative coefficients must pay by a
//! margin. A formula that is not positive far beyond the measured points is rejected, and so is one that leaps between
//! two of them.

use crate::{
    search::{Candidate, RegionProblem},
    solve::{N_TERMS_MAX, dot, forward},
};

/// Penalty for a term of oddity 1, as a share of the error.
const ODDITY_COST: f64 = 0.5;
/// Penalty for every term, divided by the number of points.
const TERM_COST: f64 = 4.0;
/// Penalty for a negative coefficient, as a share of the error.
const NEGATIVE_COST: f64 = 0.3;
/// Weight of the error at single points, relative to the error of one fold.
const SINGLES_WEIGHT: f64 = 2.0;
/// Largest factor by which a formula with a negative coefficient may lie outside its values at two neighboring points
/// between them.
const LEAP_MAX: f64 = 2.0;
/// Errors below this share are rounding, which more terms must not be chosen to explain.
const ROUNDING: f64 = 1e-7;

/// A combination of terms and its cost.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Scored {
    pub(crate) candidate: Candidate,
    /// Mean relative error at the held-out largest values.
    pub(crate) held_out: f64,
    /// Relative error at single points, each held out in turn.
    pub(crate) singles: f64,
    /// Combined error with penalties; the smallest is chosen.
    pub(crate) cost: f64,
}

/// Returns the candidates that may become the model, the best first.
pub(crate) fn score(problem: &RegionProblem<'_>, candidates: &[Candidate]) -> Vec<Scored> {
    let must_be_positive = problem.target.iter().all(|value| 0.0 < *value);
    let mut scored: Vec<Scored> = candidates
        .iter()
        .filter(|candidate| !must_be_positive || is_positive(problem, candidate))
        .filter(|candidate| !leaps(problem, candidate, must_be_positive))
        .filter_map(|candidate| score_one(problem, candidate))
        .collect();
    scored.sort_by(|a, b| a.cost.total_cmp(&b.cost));
    scored
}

fn score_one(problem: &RegionProblem<'_>, candidate: &Candidate) -> Option<Scored> {
    let held_out = held_out(problem, candidate)?;
    let n_folds = problem.design.folds.len() as f64;
    let singles = at_singles(problem, candidate)?;
    let error = (n_folds * held_out + SINGLES_WEIGHT * singles) / (n_folds + SINGLES_WEIGHT);
    let oddity: f64 = candidate.terms().map(|term| problem.design.choices[term].oddity).sum();
    let coefficients = &candidate.coefficients[..candidate.n_terms()];
    let n_negative = coefficients.iter().filter(|c| **c < 0.0).count() as f64;
    let costs = ODDITY_COST * oddity
        + TERM_COST * candidate.n_terms() as f64 / problem.target.len() as f64
        + NEGATIVE_COST * n_negative;
    Some(Scored {
        candidate: *candidate,
        held_out,
        singles,
        cost: (error + ROUNDING) * (1.0 + costs),
    })
}

/// Returns the root mean square of the relative errors at the held-out points, averaged over the folds.
fn held_out(problem: &RegionProblem<'_>, candidate: &Candidate) -> Option<f64> {
    let mut sum = 0.0;
    for fold in &problem.design.folds {
        let solution = problem.normal_without(candidate, fold).solve(candidate.n_terms())?;
        let squares = fold.held.iter().map(|idx| {
            let predicted = candidate.value(&solution, |term| problem.columns[term][*idx]);
            relative_error(predicted, problem.target[*idx]).powi(2)
        });
        sum += (squares.sum::<f64>() / fold.held.len() as f64).sqrt();
    }
    Some(sum / problem.design.folds.len() as f64)
}

/// Returns the error relative to the mean of both values, so that too low counts as much as too high.
pub(crate) fn relative_error(predicted: f64, measured: f64) -> f64 {
    let sizes = predicted.abs() + measured.abs();
    if 0.0 < sizes { 2.0 * (predicted - measured).abs() / sizes } else { 0.0 }
}

/// Returns the root mean square of the errors at each point, when it alone is held out.
fn at_singles(problem: &RegionProblem<'_>, candidate: &Candidate) -> Option<f64> {
    let squares: f64 = single_errors(problem, candidate)?.map(|error| error * error).sum();
    Some((squares / problem.target.len() as f64).sqrt())
}

/// Returns the relative error at each point, when it alone is held out.
pub(crate) fn single_errors(
    problem: &RegionProblem<'_>,
    candidate: &Candidate,
) -> Option<impl Iterator<Item = f64>> {
    let n = candidate.n_terms();
    let lower = problem.normal(candidate).lower(n)?;
    Some(problem.target.iter().enumerate().map(move |(idx, target)| {
        let mut row = [0.0; N_TERMS_MAX];
        row.iter_mut().zip(candidate.terms()).for_each(|(x, term)| *x = problem.columns[term][idx]);
        let pull = forward(&lower, &row, n);
        let leverage = dot(&pull[..n], &pull[..n]);
        let error = dot(&row[..n], &candidate.coefficients[..n]) - target;
        error / (1.0 - leverage).max(1e-3)
    }))
}

fn is_positive(problem: &RegionProblem<'_>, candidate: &Candidate) -> bool {
    let n_far = problem.design.far.first().map_or(0, Vec::len);
    let far = |idx: usize| {
        let value_of = |term: usize| problem.design.far[term][idx] / problem.lengths[term];
        candidate.value(&candidate.coefficients, value_of)
    };
    let near =
        |idx: usize| candidate.value(&candidate.coefficients, |term| problem.columns[term][idx]);
    (0..problem.target.len()).all(|idx| 0.0 < near(idx)) && (0..n_far).all(|idx| 0.0 < far(idx))
}

/// Returns whether the formula rises or falls between two neighboring points and comes back, which no measurement
/// supports.
///
/// Terms with positive coefficients cannot do that; where terms cancel each other, a few points do not determine them.
fn leaps(problem: &RegionProblem<'_>, candidate: &Candidate, must_be_positive: bool) -> bool {
    let coefficients = &candidate.coefficients;
    if !must_be_positive || coefficients[..candidate.n_terms()].iter().all(|c| 0.0 <= *c) {
        return false;
    }
    let value = |columns: &[Vec<f64>], idx: usize| {
        candidate.value(coefficients, |term| columns[term][idx] / problem.lengths[term])
    };
    let design = problem.design;
    design.neighbors.iter().enumerate().any(|(idx, ends)| {
        let [low, high] = ends.map(|end| value(&design.columns, end));
        let middle = value(&design.between, idx);
        middle * LEAP_MAX < low.min(high) || LEAP_MAX * low.max(high) < middle
    })
}
