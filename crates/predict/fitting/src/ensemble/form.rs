//! One form of a curve: how it is fitted, and its value at a point, in natural logarithms.

use super::{ERROR_MAX, mean_square, non_negative, ranges};
use crate::{
    design::Design,
    model::Range,
    search::RegionProblem,
    solve::dot,
    term::{Factor, Formula, Weighted},
    vocabulary::ParameterRole,
};
use serde::{Deserialize, Serialize};
use statistics::median;

/// Most columns of a sum without negative terms.
const N_COLUMNS_MAX: usize = 64;
/// Most parameters of which a curve has mixed terms.
const N_MIXED_MAX: usize = 4;
/// Ridge of the curvature, and of what is only kept determined.
const RIDGE_CURVATURE: f64 = 0.5;
const RIDGE_NONE: f64 = 1e-4;
/// Shares at the largest number of processes of what is not divided.
const SHARES: [f64; 12] = [0.0, 0.01, 0.02, 0.04, 0.07, 0.12, 0.2, 0.3, 0.45, 0.6, 0.8, 0.95];
/// How what is not divided grows: serial work, surfaces of two and of three dimensions.
const GROWTHS: [f64; 3] = [0.0, -1.0 / 2.0, -1.0 / 3.0];
/// Cost of a share of 1, in natural logarithms of the likelihood.
const SHARE_COST: f64 = 3.0;
/// Deviation that is assumed beforehand there, and how many points that counts as.
const DIVIDED_NOISE: f64 = 0.03;
const DIVIDED_POINTS: f64 = 2.0;

/// A form with its errors at held-out values.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Form {
    /// The form.
    pub kind: FormKind,
    /// Its weight before anything was foretold.
    pub prior: f64,
    /// Sum of the logarithms of squared errors where the largest values of each parameter were held out.
    pub misses: Vec<f64>,
    /// Logarithm of the mean squared error at single points.
    pub single_miss: f64,
}

/// A way in which time may depend on the parameters.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "kebab-case")]
pub enum FormKind {
    /// The model's formula.
    Formula,
    /// Sum of usual terms without negative coefficients.
    Sum {
        /// The sum.
        formula: Formula,
        /// True if logarithms are among the terms.
        with_logs: bool,
    },
    /// Second-degree polynomial of the logarithms.
    Curve {
        /// Logarithms of the largest values.
        center: Vec<f64>,
        /// Coefficients: of 1, of each parameter, of each product of two.
        coefficients: Vec<f64>,
    },
    /// Powers of the parameters that fit the nearest points best.
    Local {
        /// Distance at which a point counts e times less, in natural logarithms.
        reach: f64,
        /// How strongly the exponents are held at `slopes`.
        ridge: f64,
        /// Exponents that are assumed beforehand.
        slopes: Vec<f64>,
    },
    /// Work divided among processes, with a rest that is not.
    Divided {
        /// Logarithm of the largest number of processes.
        top: f64,
        /// Possible rests with their weights.
        parts: Vec<DividedPart>,
    },
    /// Ideal scaling from the nearest point.
    Ideal {
        /// Exponent of each parameter.
        slopes: Vec<f64>,
    },
}

/// `scale * ((1 - share) / p + share * p^power)`, with p relative to the largest number of processes.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct DividedPart {
    /// Exponent of the processes in what is not divided.
    pub power: f64,
    /// Its share at the largest number of processes.
    pub share: f64,
    /// Logarithm of the scale.
    pub ln_scale: f64,
    /// Weight of this possibility.
    pub weight: f64,
}

/// How the values change, which says what forms are likely.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Trend {
    /// They fall with the number of processes, the only parameter that varies.
    Falling,
    /// They do otherwise with the only parameter that varies.
    Other,
    /// Several parameters vary.
    Several,
}

impl Trend {
    pub(crate) fn of(observed: &Observed, roles: &[ParameterRole]) -> Self {
        let mut varying =
            (0..roles.len()).filter(|idx| observed.ranges[*idx].low < observed.ranges[*idx].high);
        let (Some(idx), None) = (varying.next(), varying.next()) else { return Self::Several };
        let points = || observed.logs.iter().map(|at| at[idx]).zip(&observed.values);
        let first = points().min_by(|a, b| a.0.total_cmp(&b.0));
        let last = points().max_by(|a, b| a.0.total_cmp(&b.0));
        let is_falling = first.zip(last).is_some_and(|(first, last)| last.1 < first.1);
        if roles[idx] == ParameterRole::Processes && is_falling {
            Self::Falling
        } else {
            Self::Other
        }
    }
}

