//! Evaluates a model at a point, inside one of its pieces or between two.
//!
//! Between the last size of one piece and the first of the next nothing was measured, and the program may change
//! anywhere there. The prediction interpolates from the first piece's value at its last size to the second piece's value at
//! its first size and never leaves that range; the interval is wider the further the two values are apart.
//!
//! # Invariants
//! - The value has no jump where a piece ends.
//! - Value and interval are finite, or there is an error that names the parameter.

use super::deviations::{deviations, student_deviations};
use crate::ensemble::{Average, Opinion};
use crate::model::{FittedModel, ModelError, Piece, Prediction, Warning};

/// Uncertainty, as a share, that each doubling beyond the measured values of a parameter with few values adds.
///
/// Formulas that would fit as well differ more than draws from the best few of them show.
const APART_PER_DOUBLING: f64 = 0.03;
/// A prediction is at least this share of the smallest measured value.
const FLOOR_SHARE: f64 = 1e-3;
/// Relative deviation of draws above which their own range is the interval: no normal distribution is that wide.
const DEVIATION_WIDE: f64 = 1.0;
/// Largest spread of an interval, in natural logarithms: nothing is known by then.
const SPREAD_MAX: f64 = 46.0;
/// Number of draws of an average.
const N_DRAWS: u16 = 24;

/// A predicted value and its uncertainty.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct PointEstimate {
    /// Most likely value.
    pub(crate) value: f64,
    /// Values of the draws.
    pub(crate) drawn: Vec<f64>,
    /// Standard deviation of a single measurement.
    pub(crate) noise: f64,
    /// Whether the uncertainty is that of an average of forms: deviations of logarithms, with the tails of Student's
    /// distribution.
    pub(crate) is_average: bool,
}

/// Position of a point relative to the pieces.
enum PiecePosition<'a> {
    In(&'a Piece),
    Between(Gap<'a>),
}

/// Two neighboring pieces, and the sizes between which nothing was measured.
struct Gap<'a> {
    split_idx: usize,
    left: &'a Piece,
    right: &'a Piece,
    low: f64,
    high: f64,
}

impl FittedModel {
    /// Predicts the value at a point, given in the order of the model's parameters.
    ///
    /// # Errors
    /// When the formula cannot be evaluated there.
    pub fn value_at(&self, at: &[f64]) -> Result<Prediction, ModelError> {
        let point_estimate = self.point_estimate(at)?;
        let said = point_estimate.prediction(self.rate, self.smallest.is_some());
        said.ok_or_else(|| self.too_large(at))
    }

    /// Evaluates the model at a point, with its uncertainty.
    pub(crate) fn point_estimate(&self, at: &[f64]) -> Result<PointEstimate, ModelError> {
        let measured = self.as_measured(at)?;
        Ok(measured.scaled(self.known.scale.unwrap_or(1.0)))
    }

    /// Evaluates the model as it was fitted, without a factor that was asked for.
    pub(crate) fn as_measured(&self, at: &[f64]) -> Result<PointEstimate, ModelError> {
        let formula = self.of_formula(at)?;
        let Some(ensemble) = &self.ensemble else { return Ok(formula) };
        let value = (!self.is_raised(at)).then_some(formula.value);
        let is_between = matches!(self.place(at), Some(PiecePosition::Between(_)));
        let unsure = if is_between { formula.noise_share() } else { 0.0 };
        Ok(match ensemble.average(at, value, unsure) {
            Some(average) if average.ln_value.exp().is_finite() => PointEstimate::of(&average),
            _ => formula,
        })
    }

    /// Returns what each form says at a point, the weightiest first; nothing where the formula stands alone.
    pub fn opinions(&self, at: &[f64]) -> Vec<Opinion> {
        let Some(ensemble) = &self.ensemble else { return Vec::new() };
        let formula = self.of_formula(at).ok().filter(|_| !self.is_raised(at));
        let mut opinions = ensemble.opinions(at, formula.map(|formula| formula.value));
        opinions.iter_mut().for_each(|it| it.value *= self.known.scale.unwrap_or(1.0));
        opinions
    }

