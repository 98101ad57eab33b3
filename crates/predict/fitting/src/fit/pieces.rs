//! Splits a model into several formulas at breakpoints of a size, where one formula is not enough.
//!
//! Protocols change with the size of a message, and memory becomes slower when a cache is full. A
//! breakpoint is searched where the best formula's error exceeds what the noise explains, between any two
//! measured values of a parameter; it is kept where it more than halves the cost of the fit (`score`). Both
//! sides are then searched in the same way.

use super::Settings;
use crate::{
    design::{Design, distinct_values},
    draws::{draws, terms},
    model::{FittedModel, Piece, Range},
    samples::PointValue,
    score::{Scored, score, single_errors},
    search::{Breadth, RegionProblem},
    solve::count,
    term::{Factor, Formula, Term, Weighted},
    vocabulary::{ParameterRole, choices},
};

/// Errors at single points up to this share need no breakpoint.
const ERROR_SMALL: f64 = 0.01;
/// Errors up to this many times the noise need no breakpoint.
const ERROR_OVER_NOISE: f64 = 3.0;
/// Largest share of the cost that may remain for a breakpoint to be kept.
const GAIN: f64 = 0.5;
/// Smallest number of points in a piece; where a regime is known to begin, and the remaining share there.
const N_POINTS_MIN: usize = 4;
const N_POINTS_MIN_KNOWN: usize = 3;
const GAIN_KNOWN: f64 = 0.7;
/// Limits on the breakpoints tried, and on the points in all trials: of many sizes a sample is tried.
const N_EDGES_MAX: usize = 64;
const N_POINTS_TRIED_MAX: usize = 65_536;

/// A point and the value of its repetitions.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Sample<'a> {
    pub(crate) at: &'a [f64],
    pub(crate) measured: PointValue,
}

/// Points that share one formula.
struct SubrangeFit<'a> {
    samples: Vec<Sample<'a>>,
    scored: Vec<Scored>,
    design: Design,
}

/// Inputs of the search for breakpoints.
struct Search<'a> {
    roles: &'a [ParameterRole],
    settings: &'a Settings,
    /// For each parameter, values at which a regime is known to begin.
    known: Vec<Vec<f64>>,
}

/// Fits the pieces of `model`, given the problem over all samples, and sets its breakpoints and its error at the held-out
/// values; returns the relative errors of its formulas at single points, each held out in turn.
pub(crate) fn fit_pieces(
    model: &mut FittedModel,
    problem: &RegionProblem<'_>,
    samples: &[Sample<'_>],
    roles: &[ParameterRole],
    settings: &Settings,
) -> Vec<f64> {
    let known = |idx: usize| {
        let own = settings.known.regimes.iter().filter(|regime| regime.parameter_idx == idx);
        own.map(|regime| regime.from).collect()
    };
    let search = Search { roles, settings, known: (0..roles.len()).map(known).collect() };
    // Equal values need no search.
    let n_terms_max = if is_constant(samples) { 0 } else { settings.n_terms_max };
    let scored = score(problem, &problem.candidates(n_terms_max, Breadth::WIDE));
    if 0 < n_terms_max
        && search.is_wanting(samples, &scored)
        && let Some((split_idx, parts)) = search.split(samples, &scored, problem)
    {
        let n_points: usize = parts.iter().map(|part| part.samples.len()).sum();
        let held_out = parts.iter().map(SubrangeFit::held_out_sum).sum::<f64>();
        model.held_out_error = held_out / count(n_points);
        model.split_idx = Some(split_idx);
        model.pieces = parts.iter().map(|part| search.piece_of(part, split_idx)).collect();
        parts.iter().flat_map(SubrangeFit::single_errors).collect()
    } else {
        model.held_out_error = scored.first().map_or(0.0, |best| best.held_out);
        model.pieces = vec![search.piece(problem, &scored, samples, None)];
        at_singles(problem, &scored)
    }
}

fn at_singles(problem: &RegionProblem<'_>, scored: &[Scored]) -> Vec<f64> {
    let errors = scored.first().and_then(|best| single_errors(problem, &best.candidate));
    errors.into_iter().flatten().collect()
}

impl SubrangeFit<'_> {
    fn single_errors(&self) -> Vec<f64> {
        at_singles(&problem(&self.design, &self.samples), &self.scored)
    }

    fn held_out_sum(&self) -> f64 {
        self.scored.first().map_or(0.0, |best| best.held_out) * count(self.samples.len())
    }

    fn error(&self) -> f64 {
        error(&self.scored, self.samples.len())
    }

    /// Returns the terms, ordered by their contribution at the largest value of a parameter.
    fn terms_at_top(&self, split_idx: usize) -> Vec<Term> {
        let Some(Scored { candidate, .. }) = self.scored.first() else { return Vec::new() };
        let problem = problem(&self.design, &self.samples);
        let value_of = |sample: &Sample<'_>| sample.at[split_idx];
        let top = self.samples.iter().map(value_of).fold(f64::MIN, f64::max);
        let size = |term: usize, coefficient: f64| -> f64 {
            let values = self.samples.iter().zip(&problem.columns[term]);
            let at_top = values.filter(|(sample, _)| top <= value_of(sample));
            at_top.map(|(_, value)| (coefficient * value).abs()).sum()
        };
        let mut sized: Vec<(usize, f64)> = candidate
            .terms()
            .zip(candidate.coefficients)
            .map(|(term, coefficient)| (term, size(term, coefficient)))
            .collect();
        sized.sort_by(|a, b| b.1.total_cmp(&a.1));
        sized.iter().map(|(term, _)| self.design.choices[*term].term.clone()).collect()
    }
}

