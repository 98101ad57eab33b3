//! Several forms of one curve, weighed by how well they foretell, and averaged.
//!
//! The formula of `score` is one form. The others know less of what programs do and more of what was measured: sums
//! without negative terms, a curve in logarithms, the slopes at the nearest points, work that is divided among processes
//! with a rest that is not, and ideal scaling from the nearest point. Each is fitted again without the largest values of
//! each parameter and foretells them. A form's weight falls with its errors there, mostly along those parameters
//! in which the asked point lies beyond the measured ones.
//!
//! The value is the weighted mean of the logarithms; a form far from the median of all is moved toward it
//! (`weights`). The interval is one of Student's distribution with four degrees of freedom. Its variance adds up
//! noise, the disagreement of the forms, and the distance from the measured points, in units of the errors at the values
//! held out. The constants were fitted to measured curves and made ones (`experiments/pred-real`).
//!
//! # Invariants
//! - Every measured value and parameter is positive; otherwise there is no ensemble.
//! - Weights are positive and add up to 1.

mod divided;
mod fold;
mod form;
mod non_negative;
mod observed;
mod powers;
mod sum;
mod weights;

use fold::Fold;
pub(crate) use fold::{Held, held_out};
pub use form::{DividedPart, Form, FormKind};
use observed::{Observed, Trend};
use serde::{Deserialize, Serialize};
use statistics::median;
pub(crate) use sum::Columns;
use weights::{Here, Importance, Weighing};

/// Fewest points of which an ensemble is made.
const N_POINTS_MIN: usize = 3;
/// Most points: beyond them, the formula has nothing to learn from other forms.
const N_POINTS_MAX: usize = 512;
/// Errors below this share do not make a form better, unless the best form has smaller ones everywhere.
const ERROR_SMALL: f64 = 0.015;
/// Smallest error that is told from rounding.
const ERROR_LEAST: f64 = 1e-6;
/// A larger error of a form than this, in natural logarithms, counts as this one.
const ERROR_MAX: f64 = 2.0;
/// Number of points whose errors, each held out in turn, weigh as much as the error at one held-out value; and the largest
/// weight.
const N_SINGLES: f64 = 32.0;
const SINGLES_MOST: f64 = 1.0;
/// How much more a formula in pieces counts beforehand: where a break was found, no other form describes both sides.
const PRIOR_OF_PIECES: f64 = 10.0;
/// Largest number in a file from which weights are calculated: with larger ones they would overflow.
pub(crate) const LARGEST: f64 = 1e9;

/// Noise that is assumed beforehand, as a share, and how many points that counts as.
const NOISE_BEFOREHAND: f64 = 0.17;
const NOISE_POINTS: f64 = 0.35;
/// Share of the squared error at single points that is noise.
const NOISE_SHARE: f64 = 0.25;
/// How many values held out the error counts as that is assumed beforehand.
const DRIFT_FOLDS: f64 = 4.0;
/// What is assumed beforehand is at most this many times the largest error of the best form; more where there are few
/// points, since one of several forms foretells a few well by chance.
const BEFOREHAND_OVER_ERROR: f64 = 10.0;
const N_POINTS_FEW: f64 = 8.0;
/// Where a parameter has fewer than four values, errors below this one show nothing.
const ERROR_OF_FEW: f64 = 0.05;
/// Shares of the disagreement of the forms in the variance: weighted, and around their median.
const DISAGREEMENT_SHARE: f64 = 0.08;
const SCATTER_SHARE: f64 = 0.01;

/// Forms of one curve with what is needed to weigh them at any point.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Ensemble {
    /// Forms; the first is the model's own formula.
    pub forms: Vec<Form>,
    /// Coordinates of the measured points.
    pub points: Vec<Vec<f64>>,
    /// Values at the measured points.
    pub values: Vec<f64>,
    /// Error of the average beyond the points, for each parameter: a share per factor e of distance.
    pub drift: Vec<f64>,
    /// How often values of each parameter were held out.
    pub n_held: Vec<f64>,
    /// Weight of the errors at single points.
    pub singles_weight: f64,
    /// The same beyond the measured points, as a share of it.
    #[serde(default = "one")]
    pub singles_beyond: f64,
    /// Standard deviation of a measurement, as a share.
    pub noise: f64,
    /// How much the disagreement of forms without weight counts, from 0 to 1; 0 where one of them foretold all exactly.
    pub doubt: f64,
}