    /// Evaluates the formula and its draws at a point.
    fn of_formula(&self, at: &[f64]) -> Result<PointEstimate, ModelError> {
        match self.place(at).ok_or_else(|| self.too_large(at))? {
            PiecePosition::In(piece) => self.of_piece(piece, at),
            PiecePosition::Between(gap) => self.of_gap(&gap, at),
        }
    }

    /// Returns whether the formula's value is so small or negative that the floor is used instead.
    pub(crate) fn is_raised(&self, at: &[f64]) -> bool {
        let Some(smallest) = self.smallest else { return false };
        let is_raised =
            |piece: &Piece, at: &[f64]| piece.formula.value(at) < FLOOR_SHARE * smallest;
        match self.place(at) {
            Some(PiecePosition::In(piece)) => is_raised(piece, at),
            Some(PiecePosition::Between(gap)) => {
                is_raised(gap.left, &gap.at(at, gap.low))
                    || is_raised(gap.right, &gap.at(at, gap.high))
            }
            None => false,
        }
    }

    fn place(&self, at: &[f64]) -> Option<PiecePosition<'_>> {
        let split = self.split_idx.and_then(|idx| Some((idx, *at.get(idx)?)));
        let Some((split_idx, x)) = split else { return self.pieces.first().map(PiecePosition::In) };
        for pair in self.pieces.windows(2) {
            let Some((low, high)) = gap(&pair[0], &pair[1]) else { continue };
            if x <= low {
                return Some(PiecePosition::In(&pair[0]));
            }
            if x < high {
                let (left, right) = (&pair[0], &pair[1]);
                return Some(PiecePosition::Between(Gap { split_idx, left, right, low, high }));
            }
        }
        self.pieces.last().map(PiecePosition::In)
    }

    fn of_piece(&self, piece: &Piece, at: &[f64]) -> Result<PointEstimate, ModelError> {
        let raw = piece.formula.value(at);
        let drawn = piece.drawn(at);
        if !raw.is_finite() || drawn.iter().any(|drawn| !drawn.is_finite()) {
            return Err(self.no_value(piece, at));
        }
        let value = self.kept_positive(raw);
        let drawn = drawn.into_iter().map(|drawn| self.kept_positive(drawn)).collect();
        let noise = piece.noise.hypot(APART_PER_DOUBLING * self.doublings_unseen(at));
        Ok(PointEstimate { value, drawn, noise: noise * value.abs(), is_average: false })
    }

    fn of_gap(&self, gap: &Gap<'_>, at: &[f64]) -> Result<PointEstimate, ModelError> {
        let left_end = self.of_piece(gap.left, &gap.at(at, gap.low))?;
        let right_end = self.of_piece(gap.right, &gap.at(at, gap.high))?;
        let (least, most) =
            (left_end.value.min(right_end.value), left_end.value.max(right_end.value));
        // Extrapolated into the gap, neither piece may leave the range of the two values at its ends.
        let here = |piece: &Piece, end: &PointEstimate| {
            let value = piece.formula.value(at);
            if value.is_finite() { value.clamp(least, most) } else { end.value }
        };
        let (left, right) = (here(gap.left, &left_end), here(gap.right, &right_end));
        let share = gap.share(at);
        let value = mixed(left, right, share);
        let [from_left, from_right] = [&left_end, &right_end].map(PointEstimate::factors);
        let n_draws = from_left.len().max(from_right.len());
        let factor = |factors: &[f64], idx: usize| factors.get(idx).copied().unwrap_or(1.0);
        let drawn = (0..n_draws)
            .map(|idx| {
                let (left, right) = (factor(&from_left, idx), factor(&from_right, idx));
                value * (right - left).mul_add(share, left)
            })
            .collect();
        let apart = apart(left, right);
        let of_piece = left_end.noise_share().max(right_end.noise_share());
        let noise = of_piece.hypot(apart) * value.abs();
        Ok(PointEstimate { value, drawn, noise, is_average: false })
    }

    /// Returns how often parameters are doubled or halved beyond their measured range, summed over those with too few
    /// values to distinguish formulas.
    fn doublings_unseen(&self, at: &[f64]) -> f64 {
        let few = self.warnings.iter().filter_map(|warning| match warning {
            Warning::TooFewValues { parameter, .. } => {
                self.parameters.iter().position(|name| name == parameter)
            }
            _ => None,
        });
        let beyond = few.filter_map(|idx| {
            let (range, x) = (self.ranges.get(idx)?, at.get(idx)?);
            let factor = if *x < range.low { range.low / x } else { x / range.high };
            Some(factor.log2().max(0.0)).filter(|doublings| doublings.is_finite())
        });
        beyond.sum()
    }

    fn kept_positive(&self, value: f64) -> f64 {
        match self.smallest {
            Some(smallest) if value < FLOOR_SHARE * smallest => FLOOR_SHARE * smallest,
            _ => value,
        }
    }

    /// Returns the error for a formula without a value; it names the parameter whose logarithm or power is undefined.
    fn no_value(&self, piece: &Piece, at: &[f64]) -> ModelError {
        let own = piece.formula.terms.iter().map(|part| &part.term);
        let factors = own.chain(piece.alternatives.iter().flatten()).flat_map(|term| &term.factors);
        let outside = factors.filter_map(|factor| {
            let value = at.get(factor.parameter_idx)?;
            // A negative value is allowed where it is only squared; overflow at a large value is not the parameter's fault.
            let is_usual = 0.0 < *value && value.is_finite();
            let is_wrong = !is_usual && !factor.value(*value).is_finite();
            Some((self.parameters.get(factor.parameter_idx).filter(|_| is_wrong)?, value))
        });
        match outside.into_iter().next() {
            Some((parameter, value)) => ModelError::OutsideDomain {
                parameter: parameter.clone(),
                value: *value,
                region: self.region.clone(),
            },
            None => self.too_large(at),
        }
    }

    fn too_large(&self, at: &[f64]) -> ModelError {
        let values = self.parameters.iter().map(String::as_str).zip(at.iter().copied());
        ModelError::TooLarge { region: self.region.clone(), at: in_words(values) }
    }
}