/// Points and values, as logarithms.
pub(crate) struct Observed {
    pub(crate) logs: Vec<Vec<f64>>,
    pub(crate) values: Vec<f64>,
    ranges: Vec<Range>,
}

/// Columns of usual terms over all points of a region.
pub(crate) struct Columns<'a> {
    pub(crate) problem: &'a RegionProblem<'a>,
    pub(crate) roles: &'a [ParameterRole],
}

impl Observed {
    pub(crate) fn of(points: &[Vec<f64>], values: &[f64]) -> Self {
        let logs = points.iter().map(|at| at.iter().map(|x| x.ln()).collect()).collect();
        Self::of_logs(logs, values.iter().map(|value| value.ln()).collect())
    }

    fn of_logs(logs: Vec<Vec<f64>>, values: Vec<f64>) -> Self {
        let ranges = ranges(&logs);
        Self { logs, values, ranges }
    }

    /// Returns the points that are used.
    pub(crate) fn only(&self, is_used: &[bool]) -> Self {
        let used = || (0..self.logs.len()).filter(|idx| is_used[*idx]);
        let logs = used().map(|idx| self.logs[idx].clone()).collect();
        Self::of_logs(logs, used().map(|idx| self.values[idx]).collect())
    }

    /// Returns how far a point lies beyond these along each parameter.
    pub(crate) fn beyond(&self, asked: &[f64]) -> Vec<f64> {
        let far = |(x, range): (&f64, &Range)| (x - range.high).max(range.low - x).max(0.0);
        asked.iter().zip(&self.ranges).map(far).collect()
    }
}

impl FormKind {
    /// Returns the forms for these parameters, not yet fitted.
    pub(crate) fn all(roles: &[ParameterRole]) -> Vec<Self> {
        let slopes = |of: fn(ParameterRole) -> f64| roles.iter().map(|role| of(*role)).collect();
        let sum = |with_logs| Self::Sum { formula: Formula { terms: Vec::new() }, with_logs };
        let mut all = vec![
            Self::Curve { center: Vec::new(), coefficients: Vec::new() },
            Self::Local { reach: 0.3, ridge: 1e-3, slopes: vec![0.0; roles.len()] },
            Self::Local { reach: 0.7, ridge: 0.02, slopes: slopes(usual_slope) },
            sum(false),
            sum(true),
            Self::Ideal { slopes: slopes(ideal_slope) },
        ];
        if roles == [ParameterRole::Processes] {
            all.push(Self::Divided { top: 0.0, parts: Vec::new() });
        }
        all
    }

