//! Bootstrap over the errors at the points: refits to data that the measurement might have produced
//! (draws).
//!
//! A draw takes the chosen formula's values at the points, adds to each the error of a randomly drawn
//! point, and refits the coefficients. Some draws refit other terms that did nearly as well, so that the
//! interval includes the uncertainty about the terms.

use crate::{
    model::Draw,
    score::Scored,
    search::RegionProblem,
    solve::{N_TERMS_MAX, Normal, count, dot},
    term::Term,
};
use random::Random;

/// Largest number of alternatives that are drawn from.
const N_ALTERNATIVES: usize = 6;
/// Largest excess cost of an alternative that is drawn, in units of the uncertainty of a cost.
const WORSE_MAX: f64 = 2.5;

/// Returns the terms of the alternatives, the chosen formula's first, and the draws.
pub(crate) fn draws(
    problem: &RegionProblem<'_>,
    scored: &[Scored],
    n_draws: usize,
    seed: u64,
) -> (Vec<Vec<Term>>, Vec<Draw>) {
    let Some(best) = scored.first() else { return (Vec::new(), Vec::new()) };
    // The relative uncertainty of a mean over `n` points is about `1 / sqrt(n)`.
    let uncertain = 1.0 / count(problem.target.len()).sqrt();
    let near: Vec<&Scored> = scored
        .iter()
        .take_while(|other| other.cost <= (1.0 + WORSE_MAX * uncertain) * best.cost)
        .take(N_ALTERNATIVES)
        .collect();
    let worth = |other: &&Scored| (-(other.cost / best.cost - 1.0) / uncertain).exp();
    let shares: Vec<f64> = near.iter().map(worth).collect();
    let mut random = Random::new(seed);
    let (fitted, errors) = errors(problem, best);
    let mut target = vec![0.0; fitted.len()];
    let draws = (0..n_draws).filter_map(|_| {
        for (drawn, value) in target.iter_mut().zip(&fitted) {
            *drawn = value + errors[random.below(errors.len())];
        }
        let alternative_idx = pick(&shares, &mut random);
        let coefficients = refit(problem, near[alternative_idx], &target)?;
        Some(Draw { alternative_idx, coefficients })
    });
    let draws = draws.collect();
    (near.iter().map(|other| terms(problem, other)).collect(), draws)
}

/// Returns the terms of a candidate.
pub(crate) fn terms(problem: &RegionProblem<'_>, scored: &Scored) -> Vec<Term> {
    let choices = &problem.design.choices;
    scored.candidate.terms().map(|term| choices[term].term.clone()).collect()
}

/// Returns the formula's values at the points and its errors there, both relative to the measured values.
fn errors(problem: &RegionProblem<'_>, scored: &Scored) -> (Vec<f64>, Vec<f64>) {
    let candidate = &scored.candidate;
    let fitted: Vec<f64> = (0..problem.target.len())
        .map(|idx| candidate.value(&candidate.coefficients, |term| problem.columns[term][idx]))
        .collect();
    let n_free = problem.target.len().saturating_sub(candidate.n_terms()).max(1);
    // The fit has absorbed part of the errors, and a few errors seldom include large ones: the
    // second factor approximates Student's distribution relative to the normal one, near 95 %.
    let widened =
        (count(problem.target.len()) / count(n_free)).sqrt() * (1.0 + 1.2 / count(n_free));
    let errors = problem.target.iter().zip(&fitted).map(|(t, f)| widened * (t - f)).collect();
    (fitted, errors)
}

fn pick(shares: &[f64], random: &mut Random) -> usize {
    let mut left = random.share() * shares.iter().sum::<f64>();
    let idx = shares.iter().position(|share| {
        left -= share;
        left <= 0.0
    });
    idx.unwrap_or(shares.len() - 1)
}

fn refit(problem: &RegionProblem<'_>, scored: &Scored, target: &[f64]) -> Option<Vec<f64>> {
    let mut right = [0.0; N_TERMS_MAX];
    for (right, term) in right.iter_mut().zip(scored.candidate.terms()) {
        *right = dot(&problem.columns[term], target);
    }
    let normal = Normal { right, ..problem.normal(&scored.candidate) };
    let solution = normal.solve(scored.candidate.n_terms())?;
    let terms = scored.candidate.terms().zip(solution);
    Some(terms.map(|(term, c)| c / problem.lengths[term]).collect())
}
