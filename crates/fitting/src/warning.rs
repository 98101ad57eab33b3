//! What somebody who trusts a model should know.

use crate::model::FittedModel;
use serde::{Deserialize, Serialize};
use std::fmt;

/// A memory whose size the data of a run may pass.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Cache {
    /// What it is called, such as `L2`.
    pub name: String,
    /// How much it holds, in bytes.
    pub size_bytes: f64,
    /// The parameter that the amount of data depends on.
    pub parameter: String,
    /// Bytes of data where the parameter is 1.
    pub bytes_per_unit: f64,
    /// With which power of the parameter the data grow.
    pub power: f64,
}

impl Cache {
    fn holds(&self, value: f64) -> bool {
        self.bytes_per_unit * value.powf(self.power) <= self.size_bytes
    }

    /// Whether the data fit at this point and nowhere that was measured, or the other way round.
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
        /// How many there are.
        n_points: usize,
    },
    /// A parameter has too few values to see how time depends on it.
    TooFewValues {
        /// The parameter.
        parameter: String,
        /// How many it has.
        n_values: usize,
    },
    /// Every point has the same value.
    ConstantData,
    /// Nothing could be kept back but single points.
    NotHeldOut,
    /// Much of what was measured was left out.
    ManyDropped {
        /// Repetitions left out.
        n_dropped: usize,
        /// Repetitions measured.
        n_samples: usize,
    },
    /// The largest values, kept back, were foretold badly.
    LargeError {
        /// The mean relative error.
        error: f64,
    },
    /// The point lies outside what was measured.
    Extrapolated {
        /// The parameter.
        parameter: String,
        /// Its value.
        value: f64,
        /// The smallest measured one.
        low: f64,
        /// The largest measured one.
        high: f64,
    },
    /// The data fit into a cache there, and did not where it was measured, or the other way round.
    CrossesCache {
        /// The cache.
        cache: Cache,
    },
    /// The model changes somewhere between two measured values, and the point lies between them.
    BetweenPieces {
        /// The parameter.
        parameter: String,
        /// The measured value below.
        low: f64,
        /// The measured value above.
        high: f64,
    },
    /// The formula is not positive there, and a small value is given instead.
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
                write!(f, "too few values to keep the largest back: extrapolation is untested")
            }
            Self::ManyDropped { n_dropped, n_samples } => {
                write!(f, "{n_dropped} of {n_samples} repetitions were left out as disturbed")
            }
            Self::LargeError { error } => {
                write!(
                    f,
                    "the largest values were foretold with an error of {:.0} %",
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
                write!(f, "the data pass the size of `{}`, which no measurement did", cache.name)
            }
            Self::BetweenPieces { parameter, low, high } => {
                write!(f, "the model changes at some `{parameter}` between {low} and {high}")
            }
            Self::KeptPositive => write!(f, "the formula is not positive there"),
        }
    }
}