    /// Returns a name that people read.
    pub const fn name(&self) -> &'static str {
        match self {
            Self::Formula => "formula",
            Self::Sum { with_logs: false, .. } => "sum of powers",
            Self::Sum { with_logs: true, .. } => "sum with logarithms",
            Self::Curve { .. } => "curve",
            Self::Local { reach, .. } if *reach < 0.5 => "last slope",
            Self::Local { .. } => "slope nearby",
            Self::Divided { .. } => "divided work and a rest",
            Self::Ideal { .. } => "ideal scaling",
        }
    }

    /// Returns the weight before anything was foretold.
    pub(crate) fn prior(&self, trend: Trend) -> f64 {
        let [falling, other, several] = match self {
            Self::Formula => [1.0, 0.7, 2.0],
            Self::Curve { .. } => [0.3, 1.0, 1.0],
            Self::Local { reach, .. } if *reach < 0.5 => [0.3, 2.5, 1.0],
            Self::Local { .. } => [0.5, 0.5, 1.0],
            Self::Sum { with_logs: false, .. } => [2.0, 0.2, 1.0],
            Self::Sum { with_logs: true, .. } => [1.5, 1.5, 1.0],
            Self::Divided { .. } => [4.0, 0.1, 1.0],
            Self::Ideal { .. } => [0.5, 0.1, 1.0],
        };
        match trend {
            Trend::Falling => falling,
            Trend::Other => other,
            Trend::Several => several,
        }
    }

    pub(crate) fn fault(&self, n_parameters: usize) -> bool {
        match self {
            Self::Formula => false,
            Self::Sum { formula, .. } => {
                let mut factors = formula.terms.iter().flat_map(|part| &part.term.factors);
                factors.any(|factor| n_parameters <= factor.parameter_idx)
            }
            Self::Curve { center, coefficients } => {
                center.len() != n_parameters || coefficients.len() != n_features(n_parameters)
            }
            Self::Local { slopes, reach, ridge } => {
                slopes.len() != n_parameters || *reach <= 0.0 || *ridge < 0.0
            }
            Self::Ideal { slopes } => slopes.len() != n_parameters,
            Self::Divided { .. } => n_parameters != 1,
        }
    }

    /// Fits the form to the points observed, those that are used among all; `None` where they do not determine it.
    pub(crate) fn fitted(
        &self,
        observed: &Observed,
        columns: &Columns<'_>,
        is_used: Option<&[bool]>,
    ) -> Option<Self> {
        match self {
            Self::Formula | Self::Local { .. } | Self::Ideal { .. } => Some(self.clone()),
            Self::Sum { with_logs, .. } => columns.sum(*with_logs, is_used),
            Self::Curve { .. } => curve(observed),
            Self::Divided { .. } => divided(observed),
        }
    }

    /// Returns the mean squared error at single points: held out in turn where the form only looks at its neighbors, and
    /// otherwise larger by what the form's freedoms have absorbed.
    pub(crate) fn single_square(&self, observed: &Observed, points: &[Vec<f64>]) -> f64 {
        let n = points.len();
        let error = |said: Option<f64>, idx: usize| {
            said.map_or(ERROR_MAX, |said| said - observed.values[idx])
        };
        let at = |idx: usize| &observed.logs[idx];
        let n_freedoms = match self {
            Self::Local { .. } | Self::Ideal { .. } => {
                return mean_square((0..n).map(|idx| {
                    let is_used: Vec<bool> = (0..n).map(|other| other != idx).collect();
                    let others = observed.only(&is_used);
                    error(self.ln_value(&others, &points[idx], at(idx), None), idx)
                }));
            }
            Self::Sum { formula, .. } => formula.terms.len(),
            Self::Curve { coefficients, .. } => coefficients.len(),
            Self::Divided { .. } => 2,
            Self::Formula => 0,
        };
        let square = mean_square(
            (0..n).map(|idx| error(self.ln_value(observed, &points[idx], at(idx), None), idx)),
        );
        let n_free = n.saturating_sub(n_freedoms).max(1);
        square * (n as f64 / n_free as f64).powi(2)
    }

    /// Returns the logarithm of the form's value at a point, given also as logarithms.
    pub(crate) fn ln_value(
        &self,
        observed: &Observed,
        at: &[f64],
        asked: &[f64],
        formula: Option<f64>,
    ) -> Option<f64> {
        let value = match self {
            Self::Formula => formula?,
            Self::Sum { formula, .. } => formula.value(at).ln(),
            Self::Curve { center, coefficients } => {
                let far: Vec<f64> = asked.iter().zip(center).map(|(x, top)| x - top).collect();
                dot(&features(&far), coefficients)
            }
            Self::Local { reach, ridge, slopes } => local(observed, asked, *reach, *ridge, slopes)?,
            Self::Divided { top, parts } => {
                let far = asked.first()? - top;
                parts.iter().map(|part| part.weight * (part.ln_scale + part.shape(far))).sum()
            }
            Self::Ideal { slopes } => ideal(observed, asked, slopes)?,
        };
        value.is_finite().then_some(value)
    }
}

impl Form {
    pub(crate) fn fault(&self, n_parameters: usize) -> bool {
        self.misses.len() != n_parameters
            || self.prior <= 0.0
            || !self
                .misses
                .iter()
                .chain([&self.single_miss, &self.prior])
                .all(|miss| miss.is_finite())
            || self.kind.fault(n_parameters)
    }
}

impl DividedPart {
    /// Returns the logarithm of the form without its scale, at a distance from the largest number of processes.
    fn shape(&self, far: f64) -> f64 {
        let rest = if 0.0 < self.share { self.share * (self.power * far).exp() } else { 0.0 };
        (1.0 - self.share).mul_add((-far).exp(), rest).ln()
    }
}

