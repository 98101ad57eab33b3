//! Warnings about a model or a prediction.

use super::FittedModel;
use crate::placement::Regime;
use serde::{Deserialize, Serialize};

/// A level of memory that the data of a run may outgrow.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Cache {
    /// Name, such as `L2`.
    pub name: String,
    /// Capacity, in bytes.
    pub size_bytes: f64,
    /// Parameter that the amount of data depends on.
    pub parameter: String,
    /// Bytes of data where the parameter is 1.
    pub bytes_per_unit: f64,
    /// Exponent of the parameter with which the data grow.
    pub power: f64,
}

impl Cache {
    fn holds(&self, value: f64) -> bool {
        self.bytes_per_unit * value.powf(self.power) <= self.size_bytes
    }

    /// Returns whether the data fit at this point but at neither end of the measured range, or the other
    /// way round.
    pub(crate) fn is_crossed(&self, model: &FittedModel, at: &[f64]) -> bool {
        let Some(idx) = model.parameters.iter().position(|name| *name == self.parameter) else {
            return false;
        };
        let (Some(range), Some(value)) = (model.ranges.get(idx), at.get(idx)) else { return false };
        let here = self.holds(*value);
        here != self.holds(range.low) && here != self.holds(range.high)
    }
}

/// A reason to doubt a model or a prediction.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, thiserror::Error)]
#[serde(rename_all = "kebab-case", tag = "kind")]
#[non_exhaustive]
pub enum Warning {
    /// There are few points, so that several formulas would do.
    #[error("{}: measure at least 5 values of each parameter", only(.n_points, "point"))]
    TooFewPoints {
        /// Number of points.
        n_points: usize,
    },
    /// A parameter has too few values to see how time depends on it.
    #[error("`{parameter}` has {}: measure at least 5", only(.n_values, "value"))]
    TooFewValues {
        /// The parameter.
        parameter: String,
        /// Number of values.
        n_values: usize,
    },
    /// Every point has the same value.
    #[error("all points have the same value")]
    ConstantData,
    /// No parameter has enough values to hold its largest out.
    #[error("too few values to hold out the largest: extrapolation was not validated")]
    NotHeldOut,
    /// Many of the repetitions were left out.
    #[error("{n_dropped} of {n_samples} repetitions were left out as disturbed")]
    ManyDropped {
        /// Number of repetitions left out.
        n_dropped: usize,
        /// Number of repetitions measured.
        n_samples: usize,
    },
    /// The held-out largest values were predicted badly.
    #[error("error of {:.0} % when predicting the largest values, which were held out", 100.0 * .error)]
    LargeError {
        /// Mean relative error.
        error: f64,
    },
    /// The point lies outside the measured range.
    #[error("`{parameter}` = {value} lies outside of what was measured, {low} to {high}")]
    Extrapolated {
        /// The parameter.
        parameter: String,
        /// Its value.
        value: f64,
        /// Smallest measured value.
        low: f64,
        /// Largest measured value.
        high: f64,
    },
    /// The data fit into a cache at the point but not in the measured range, or the other way round.
    #[error("the data exceed the size of `{}`; no measurement did", .cache.name)]
    CrossesCache {
        /// The cache.
        cache: Cache,
    },
    /// The ranks of the point are on nodes in a way that was not measured.
    #[error("from `{}` = {} on {}", .regime.parameter, .regime.from, .regime.kind.in_words())]
    OtherRegime {
        /// The regime.
        regime: Regime,
    },
    /// The model changes somewhere between two measured values, between which the point lies.
    #[error("the model changes at some `{parameter}` between {low} and {high}")]
    BetweenPieces {
        /// The parameter.
        parameter: String,
        /// Nearest measured value below.
        low: f64,
        /// Nearest measured value above.
        high: f64,
    },
    /// The formula is not positive at the point, and a small value is given instead.
    #[error("the formula is not positive there")]
    KeptPositive,
}

fn only(n: &usize, one: &str) -> String {
    format!("only {n} {one}{}", if *n == 1 { "" } else { "s" })
}