/// Returns the squared cost summed over the points, larger where the terms use up the points.
fn error(scored: &[Scored], n_points: usize) -> f64 {
    let Some(best) = scored.first() else { return f64::INFINITY };
    let n_free = n_points.saturating_sub(best.candidate.n_terms()).max(1);
    best.cost.powi(2) * count(n_points) * count(n_points) / count(n_free)
}

impl Search<'_> {
    /// Returns whether the formula's error exceeds what the noise explains.
    fn is_wanting(&self, samples: &[Sample<'_>], scored: &[Scored]) -> bool {
        let error = scored.first().map_or(f64::INFINITY, |best| best.singles);
        let noise: f64 =
            samples.iter().map(|s| (s.measured.spread.powi(2)) / count(s.measured.n_kept)).sum();
        let noise = (noise / count(samples.len())).sqrt();
        0 < self.settings.n_breaks_max && ERROR_SMALL.max(ERROR_OVER_NOISE * noise) < error
    }

    /// Returns the parameter with breakpoints and the parts between them, if breakpoints help.
    fn split<'s>(
        &self,
        samples: &[Sample<'s>],
        scored: &[Scored],
        problem: &RegionProblem<'_>,
    ) -> Option<(usize, Vec<SubrangeFit<'s>>)> {
        let known = scored.first().map_or_else(Vec::new, |best| terms(problem, best));
        let mut parts: Vec<SubrangeFit<'s>> = Vec::new();
        let whole = error(scored, samples.len());
        let (split_idx, low, high) = (0..self.roles.len())
            .filter(|idx| self.takes_any(*idx) || !self.known[*idx].is_empty())
            .filter_map(|idx| self.best_cut(samples, idx, &known, true).map(|(l, h)| (idx, l, h)))
            .min_by(|a, b| (a.1.error() + a.2.error()).total_cmp(&(b.1.error() + b.2.error())))?;
        let edges = distinct_values(&points(&high.samples), split_idx);
        let is_known = edges.first().is_some_and(|edge| self.known[split_idx].contains(edge));
        let gain = if is_known { GAIN_KNOWN } else { GAIN };
        if gain * gain * whole <= low.error() + high.error() {
            return None;
        }
        let mut open = vec![high, low];
        while let Some(part) = open.pop() {
            let n_breaks = open.len() + parts.len();
            let wanting = self.is_wanting(&part.samples, &part.scored);
            let cut = (wanting && n_breaks < self.settings.n_breaks_max)
                .then(|| self.best_cut(&part.samples, split_idx, &known, open.is_empty()))
                .flatten()
                .filter(|(low, high)| low.error() + high.error() < GAIN * GAIN * part.error());
            match cut {
                Some((low, high)) => open.extend([high, low]),
                None => parts.push(part),
            }
        }
        Some((split_idx, parts))
    }

    /// Returns whether breakpoints of a parameter are searched at all values.
    fn takes_any(&self, idx: usize) -> bool {
        self.roles.len() == 1 || self.roles[idx] != ParameterRole::Processes
    }

    /// Returns the cut of these samples that leaves the smallest error.
    fn best_cut<'s>(
        &self,
        samples: &[Sample<'s>],
        split_idx: usize,
        known: &[Term],
        is_last: bool,
    ) -> Option<(SubrangeFit<'s>, SubrangeFit<'s>)> {
        let distinct_values = distinct_values(&points(samples), split_idx);
        // Three sizes show how time grows; beyond the last breakpoint a single size is accepted.
        let n_high = if is_last { 1 } else { 3 };
        let edges = distinct_values
            .get(3..(distinct_values.len() + 1).saturating_sub(n_high))
            .filter(|_| self.takes_any(split_idx))
            .unwrap_or_default();
        let n_edges_max = (N_POINTS_TRIED_MAX / samples.len().max(1)).clamp(4, N_EDGES_MAX);
        let every = edges.len().div_ceil(n_edges_max).max(1);
        // Above a regime's beginning, three values show how time grows there.
        let is_measured = |edge: &&f64| {
            let at = distinct_values.iter().position(|value| value.total_cmp(edge).is_eq());
            at.is_some_and(|at| 0 < at && at + 3 <= distinct_values.len())
        };
        let known_edges: Vec<&f64> = self.known[split_idx].iter().filter(is_measured).collect();
        let of_none = edges.iter().step_by(every).filter(|edge| !known_edges.contains(edge));
        let cuts = of_none.chain(known_edges.iter().copied()).filter_map(|edge| {
            let (low, high): (Vec<_>, Vec<_>) =
                samples.iter().partition(|sample| sample.at[split_idx] < *edge);
            let is_known = known_edges.contains(&edge);
            let n_min = if is_known { N_POINTS_MIN_KNOWN } else { N_POINTS_MIN };
            if low.len().min(high.len()) < n_min {
                return None;
            }
            let low = self.part(low, known)?;
            let mut beside = low.terms_at_top(split_idx);
            if distinct_values.last() == Some(edge) {
                beside.extend(self.grown_alike(&beside, split_idx));
            }
            let high = self.part(high, &beside)?;
            Some((low, high))
        });
        cuts.min_by(|a, b| (a.0.error() + a.1.error()).total_cmp(&(b.0.error() + b.1.error())))
    }

    /// Returns every term of the other parameters, multiplied by the steepest growth of `terms` in this
    /// one.
    ///
    /// A single size does not show how time grows, and constant time would be the worst guess.
    fn grown_alike(&self, terms: &[Term], split_idx: usize) -> Vec<Term> {
        let of_split = |factor: &&Factor| factor.parameter_idx == split_idx;
        let growths = terms.iter().flat_map(|term| term.factors.iter().filter(of_split));
        let Some(steepest) = growths.max_by(|a, b| a.power.total_cmp(&b.power)) else {
            return Vec::new();
        };
        let others = choices(self.roles)
            .into_iter()
            .filter(|choice| !choice.term.factors.iter().any(|factor| of_split(&factor)));
        others.map(|choice| Term::of(choice.term.factors.into_iter().chain([*steepest]))).collect()
    }

    fn part<'s>(&self, samples: Vec<Sample<'s>>, known: &[Term]) -> Option<SubrangeFit<'s>> {
        let design = Design::new(&points(&samples), self.roles, known);
        let problem = problem(&design, &samples);
        let scored = score(&problem, &problem.candidates(self.settings.n_terms_max, Breadth::WIDE));
        (!scored.is_empty()).then_some(SubrangeFit { samples, scored, design })
    }

    fn piece_of(&self, part: &SubrangeFit<'_>, split_idx: usize) -> Piece {
        let ends = distinct_values(&points(&part.samples), split_idx);
        let (low, high) = (ends[0], ends[ends.len() - 1]);
        let problem = problem(&part.design, &part.samples);
        self.piece(&problem, &part.scored, &part.samples, Some(Range { low, high }))
    }

    fn piece(
        &self,
        problem: &RegionProblem<'_>,
        scored: &[Scored],
        samples: &[Sample<'_>],
        range: Option<Range>,
    ) -> Piece {
        let Some(best) = scored.first() else { return constant(samples, range) };
        let candidate = &best.candidate;
        let n_free = samples.len().saturating_sub(candidate.n_terms()).max(1);
        let off = candidate.residual / count(n_free);
        let scatter: f64 = samples.iter().map(|sample| sample.measured.spread.powi(2)).sum();
        let noise = (off + scatter / count(samples.len())).sqrt();
        let coefficients = candidate.terms().zip(candidate.coefficients);
        let weighted = coefficients.map(|(term, c)| Weighted {
            coefficient: c / problem.lengths[term],
            term: problem.design.choices[term].term.clone(),
        });
        let mut formula = Formula { terms: weighted.collect() };
        formula.sort_by_size(samples.iter().map(|sample| sample.at));
        let Settings { n_draws, seed, .. } = *self.settings;
        let (alternatives, draws) = draws(problem, scored, n_draws, seed);
        Piece { range, formula, alternatives, draws, noise }
    }
}

