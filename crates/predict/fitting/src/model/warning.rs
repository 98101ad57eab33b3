//! Warnings about a model or a prediction.

use super::FittedModel;
use serde::{Deserialize, Serialize};
use std::fmt;

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
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", tag = "kind")]
#[non_exhaustive]
pub enum Warning {
    /// There are few points, so that several formulas would do.
    TooFewPoints {
        /// Number of points.
        n_points: usize,
    },
    /// A parameter has too few values to see how time depends on it.
    TooFewValues {
        /// The parameter.
        parameter: String,
        /// Number of values.
        n_values: usize,
    },
    /// Every point has the same value.
    ConstantData,
    /// No parameter has enough values to hold its largest out.
    NotHeldOut,
    /// Many of the repetitions were left out.
    ManyDropped {
        /// Number of repetitions left out.
        n_dropped: usize,
        /// Number of repetitions measured.
        n_samples: usize,
    },
    /// The held-out largest values were predicted badly.
    LargeError {
        /// Mean relative error.
        error: f64,
    },
    /// The point lies outside the measured range.
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
    CrossesCache {
        /// The cache.
        cache: Cache,
    },
    /// The model changes somewhere between two measured values, between which the point lies.
    BetweenPieces {
        /// The parameter.
        parameter: String,
        /// Nearest measured value below.
        low: f64,
        /// Nearest measured value above.
        high: f64,
    },
    /// The formula is not positive at the point, and a small value is given instead.
    KeptPositive,
}

impl fmt::Display for Warning {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::TooFewPoints { n_points } => {
                let points = if *n_points == 1 { "point" } else { "points" };
                write!(f, "only {n_points} {points}: measure at least 5 values of each parameter")
            }
            Self::TooFewValues { parameter, n_values } => {
                let values = if *n_values == 1 { "value" } else { "values" };
                write!(f, "`{parameter}` has only {n_values} {values}: measure at least 5")
            }
            Self::ConstantData => write!(f, "all points have the same value"),
            Self::NotHeldOut => {
                write!(f, "too few values to hold out the largest: extrapolation was not validated")
            }
            Self::ManyDropped { n_dropped, n_samples } => {
                write!(f, "{n_dropped} of {n_samples} repetitions were left out as disturbed")
            }
            Self::LargeError { error } => {
                write!(
                    f,
                    "error of {:.0} % when predicting the largest values, which were held out",
                    100.0 * error
                )
            }
            Self::Extrapolated { parameter, value, low, high } => {
                write!(
                    f,
                    "`{parameter}` = {value} lies outside of what was measured, {low} to {high}"
                )
            }
            Self::CrossesCache { cache } => {
                write!(f, "the data exceed the size of `{}`; no measurement did", cache.name)
            }
            Self::BetweenPieces { parameter, low, high } => {
                write!(f, "the model changes at some `{parameter}` between {low} and {high}")
            }
            Self::KeptPositive => write!(f, "the formula is not positive there"),
        }
    }
}
