//! A fitted model: formulas of the parameters, how far they may be wrong, and where they were measured.
//!
//! A model is a file ([`FittedModel::to_json`]) that a running program can evaluate. Its interval is
//! made of two parts: draws, which are fits of the measurements as they might have come out, some with
//! other terms that did nearly as well; and the noise of a single measurement.
//!
//! # Invariants
//! - `low <= value <= high`; all three are positive where all measurements were.
//! - What was written is read back equal.
//!
//! # Not here
//! How models are found (`fit`).

use crate::{
    term::{Formula, Term},
    warning::{Cache, Warning},
};
use serde::{Deserialize, Serialize};

/// Number of the file format.
pub const FORMAT: u32 = 1;
/// How far curves through few values of a parameter come apart, as a share, for each doubling beyond what was measured.
///
/// The formulas that would do as well differ more than draws from the best few of them show.
const APART_PER_DOUBLING: f64 = 0.03;
/// A prediction is at least this share of the smallest measured value.
const FLOOR_SHARE: f64 = 1e-3;

/// A model of one region.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct FittedModel {
    /// Number of the file format.
    pub format: u32,
    /// The region.
    pub region: String,
    /// What was measured.
    pub metric: String,
    /// Names of the parameters.
    pub parameters: Vec<String>,
    /// The model as text, for readers.
    pub text: String,
    /// Between which values each parameter was measured.
    pub ranges: Vec<Range>,
    /// The parameter whose value says which piece holds, where there are several.
    #[serde(default)]
    pub split_idx: Option<usize>,
    /// The pieces, by rising values of that parameter.
    pub pieces: Vec<Piece>,
    /// Share of measurements that the interval is meant to hold.
    pub rate: f64,
    /// The smallest measured value, where all are positive.
    #[serde(default)]
    pub smallest: Option<f64>,
    /// Mean relative error at the largest values of the parameters, kept back.
    pub held_out_error: f64,
    /// Repetitions measured.
    pub n_samples: usize,
    /// Repetitions left out.
    pub n_dropped: usize,
    /// Sizes at which memory becomes slower.
    #[serde(default)]
    pub caches: Vec<Cache>,
    /// What a user of the model should know.
    pub warnings: Vec<Warning>,
}

/// Smallest and largest measured value of a parameter.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Range {
    /// The smallest.
    pub low: f64,
    /// The largest.
    pub high: f64,
}

/// A formula that holds for some values of one parameter.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Piece {
    /// Where the piece was measured, in the parameter that splits the model, if one does.
    #[serde(default)]
    pub range: Option<Range>,
    /// The formula.
    pub formula: Formula,
    /// Terms of this formula and of others that did nearly as well.
    pub alternatives: Vec<Vec<Term>>,
    /// Fits of the measurements as they might have come out.
    pub draws: Vec<Draw>,
    /// Deviation of a single measurement from the formula, as a share.
    pub noise: f64,
}

/// One fit of the measurements as they might have come out.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Draw {
    /// Position of its terms in the alternatives.
    pub alternative_idx: usize,
    /// Their coefficients.
    pub coefficients: Vec<f64>,
}

/// What a model says about one point.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Prediction {
    /// The most likely value.
    pub value: f64,
    /// Lower end of the interval.
    pub low: f64,
    /// Upper end of the interval.
    pub high: f64,
}

/// A model cannot be evaluated or read.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ModelError {
    /// A parameter has no value.
    #[error("parameter `{parameter}` has no value: the model of `{region}` needs it")]
    Missing {
        /// The parameter.
        parameter: String,
        /// The region.
        region: String,
    },
    /// The formula has no value there.
    #[error("the model of `{region}` has no value at {at:?}: give positive numbers")]
    NoValue {
        /// The region.
        region: String,
        /// The parameters, in the model's order.
        at: Vec<f64>,
    },
    /// The file is no model.
    #[error("this is no model: write it again with `sintonia fit`")]
    Malformed {
        /// Where and why.
        source: serde_json::Error,
    },
    /// The file was written by a later version.
    #[error("the model has format {format}, and {FORMAT} is the newest known: use a later version")]
    Unknown {
        /// Its number.
        format: u32,
    },
}