impl Columns<'_> {
    /// Returns the sum of usual terms without negative coefficients that has the smallest relative error.
    fn sum(&self, with_logs: bool, is_used: Option<&[bool]>) -> Option<FormKind> {
        let RegionProblem { design, columns, target, lengths, .. } = self.problem;
        let chosen: Vec<usize> = (0..design.choices.len())
            .filter(|term| self.is_plain(design, *term, with_logs))
            .take(N_COLUMNS_MAX + 1)
            .collect();
        if N_COLUMNS_MAX < chosen.len() {
            return None;
        }
        let kept = |numbers: &[f64]| -> Vec<f64> {
            let Some(used) = is_used else { return numbers.to_vec() };
            numbers.iter().zip(used).filter(|(_, used)| **used).map(|(x, _)| *x).collect()
        };
        let rows: Vec<Vec<f64>> = chosen.iter().map(|term| kept(&columns[*term])).collect();
        let coefficients = non_negative::solve(&rows, &kept(target));
        let terms = chosen.iter().zip(coefficients).filter(|(_, c)| 0.0 < *c);
        let terms = terms.map(|(term, c)| Weighted {
            coefficient: c / lengths[*term],
            term: design.choices[*term].term.clone(),
        });
        let formula = Formula { terms: terms.collect() };
        (!formula.terms.is_empty()).then_some(FormKind::Sum { formula, with_logs })
    }

    fn is_plain(&self, design: &Design, term: usize, with_logs: bool) -> bool {
        let choice = &design.choices[term];
        let is_plain = |factor: &Factor| match self.roles[factor.parameter_idx] {
            ParameterRole::Size => true,
            ParameterRole::Processes => factor.power == -1.0 || (with_logs && factor.power == 0.0),
            ParameterRole::Any => factor.power != 2.0 && (with_logs || factor.log_power == 0),
        };
        let is_positive = design.columns[term].iter().all(|value| 0.0 <= *value);
        choice.oddity == 0.0 && is_positive && choice.term.factors.iter().all(is_plain)
    }
}

/// Exponents that are usual, to begin with.
const fn usual_slope(role: ParameterRole) -> f64 {
    match role {
        ParameterRole::Processes => -0.8,
        ParameterRole::Size => 1.5,
        ParameterRole::Any => 0.0,
    }
}

/// Exponents of ideal scaling.
const fn ideal_slope(role: ParameterRole) -> f64 {
    match role {
        ParameterRole::Processes => -1.0,
        ParameterRole::Size => 1.0,
        ParameterRole::Any => 0.0,
    }
}

const fn n_features(n_parameters: usize) -> usize {
    let n_mixed =
        if n_parameters <= N_MIXED_MAX { n_parameters * (n_parameters - 1) / 2 } else { 0 };
    1 + 2 * n_parameters + n_mixed
}

fn features(far: &[f64]) -> Vec<f64> {
    let mut features = vec![1.0];
    features.extend(far);
    features.extend(far.iter().map(|x| x * x));
    if far.len() <= N_MIXED_MAX {
        let pairs =
            far.iter().enumerate().flat_map(|(idx, x)| far[..idx].iter().map(move |y| x * y));
        features.extend(pairs);
    }
    features
}

fn curve(observed: &Observed) -> Option<FormKind> {
    let center: Vec<f64> = observed.ranges.iter().map(|range| range.high).collect();
    let far = |at: &Vec<f64>| -> Vec<f64> { at.iter().zip(&center).map(|(x, c)| x - c).collect() };
    let rows: Vec<Vec<f64>> = observed.logs.iter().map(|at| features(&far(at))).collect();
    let n = n_features(center.len());
    let ridge = |idx: usize| match idx {
        0 => 0.0,
        slope if slope <= center.len() => RIDGE_NONE,
        _ => RIDGE_CURVATURE,
    };
    let coefficients = least_squares(&rows, &observed.values, None, &|idx| (ridge(idx), 0.0), n)?;
    Some(FormKind::Curve { center, coefficients })
}

fn local(
    observed: &Observed,
    asked: &[f64],
    reach: f64,
    ridge: f64,
    slopes: &[f64],
) -> Option<f64> {
    let distance = |at: &Vec<f64>| -> f64 {
        at.iter().zip(asked).map(|(x, q)| (x - q).powi(2)).sum::<f64>().sqrt()
    };
    let distances: Vec<f64> = observed.logs.iter().map(distance).collect();
    let nearest = distances.iter().copied().fold(f64::INFINITY, f64::min);
    let weights: Vec<f64> = distances.iter().map(|far| (-(far - nearest) / reach).exp()).collect();
    let row = |at: &Vec<f64>| -> Vec<f64> {
        [1.0].into_iter().chain(at.iter().zip(asked).map(|(x, q)| x - q)).collect()
    };
    let rows: Vec<Vec<f64>> = observed.logs.iter().map(row).collect();
    let held = |idx: usize| match idx {
        0 => (0.0, 0.0),
        _ => (ridge, slopes[idx - 1]),
    };
    let solution = least_squares(&rows, &observed.values, Some(&weights), &held, 1 + asked.len());
    solution.map(|solution| solution[0])
}