/// Share in files that were written before there was another one.
const fn one() -> f64 {
    1.0
}

/// What one form says at a point.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Opinion {
    /// The form.
    pub form: &'static str,
    /// Its weight there, from 0 to 1.
    pub weight: f64,
    /// Its value there.
    pub value: f64,
}

/// Average of the forms at a point, in natural logarithms.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct Average {
    pub(crate) ln_value: f64,
    /// Standard deviation of what was foretold, without noise.
    pub(crate) deviation: f64,
    pub(crate) noise: f64,
}

impl Ensemble {
    /// Averages the forms at a point; `formula` is the value of the formula there, if it has one, and `unsure` its deviation
    /// there beyond that of other points, as a share.
    ///
    /// `None` where the point has no logarithm or no form has a value.
    pub(crate) fn average(&self, at: &[f64], formula: Option<f64>, unsure: f64) -> Option<Average> {
        let here = self.here(at, formula)?;
        let mean = here.mean();
        let weighted: f64 =
            here.sayings.iter().map(|(_, weight, said)| weight * (said - mean).powi(2)).sum();
        let around = here.sayings.iter().map(|(_, _, said)| (said - here.middle).powi(2));
        let scatter = around.sum::<f64>() / here.sayings.len() as f64;
        let drift: f64 = here.beyond.iter().zip(&self.drift).map(|(far, drift)| far * drift).sum();
        let by_formula = here.sayings.iter().find(|(form_idx, ..)| *form_idx == 0);
        let by_formula = by_formula.map_or(0.0, |(_, weight, _)| weight * unsure * unsure);
        let variance = by_formula
            + DISAGREEMENT_SHARE * weighted
            + SCATTER_SHARE * self.doubt * scatter
            + drift * drift;
        Some(Average { ln_value: mean, deviation: variance.sqrt(), noise: self.noise })
    }

    /// Returns what each form says at a point, the weightiest first.
    pub(crate) fn opinions(&self, at: &[f64], formula: Option<f64>) -> Vec<Opinion> {
        let Some(here) = self.here(at, formula) else { return Vec::new() };
        let mut opinions: Vec<Opinion> = here
            .raw
            .iter()
            .zip(&here.sayings)
            .map(|(raw, (form_idx, weight, _))| Opinion {
                form: self.forms[*form_idx].kind.name(),
                weight: *weight,
                value: raw.exp(),
            })
            .collect();
        opinions.sort_by(|a, b| b.weight.total_cmp(&a.weight));
        opinions
    }

    fn here(&self, at: &[f64], formula: Option<f64>) -> Option<Here> {
        let observed = Observed::of(&self.points, &self.values);
        let asked: Vec<f64> = at.iter().map(|x| x.ln()).collect();
        if !asked.iter().all(|x| x.is_finite()) {
            return None;
        }
        let formula = formula.filter(|value| 0.0 < *value).map(f64::ln);
        let said: Vec<Option<f64>> = self
            .forms
            .iter()
            .map(|form| form.kind.ln_value(&observed, at, &asked, formula))
            .collect();
        let weighing =
            Weighing::of(&self.forms, &self.n_held, [self.singles_weight, self.singles_beyond]);
        Here::of(&said, &weighing, observed.beyond(&asked))
    }