impl FittedModel {
    /// What the model says where the parameters, by name, have these values.
    ///
    /// # Errors
    /// When a parameter is missing, or the formula has no value there.
    pub fn value(&self, parameters: &[(&str, f64)]) -> Result<Prediction, ModelError> {
        self.value_at(&self.point(parameters)?)
    }

    /// The values of named parameters in the model's order; further names do no harm.
    ///
    /// # Errors
    /// When one is missing.
    pub fn point(&self, parameters: &[(&str, f64)]) -> Result<Vec<f64>, ModelError> {
        let value_of = |name: &String| {
            let found = parameters.iter().find(|(other, _)| other == name);
            found.map(|(_, value)| *value).ok_or_else(|| ModelError::Missing {
                parameter: name.clone(),
                region: self.region.clone(),
            })
        };
        self.parameters.iter().map(value_of).collect()
    }

    /// What the model says at a point, given in the order of its parameters.
    ///
    /// # Errors
    /// When the formula has no value there.
    pub fn value_at(&self, at: &[f64]) -> Result<Prediction, ModelError> {
        let outlook = self.outlook(at)?;
        Ok(outlook.prediction(self.rate, self.smallest.is_some()))
    }

    /// What the model says at a point, and what fits of the measurements as they might have come out say.
    pub(crate) fn outlook(&self, at: &[f64]) -> Result<Outlook, ModelError> {
        let no_value = || ModelError::NoValue { region: self.region.clone(), at: at.to_vec() };
        let piece = self.piece_at(at).ok_or_else(no_value)?;
        let value = self.kept_positive(piece.formula.value(at));
        if !value.is_finite() {
            return Err(no_value());
        }
        let drawn = piece.drawn(at).into_iter().map(|drawn| self.kept_positive(drawn)).collect();
        let noise = piece.noise.hypot(APART_PER_DOUBLING * self.doublings_unseen(at));
        Ok(Outlook { value, drawn, noise: noise * value.abs() })
    }

    /// How many times parameters are doubled, or halved, beyond what was measured, of those with too few values to tell
    /// curves apart.
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

    fn piece_at(&self, at: &[f64]) -> Option<&Piece> {
        let Some(x) = self.split_idx.and_then(|idx| at.get(idx)) else {
            return self.pieces.first();
        };
        let mut ends = self.pieces.windows(2).map(|pair| between(&pair[0], &pair[1]));
        let idx = ends.position(|end| *x <= end);
        idx.map_or_else(|| self.pieces.last(), |idx| self.pieces.get(idx))
    }

    /// Values of the split parameter at which one piece ends and the next begins.
    pub fn breakpoints(&self) -> Vec<f64> {
        self.pieces.windows(2).map(|pair| between(&pair[0], &pair[1])).collect()
    }

    /// What a user of a prediction at this point should know, beside [`Self::warnings`].
    pub fn warnings_at(&self, at: &[f64]) -> Vec<Warning> {
        let mut warnings = Vec::new();
        for ((name, range), value) in self.parameters.iter().zip(&self.ranges).zip(at) {
            if *value < range.low || range.high < *value {
                let (parameter, Range { low, high }) = (name.clone(), *range);
                warnings.push(Warning::Extrapolated { parameter, value: *value, low, high });
            }
        }
        let crossed = self.caches.iter().filter(|cache| cache.is_crossed(self, at));
        warnings.extend(crossed.map(|cache| Warning::CrossesCache { cache: cache.clone() }));
        if let Some((name, x)) = self.split_idx.and_then(|i| self.parameters.get(i).zip(at.get(i)))
        {
            let gaps = self.pieces.windows(2).filter_map(|pair| gap(&pair[0], &pair[1]));
            let inside = gaps.filter(|(low, high)| low < x && x < high);
            warnings.extend(inside.map(|(low, high)| Warning::BetweenPieces {
                parameter: name.clone(),
                low,
                high,
            }));
        }
        if let Some((smallest, piece)) = self.smallest.zip(self.piece_at(at))
            && piece.formula.value(at) < FLOOR_SHARE * smallest
        {
            warnings.push(Warning::KeptPositive);
        }
        warnings
    }

