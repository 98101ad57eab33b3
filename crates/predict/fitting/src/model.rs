//! A fitted model: formulas over the parameters, their uncertainty, and the measured ranges.
//!
//! A model lies in a file ([`ModelFile`](crate::ModelFile)) that a running program can evaluate. Its interval combines
//! two parts: bootstrap draws, which are refits of the measurements as they might have come out, some with
//! other terms that did nearly as well; and the noise of a single measurement.
//!
//! # Invariants
//! - `low <= value <= high`; all three are positive where all measurements were.
//! - A written model is read back equal.

mod deviations;
mod point_estimate;
mod warning;

use crate::ensemble::Ensemble;
use crate::placement::Regime;
use crate::term::{Formula, Term};
use serde::{Deserialize, Serialize};

use point_estimate::gap;
pub(crate) use point_estimate::{PointEstimate, in_words};
pub use warning::{Cache, Warning};

/// Name of the region that stands for the whole program.
pub const TOTAL: &str = "total";

/// Version of the file format.
pub const FORMAT: u32 = 2;

/// A model of one region.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct FittedModel {
    /// Version of the file format.
    pub format: u32,
    /// The region.
    pub region: String,
    /// The measured quantity.
    pub metric: String,
    /// Names of the parameters.
    pub parameters: Vec<String>,
    /// The model as text, for readers.
    pub text: String,
    /// Measured range of each parameter.
    pub ranges: Vec<Range>,
    /// Index of the parameter that selects the piece, where there are several.
    #[serde(default)]
    pub split_idx: Option<usize>,
    /// Pieces, by ascending values of that parameter.
    pub pieces: Vec<Piece>,
    /// Forms that the formula is averaged with; without any, the formula stands alone.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ensemble: Option<Ensemble>,
    /// Share of measurements that the interval should contain.
    pub rate: f64,
    /// Smallest measured value, where all are positive.
    #[serde(default)]
    pub smallest: Option<f64>,
    /// Mean relative error at the held-out largest values of the parameters.
    pub held_out_error: f64,
    /// Number of repetitions measured.
    pub n_samples: usize,
    /// Number of repetitions left out.
    pub n_dropped: usize,
    /// What the machine is known to change.
    #[serde(flatten)]
    pub known: KnownChanges,
    /// Reasons to doubt the model.
    pub warnings: Vec<Warning>,
}

/// What the machine is known to change.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct KnownChanges {
    /// Caches whose sizes may change the time.
    #[serde(default)]
    pub caches: Vec<Cache>,
    /// Changes at values of a parameter because of the nodes.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub regimes: Vec<Regime>,
    /// Factor of all values, to see what would be if the region took another time.
    #[serde(skip)]
    pub scale: Option<f64>,
}

/// Smallest and largest measured value.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Range {
    /// Smallest value.
    pub low: f64,
    /// Largest value.
    pub high: f64,
}

/// A formula that holds for a range of one parameter.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Piece {
    /// Measured range of the parameter that splits the model, if one does.
    #[serde(default)]
    pub range: Option<Range>,
    /// The formula.
    pub formula: Formula,
    /// Terms of this formula, then of others that did nearly as well.
    pub alternatives: Vec<Vec<Term>>,
    /// Bootstrap draws: refits of the measurements as they might have come out.
    pub draws: Vec<Draw>,
    /// Standard deviation of a single measurement from the formula, as a share.
    pub noise: f64,
}

/// One refit of the measurements as they might have come out.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Draw {
    /// Index of its terms in [`Piece::alternatives`].
    pub alternative_idx: usize,
    /// Coefficients of these terms.
    pub coefficients: Vec<f64>,
}

/// Prediction of a model at one point.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Prediction {
    /// Most likely value.
    pub value: f64,
    /// Lower end of the interval.
    pub low: f64,
    /// Upper end of the interval.
    pub high: f64,
}

/// Returns the region's name for messages; tables without regions have one with an empty name.
fn named(region: &str) -> &str {
    if region.is_empty() { "(all)" } else { region }
}