    /// Returns why the ensemble cannot be evaluated, if it cannot.
    pub(crate) fn fault(&self, n_parameters: usize) -> Option<&'static str> {
        let is_short = |numbers: &Vec<f64>| numbers.len() != n_parameters;
        if self.points.len() != self.values.len() || self.points.iter().any(is_short) {
            return Some("the measured points and values do not fit together");
        }
        let mut numbers = self.points.iter().flatten().chain(&self.values);
        if self.points.is_empty() || !numbers.all(|number| 0.0 < *number && number.is_finite()) {
            return Some("a measured point or value is not positive");
        }
        if self.forms.is_empty() || self.forms.iter().any(|form| form.fault(n_parameters)) {
            return Some("a form has the wrong number of parameters");
        }
        let is_wrong = |number: &f64| !(0.0..=LARGEST).contains(number);
        let of_all = [&self.noise, &self.doubt, &self.singles_weight, &self.singles_beyond];
        let mut numbers = self.drift.iter().chain(&self.n_held).chain(of_all);
        (is_short(&self.drift) || is_short(&self.n_held) || numbers.any(is_wrong))
            .then_some("its uncertainty is not a positive number")
    }
}

/// What is known of a curve when its ensemble is made.
pub(crate) struct Curve<'a> {
    pub(crate) points: Vec<Vec<f64>>,
    pub(crate) values: Vec<f64>,
    /// Forms that are refitted here, besides the formula.
    pub(crate) kinds: Vec<FormKind>,
    pub(crate) held: &'a [Held],
    /// What the formula foretold at the held-out points of each of `held`, in natural logarithms.
    pub(crate) formula: Vec<Vec<Option<f64>>>,
    /// Whether the formula has several pieces.
    pub(crate) is_in_pieces: bool,
    /// Standard deviation of repetitions, as a share.
    pub(crate) scatter: f64,
    /// Errors of the formula at single points, each held out in turn, as shares.
    pub(crate) single_errors: &'a [f64],
}

/// Returns whether these points and values can have an ensemble.
pub(crate) fn is_possible(points: &[&[f64]], values: impl Iterator<Item = f64>) -> bool {
    let mut numbers = points.iter().flat_map(|at| at.iter().copied()).chain(values);
    (N_POINTS_MIN..=N_POINTS_MAX).contains(&points.len()) && numbers.all(|number| 0.0 < number)
}

/// Makes the ensemble and returns it with the mean error of the average at the held-out values.
pub(crate) fn ensemble(curve: Curve<'_>, columns: &Columns<'_>) -> (Ensemble, f64) {
    let n_parameters = curve.points[0].len();
    let all = Observed::of(&curve.points, &curve.values);
    let trend = Trend::of(&all, columns.roles);
    let importance = Importance::of(trend);
    let mut forms = vec![FormKind::Formula];
    forms.extend(curve.kinds.iter().filter_map(|kind| kind.fitted(&all, columns, None)));
    let folds: Vec<Fold> = curve
        .held
        .iter()
        .zip(&curve.formula)
        .map(|(held, formula)| Fold::of(held, formula, &forms, &all, columns))
        .collect();
    let squares: Vec<f64> = forms
        .iter()
        .map(|kind| match kind {
            FormKind::Formula => mean_square(curve.single_errors.iter().copied()),
            _ => kind.single_square(&all, &curve.points),
        })
        .collect();
    let error = least_error(&squares, &folds);
    let small_of = |error: f64| (0.5 * error).clamp(ERROR_LEAST, ERROR_SMALL);
    let miss = |square: f64, small: f64| small.mul_add(small, square).ln();
    let small = small_of(error);
    let small_single = small_of(squares.iter().copied().fold(f64::INFINITY, f64::min).sqrt());
    let of_kind = |(idx, kind): (usize, FormKind)| {
        let mut misses = vec![0.0; n_parameters];
        for fold in &folds {
            misses[fold.parameter_idx] +=
                importance.held_out * miss(fold.errors[idx].powi(2), small);
        }
        let of_pieces = if idx == 0 && curve.is_in_pieces { PRIOR_OF_PIECES } else { 1.0 };
        let single_miss = miss(squares[idx], small_single);
        Form { prior: of_pieces * kind.prior(trend), kind, misses, single_miss }
    };
    let forms: Vec<Form> = forms.into_iter().enumerate().map(of_kind).collect();
    let mut n_held = vec![0.0; n_parameters];
    folds.iter().for_each(|fold| n_held[fold.parameter_idx] += 1.0);
    let n = curve.points.len() as f64;
    let singles_weight = (n / N_SINGLES).min(SINGLES_MOST);
    let is_few = curve.held.iter().any(|held| held.is_of_few);
    let shown = if is_few { error.max(ERROR_OF_FEW) } else { error };
    let beforehand = BEFOREHAND_OVER_ERROR * (1.0 + (N_POINTS_FEW / n).powi(2)) * shown;
    let singles = [singles_weight, importance.singles_beyond];
    let weighing = Weighing::of(&forms, &n_held, singles);
    let known = importance.drift_beforehand.min(beforehand);
    let (drift, error) = drift(&weighing, &folds, known);
    let noise = noise(curve.single_errors, n, beforehand).max(curve.scatter);
    let doubt = (beforehand / NOISE_BEFOREHAND).min(1.0);
    let Curve { points, values, .. } = curve;
    let singles_beyond = importance.singles_beyond;
    let ensemble = Ensemble {
        forms,
        points,
        values,
        drift,
        n_held,
        singles_weight,
        singles_beyond,
        noise,
        doubt,
    };
    (ensemble, error)
}