    /// The model as a file.
    ///
    /// # Errors
    /// When a number is not finite.
    pub fn to_json(&self) -> Result<String, ModelError> {
        serde_json::to_string(self).map_err(|source| ModelError::Malformed { source })
    }

    /// The model in a file.
    ///
    /// # Errors
    /// When it is none, or one of a later format.
    pub fn from_json(text: &str) -> Result<Self, ModelError> {
        let malformed = |source| ModelError::Malformed { source };
        let Header { format } = serde_json::from_str(text).map_err(malformed)?;
        if FORMAT < format {
            return Err(ModelError::Unknown { format });
        }
        serde_json::from_str(text).map_err(malformed)
    }

    /// The formulas as text, one for each piece.
    pub(crate) fn write_text(&self) -> String {
        let name = self.split_idx.and_then(|idx| self.parameters.get(idx));
        let ends = self.breakpoints();
        let (Some(name), false) = (name, ends.is_empty()) else {
            return self
                .pieces
                .first()
                .map_or_else(String::new, |p| p.formula.text(&self.parameters));
        };
        let texts = self.pieces.iter().enumerate().map(|(idx, piece)| {
            let formula = piece.formula.text(&self.parameters);
            match ends.get(idx) {
                Some(end) => format!("{formula} for {name} <= {end:.6}"),
                None => format!("{formula} above"),
            }
        });
        texts.collect::<Vec<_>>().join("; ")
    }
}

#[derive(Deserialize)]
struct Header {
    format: u32,
}

/// The last measured value of one piece and the first of the next.
fn gap(left: &Piece, right: &Piece) -> Option<(f64, f64)> {
    left.range.zip(right.range).map(|(left, right)| (left.high, right.low))
}

/// Sizes differ by factors: the middle of two is their geometric mean.
fn between(left: &Piece, right: &Piece) -> f64 {
    match gap(left, right) {
        Some((low, high)) if 0.0 < low => (low * high).sqrt(),
        Some((low, high)) => f64::midpoint(low, high),
        None => f64::INFINITY,
    }
}

impl Piece {
    /// What each draw says at a point.
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

/// A value, and what else it might be.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Outlook {
    /// The most likely value.
    pub(crate) value: f64,
    /// What draws say.
    pub(crate) drawn: Vec<f64>,
    /// Deviation of a single measurement.
    pub(crate) noise: f64,
}

impl Outlook {
    /// The value with the interval that holds so large a share of measurements.
    pub(crate) fn prediction(&self, rate: f64, is_positive: bool) -> Prediction {
        let Self { value, noise, .. } = *self;
        let noise = if value == 0.0 { noise } else { noise / value.abs() };
        let spread = deviations(rate) * self.deviation().hypot(noise);
        let (low, high) = if is_positive {
            (value * (-spread).exp(), value * spread.exp())
        } else {
            (value - spread * value.abs(), value + spread * value.abs())
        };
        Prediction { value, low, high }
    }

    /// How far draws lie from the value, as a share of it.
    #[expect(clippy::cast_precision_loss, reason = "some dozens of draws")]
    pub(crate) fn deviation(&self) -> f64 {
        if self.drawn.is_empty() || self.value == 0.0 {
            return 0.0;
        }
        let squares = self.drawn.iter().map(|drawn| (drawn / self.value - 1.0).powi(2));
        (squares.sum::<f64>() / self.drawn.len() as f64).sqrt()
    }
}

/// How many deviations to each side hold this share of a normal distribution.
///
/// Abramowitz and Stegun, Handbook of Mathematical Functions, 26.2.23; the error is below 4.5e-4.
pub(crate) fn deviations(rate: f64) -> f64 {
    let tail = ((1.0 - rate) / 2.0).clamp(1e-12, 0.5);
    let t = (-2.0 * tail.ln()).sqrt();
    let above = 0.010_328f64.mul_add(t, 0.802_853).mul_add(t, 2.515_517);
    let below = 0.001_308f64.mul_add(t, 0.189_269).mul_add(t, 1.432_788).mul_add(t, 1.0);
    (t - above / below).max(0.0)
}