/// Reason why a model cannot be evaluated.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ModelError {
    /// A parameter has no value.
    #[error("parameter `{parameter}` has no value: the model of `{}` needs it", named(region))]
    Missing {
        /// The parameter.
        parameter: String,
        /// The region.
        region: String,
    },
    /// A formula is not defined at the point.
    #[error(
        "`{parameter}` = {value} is outside the domain of the model of `{}`: give a number above 0",
        named(region)
    )]
    OutsideDomain {
        /// The parameter.
        parameter: String,
        /// Its value.
        value: f64,
        /// The region.
        region: String,
    },
    /// The formula or its interval overflows at the point.
    #[error(
        "the model of `{}` overflows at {at}: give values closer to the measurements",
        named(region)
    )]
    TooLarge {
        /// The region.
        region: String,
        /// Parameters with their values.
        at: String,
    },
    /// The model's parts are inconsistent.
    #[error(
        "the model of `{}` is damaged: {why}; write it again with `sintonia fit`",
        named(region)
    )]
    Unsound {
        /// The region.
        region: String,
        /// Inconsistency found.
        why: &'static str,
    },
    /// The file was written by a later version.
    #[error("the model has format {0}, and {FORMAT} is the newest known: use a later version")]
    Unknown(u32),
}

impl FittedModel {
    /// Predicts the value at a point, given as named parameters.
    ///
    /// # Errors
    /// When a parameter is missing, or the formula cannot be evaluated there.
    pub fn value(&self, parameters: &[(&str, f64)]) -> Result<Prediction, ModelError> {
        self.value_at(&self.point(parameters)?)
    }

    /// Returns the values of named parameters in the model's order; further names are ignored.
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

    /// Returns the values of the split parameter at which one piece ends and the next begins.
    pub fn breakpoints(&self) -> Vec<f64> {
        self.pieces.windows(2).map(|pair| between(&pair[0], &pair[1])).collect()
    }

    /// Returns reasons to doubt a prediction at this point, in addition to [`Self::warnings`].
    pub fn warnings_at(&self, at: &[f64]) -> Vec<Warning> {
        let mut warnings = Vec::new();
        for ((name, range), value) in self.parameters.iter().zip(&self.ranges).zip(at) {
            if *value < range.low || range.high < *value {
                let (parameter, Range { low, high }) = (name.clone(), *range);
                warnings.push(Warning::Extrapolated { parameter, value: *value, low, high });
            }
        }
        let crossed = self.known.caches.iter().filter(|cache| cache.is_crossed(self, at));
        warnings.extend(crossed.map(|cache| Warning::CrossesCache { cache: cache.clone() }));
        for regime in self.known.regimes.iter().filter(|regime| regime.n_values == 0) {
            if at.get(regime.parameter_idx).is_some_and(|x| regime.from <= *x) {
                warnings.push(Warning::OtherRegime { regime: regime.clone() });
            }
        }
        if let Some((name, x)) = self.split_idx.and_then(|i| self.parameters.get(i).zip(at.get(i)))
        {
            let gaps = self.pieces.windows(2).filter_map(|pair| gap(&pair[0], &pair[1]));
            for (low, high) in gaps.filter(|(low, high)| low < x && x < high) {
                warnings.push(Warning::BetweenPieces { parameter: name.clone(), low, high });
            }
        }
        if self.is_raised(at) {
            warnings.push(Warning::KeptPositive);
        }
        warnings
    }

    /// Returns the formulas as text, one for each piece.
    pub(crate) fn write_text(&self) -> String {
        let name = self.split_idx.and_then(|idx| self.parameters.get(idx));
        let ends = self.breakpoints();
        let texts = self.pieces.iter().enumerate().map(|(idx, piece)| {
            let formula = piece.formula.text(&self.parameters);
            match (name, ends.get(idx)) {
                (Some(name), Some(end)) => format!("{formula} for {name} <= {end:.6}"),
                (Some(_), None) if !ends.is_empty() => format!("{formula} above"),
                _ => formula,
            }
        });
        texts.collect::<Vec<_>>().join("; ")
    }
}

/// Returns the geometric middle of the gap between two pieces, because sizes grow by factors.
fn between(left: &Piece, right: &Piece) -> f64 {
    match gap(left, right) {
        Some((low, high)) if 0.0 < low => (low * high).sqrt(),
        Some((low, high)) => f64::midpoint(low, high),
        None => f64::INFINITY,
    }
}