/// Returns the largest error of the form whose largest error is the smallest.
fn least_error(squares: &[f64], folds: &[Fold]) -> f64 {
    let largest = |(idx, square): (usize, &f64)| {
        folds.iter().map(|fold| fold.errors[idx]).fold(square.sqrt(), f64::max)
    };
    squares.iter().enumerate().map(largest).fold(f64::INFINITY, f64::min)
}

/// Returns the mean of the squares, each up to the largest that counts.
fn mean_square(errors: impl Iterator<Item = f64>) -> f64 {
    let (mut sum, mut n) = (0.0, 0.0);
    for error in errors {
        sum += error.abs().min(ERROR_MAX).powi(2);
        n += 1.0;
    }
    if 0.0 < n { sum / n } else { ERROR_MAX * ERROR_MAX }
}

/// Returns the error of the average per distance along each parameter, and its mean error; `beforehand` is what is assumed
/// of the former.
fn drift(weighing: &Weighing<'_>, folds: &[Fold], beforehand: f64) -> (Vec<f64>, f64) {
    let n_parameters = weighing.n_held.len();
    let mut squares = vec![0.0; n_parameters];
    let mut errors = Vec::new();
    for fold in folds {
        let (mut per_distance, mut plain) = (0.0, 0.0);
        for (point, (said, true_value)) in fold.said.iter().enumerate() {
            let mut beyond = vec![0.0; n_parameters];
            beyond[fold.parameter_idx] = fold.distances[point];
            let error = Here::of(said, weighing, beyond)
                .map_or(ERROR_MAX, |here| (here.mean() - true_value).clamp(-ERROR_MAX, ERROR_MAX));
            per_distance += (error / fold.distances[point]).powi(2);
            plain += error.powi(2);
        }
        let n = fold.said.len().max(1) as f64;
        squares[fold.parameter_idx] += per_distance / n;
        errors.push((plain / n).sqrt());
    }
    let known = DRIFT_FOLDS * beforehand.powi(2);
    let drift = squares.iter().zip(weighing.n_held);
    let drift = drift.map(|(sum, n)| ((known + sum) / (DRIFT_FOLDS + n)).sqrt()).collect();
    let mean = errors.iter().sum::<f64>() / errors.len().max(1) as f64;
    (drift, mean)
}

fn noise(single_errors: &[f64], n_points: f64, beforehand: f64) -> f64 {
    // Deviation of a normal distribution over its median distance from 0.
    let deviation = 1.48 * median(single_errors.iter().map(|error| error.abs())).unwrap_or(0.0);
    let n = if single_errors.is_empty() { 0.0 } else { n_points };
    let known = NOISE_POINTS * NOISE_BEFOREHAND.min(beforehand).powi(2);
    ((known + n * NOISE_SHARE * deviation * deviation) / (NOISE_POINTS + n)).sqrt()
}
