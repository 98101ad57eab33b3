//! One form of a curve: how it is fitted, and its value at a point, in natural logarithms.

pub use super::divided::DividedPart;
use super::{
    ERROR_MAX, LARGEST,
    divided::divided,
    mean_square,
    observed::{Observed, Trend},
    powers,
    sum::Columns,
};
use crate::{term::Formula, vocabulary::ParameterRole};
use serde::{Deserialize, Serialize};

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
    /// Work divided among processes, with a rest that is not; or work that grows with a size, with an overhead.
    Divided {
        /// Logarithm of the largest number of processes, or size.
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
        if roles.len() == 1 {
            all.push(Self::Divided { top: 0.0, parts: Vec::new() });
        }
        all
    }

    /// Returns a name that people read.
    pub fn name(&self) -> &'static str {
        match self {
            Self::Formula => "formula",
            Self::Sum { with_logs: false, .. } => "sum of powers",
            Self::Sum { with_logs: true, .. } => "sum with logarithms",
            Self::Curve { .. } => "curve",
            Self::Local { reach, .. } if *reach < 0.5 => "last slope",
            Self::Local { .. } => "slope nearby",
            Self::Divided { parts, .. } if parts.iter().any(|part| 0.0 < part.work) => {
                "work and an overhead"
            }
            Self::Divided { .. } => "divided work and a rest",
            Self::Ideal { .. } => "ideal scaling",
        }
    }

    /// Returns the weight before anything was foretold.
    pub(crate) fn prior(&self, trend: Trend) -> f64 {
        let [falling, growing, other, several] = match self {
            Self::Formula => [0.5, 4.0, 0.4, 2.5],
            Self::Curve { .. } => [0.2, 0.05, 0.4, 0.4],
            Self::Local { reach, .. } if *reach < 0.5 => [0.2, 2.5, 2.5, 2.0],
            Self::Local { .. } => [0.3, 0.05, 1.0, 0.05],
            Self::Sum { with_logs: false, .. } => [2.0, 0.1, 0.5, 0.3],
            Self::Sum { with_logs: true, .. } => [1.5, 0.1, 1.5, 2.0],
            Self::Divided { .. } => [5.0, 5.0, 0.2, 1.0],
            Self::Ideal { .. } => [0.7, 0.2, 0.1, 3.0],
        };
        match trend {
            Trend::Falling => falling,
            Trend::Growing => growing,
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
                center.len() != n_parameters
                    || coefficients.len() != powers::n_features(n_parameters)
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
            Self::Sum { with_logs, .. } => {
                let formula = columns.sum(*with_logs, is_used)?;
                Some(Self::Sum { formula, with_logs: *with_logs })
            }
            Self::Curve { .. } => {
                let (center, coefficients) = powers::curve(observed)?;
                Some(Self::Curve { center, coefficients })
            }
            Self::Divided { .. } => {
                let (top, parts) = divided(observed, *columns.roles.first()?)?;
                Some(Self::Divided { top, parts })
            }
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
            Self::Local { reach, ridge, slopes } => {
                let how = (*reach, *ridge, &slopes[..]);
                let said = |idx| powers::local(observed, at(idx), how, Some(idx));
                return mean_square((0..n).map(|idx| error(said(idx), idx)));
            }
            Self::Ideal { slopes } => {
                let said = |idx| powers::ideal(observed, at(idx), slopes, Some(idx));
                return mean_square((0..n).map(|idx| error(said(idx), idx)));
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
                powers::curve_value(asked, center, coefficients)
            }
            Self::Local { reach, ridge, slopes } => {
                powers::local(observed, asked, (*reach, *ridge, slopes), None)?
            }
            Self::Divided { top, parts } => {
                let far = asked.first()? - top;
                parts.iter().map(|part| part.weight * (part.ln_scale + part.shape(far))).sum()
            }
            Self::Ideal { slopes } => powers::ideal(observed, asked, slopes, None)?,
        };
        value.is_finite().then_some(value)
    }
}

impl Form {
    pub(crate) fn fault(&self, n_parameters: usize) -> bool {
        let is_usual = |number: &f64| number.abs() <= LARGEST;
        self.misses.len() != n_parameters
            || self.prior <= 0.0
            || !self.misses.iter().chain([&self.single_miss, &self.prior]).all(is_usual)
            || self.kind.fault(n_parameters)
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