fn ideal(observed: &Observed, asked: &[f64], slopes: &[f64]) -> Option<f64> {
    let distance =
        |at: &[f64]| -> f64 { at.iter().zip(asked).map(|(x, q)| (x - q).abs()).sum::<f64>() };
    let points = observed.logs.iter().zip(&observed.values);
    let (at, value) = points.min_by(|a, b| distance(a.0).total_cmp(&distance(b.0)))?;
    let grown = at.iter().zip(asked).zip(slopes).map(|((x, q), slope)| slope * (q - x));
    Some(value + grown.sum::<f64>())
}

/// Fits every possible rest and weighs it by its likelihood; points off the line count less.
fn divided(observed: &Observed) -> Option<FormKind> {
    let top = observed.ranges.first()?.high;
    let mut parts = Vec::new();
    for power in GROWTHS {
        for share in SHARES {
            if share == 0.0 && power != 0.0 {
                continue;
            }
            let part = DividedPart { power, share, ln_scale: 0.0, weight: 0.0 };
            let scales = observed.logs.iter().zip(&observed.values);
            let scales: Vec<f64> =
                scales.map(|(at, value)| value - part.shape(at[0] - top)).collect();
            let (ln_scale, squares) = center(&scales);
            let n = scales.len() as f64;
            let squares = DIVIDED_POINTS.mul_add(DIVIDED_NOISE * DIVIDED_NOISE, squares);
            let weight = -0.5 * (n + DIVIDED_POINTS) * squares.ln() - SHARE_COST * share;
            parts.push(DividedPart { ln_scale, weight, ..part });
        }
    }
    let best = parts.iter().map(|part| part.weight).fold(f64::NEG_INFINITY, f64::max);
    parts.iter_mut().for_each(|part| part.weight = (part.weight - best).exp());
    parts.retain(|part| 1e-3 < part.weight);
    let sum: f64 = parts.iter().map(|part| part.weight).sum();
    parts.iter_mut().for_each(|part| part.weight /= sum);
    Some(FormKind::Divided { top, parts })
}

/// Returns the center of numbers of which some may be far off, and the sum of squares around it.
fn center(numbers: &[f64]) -> (f64, f64) {
    const N_ROUNDS: usize = 3;
    let mut weights = vec![1.0; numbers.len()];
    let (mut center, mut scale) = (0.0, DIVIDED_NOISE);
    for _ in 0..=N_ROUNDS {
        center = dot(&weights, numbers) / weights.iter().sum::<f64>();
        let off = median(numbers.iter().map(|x| (x - center).abs())).unwrap_or(0.0);
        scale = DIVIDED_NOISE.max(1.5 * off);
        weights =
            numbers.iter().map(|x| 1.0 / (1.0 + ((x - center) / (2.0 * scale)).powi(2))).collect();
    }
    let squares = numbers.iter().map(|x| (x - center).abs().min(3.0 * scale).powi(2)).sum();
    (center, squares)
}

/// Returns the solution of weighted least squares; `held` gives the ridge of each unknown and where it is held.
fn least_squares(
    rows: &[Vec<f64>],
    values: &[f64],
    weights: Option<&[f64]>,
    held: &dyn Fn(usize) -> (f64, f64),
    n: usize,
) -> Option<Vec<f64>> {
    let (mut gram, mut right) = (vec![0.0; n * n], vec![0.0; n]);
    for (idx, (row, value)) in rows.iter().zip(values).enumerate() {
        let weight = weights.map_or(1.0, |weights| weights[idx]);
        for i in 0..n {
            let x = weight * row[i];
            right[i] += x * value;
            gram[i * n..i * n + i + 1].iter_mut().zip(row).for_each(|(g, y)| *g += x * y);
        }
    }
    for idx in 0..n {
        let (ridge, center) = held(idx);
        gram[idx * n + idx] += ridge;
        right[idx] += ridge * center;
    }
    non_negative::solve_symmetric(&mut gram, &mut right, n).then_some(right)
}