impl Gap<'_> {
    /// Returns the point moved to an end of the gap.
    fn at(&self, at: &[f64], end: f64) -> Vec<f64> {
        let mut moved = at.to_vec();
        moved[self.split_idx] = end;
        moved
    }

    /// Returns the relative position of the point in the gap, from 0 to 1, on a logarithmic scale.
    fn share(&self, at: &[f64]) -> f64 {
        let x = at[self.split_idx];
        let share = if 0.0 < self.low {
            (x / self.low).ln() / (self.high / self.low).ln()
        } else {
            (x - self.low) / (self.high - self.low)
        };
        if share.is_finite() { share.clamp(0.0, 1.0) } else { 0.5 }
    }
}

/// Formats named values: `n = 100, p = 1e300`.
pub(crate) fn in_words<'a>(values: impl Iterator<Item = (&'a str, f64)>) -> String {
    let one = |(name, value): (&str, f64)| match value.abs() {
        0.0 | 1e-4..1e15 => format!("{name} = {value}"),
        _ => format!("{name} = {value:e}"),
    };
    values.map(one).collect::<Vec<_>>().join(", ")
}

/// Interpolates between two values, geometrically where both are positive.
fn mixed(left: f64, right: f64, share: f64) -> f64 {
    if 0.0 < left && 0.0 < right {
        (left.ln() + share * (right.ln() - left.ln())).exp()
    } else {
        (right - left).mul_add(share, left)
    }
}

/// Returns half of the relative distance between two values.
fn apart(left: f64, right: f64) -> f64 {
    if 0.0 < left && 0.0 < right {
        (right / left).ln().abs() / 2.0
    } else {
        let size = left.abs().max(right.abs());
        if size == 0.0 { 0.0 } else { (right - left).abs() / size / 2.0 }
    }
}

/// Returns the last measured value of one piece and the first of the next.
pub(crate) fn gap(left: &Piece, right: &Piece) -> Option<(f64, f64)> {
    left.range.zip(right.range).map(|(left, right)| (left.high, right.low))
}

impl Piece {
    /// Returns the value of each draw at a point.
    fn drawn(&self, at: &[f64]) -> Vec<f64> {
        let terms: Vec<Vec<f64>> = self
            .alternatives
            .iter()
            .map(|terms| terms.iter().map(|term| term.value(at)).collect())
            .collect();
        let drawn = self.draws.iter().filter_map(|draw| {
            let values = terms.get(draw.alternative_idx)?;
            Some(values.iter().zip(&draw.coefficients).map(|(x, c)| x * c).sum())
        });
        drawn.collect()
    }
}