/// Returns the points of samples.
pub(crate) fn points<'a>(samples: &[Sample<'a>]) -> Vec<&'a [f64]> {
    samples.iter().map(|sample| sample.at).collect()
}

pub(crate) fn problem<'a>(design: &'a Design, samples: &[Sample<'_>]) -> RegionProblem<'a> {
    let measured: Vec<PointValue> = samples.iter().map(|sample| sample.measured).collect();
    RegionProblem::new(design, &measured)
}

/// Returns whether all points have the same value.
pub(crate) fn is_constant(samples: &[Sample<'_>]) -> bool {
    let values = || samples.iter().map(|sample| sample.measured.value);
    values().fold(f64::MIN, f64::max) <= values().fold(f64::INFINITY, f64::min)
}

/// Returns the mean as a constant formula, where no formula could be judged.
fn constant(samples: &[Sample<'_>], range: Option<Range>) -> Piece {
    let average = |of: &dyn Fn(&PointValue) -> f64| {
        samples.iter().map(|sample| of(&sample.measured)).sum::<f64>() / count(samples.len())
    };
    let mean = average(&|measured| measured.value);
    let deviation = average(&|measured| (measured.value - mean).powi(2)).sqrt();
    let off = if mean == 0.0 { 0.0 } else { deviation / mean.abs() };
    let constant = Weighted { coefficient: mean, term: Term::constant() };
    Piece {
        range,
        formula: Formula { terms: vec![constant] },
        alternatives: Vec::new(),
        draws: Vec::new(),
        noise: off.hypot(average(&|measured| measured.spread)),
    }
}