impl PointEstimate {
    /// Creates the estimate of an average, with draws at even shares of a normal distribution.
    fn of(average: &Average) -> Self {
        let value = average.ln_value.exp();
        let drawn = (0..N_DRAWS).map(|idx| {
            let share = (f64::from(idx) + 0.5) / f64::from(N_DRAWS);
            let side = if share < 0.5 { -1.0 } else { 1.0 };
            let deviations = side * deviations((2.0 * share - 1.0).abs());
            value * (average.deviation.min(SPREAD_MAX / 4.0) * deviations).exp()
        });
        Self { value, drawn: drawn.collect(), noise: average.noise * value, is_average: true }
    }

    /// Returns the value with the interval that contains the share `rate` of measurements; `None` where a number
    /// overflows.
    pub(crate) fn prediction(&self, rate: f64, is_positive: bool) -> Option<Prediction> {
        let value = self.value;
        let reach = if self.is_average { student_deviations(rate) } else { deviations(rate) };
        let noise = reach * self.noise_share();
        let deviation = self.deviation();
        let (low, high) = if is_positive && !self.is_average && DEVIATION_WIDE < deviation {
            let least = self.drawn.iter().copied().fold(value, f64::min);
            let most = self.drawn.iter().copied().fold(value, f64::max);
            (least * (-noise).exp(), most * noise.exp())
        } else {
            let spread = noise.hypot(reach * deviation).min(SPREAD_MAX);
            if is_positive {
                (value * (-spread).exp(), value * spread.exp())
            } else {
                (value - spread * value.abs(), value + spread * value.abs())
            }
        };
        let is_finite = [low, value, high].into_iter().all(f64::is_finite);
        is_finite.then_some(Prediction { value, low, high })
    }

    /// Returns the estimate of this many times the value.
    pub(crate) fn scaled(mut self, factor: f64) -> Self {
        self.drawn.iter_mut().for_each(|drawn| *drawn *= factor);
        Self { value: self.value * factor, noise: self.noise * factor, ..self }
    }

    /// Returns the geometric mean with another estimate of the same; `share` is the weight of this one.
    ///
    /// Both may err alike: the interval is the weighted mean of their intervals, not a shorter one. An estimate
    /// that is not an average of forms stays as it is.
    pub(crate) fn mean_with(self, other: Self, share: f64) -> Self {
        let is_possible = |it: &Self| {
            let is_positive = 0.0 < it.value && it.value.is_finite();
            it.is_average && is_positive && it.drawn.len() == self.drawn.len()
        };
        if !is_possible(&self) || !is_possible(&other) {
            return self;
        }
        let [own, others] = [&self, &other].map(|it| {
            let mut factors = it.factors();
            factors.sort_unstable_by(f64::total_cmp);
            factors
        });
        let value = mixed(other.value, self.value, share);
        let factor = |(own, other): (&f64, &f64)| mixed(*other, *own, share);
        let noise = (self.noise_share() - other.noise_share()).mul_add(share, other.noise_share());
        Self {
            value,
            drawn: own.iter().zip(&others).map(|both| value * factor(both)).collect(),
            noise: value * noise,
            is_average: true,
        }
    }

    /// Returns the relative standard deviation of the draws from the value.
    pub(crate) fn deviation(&self) -> f64 {
        if self.drawn.is_empty() || self.value == 0.0 {
            return 0.0;
        }
        let off = |drawn: &f64| {
            let ratio = drawn / self.value;
            if self.is_average && 0.0 < ratio { ratio.ln() } else { ratio - 1.0 }
        };
        let squares = self.drawn.iter().map(|drawn| off(drawn).powi(2));
        (squares.sum::<f64>() / self.drawn.len() as f64).sqrt()
    }

    /// Returns the noise relative to the value.
    fn noise_share(&self) -> f64 {
        if self.value == 0.0 { self.noise } else { self.noise / self.value.abs() }
    }

    /// Returns the draws relative to the value.
    fn factors(&self) -> Vec<f64> {
        let factor = |drawn: &f64| if self.value == 0.0 { 1.0 } else { drawn / self.value };
        self.drawn.iter().map(factor).collect()
    }
}
