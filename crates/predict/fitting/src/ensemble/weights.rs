//! Weights of the forms at a point, and what they say there, not too far from each other.

use super::{SINGLES_MOST, form::Form, observed::Trend};
use crate::solve::dot;
use statistics::median;

/// Weight of errors along parameters in which the asked point lies within the measured ones.
const WEIGHT_WITHIN: f64 = 0.5;
/// The same where it lies within all of them, and how much more errors at single points count there.
const WEIGHT_ALL_WITHIN: f64 = 0.25;
const SINGLES_WITHIN: f64 = 4.0;
/// A form whose error at single points is more than this many times that of the best one does not describe what was
/// measured; and the exponent by which its weight falls from there.
const GROSS: f64 = 3.0;
const GROSS_COST: f64 = 3.0;
/// Errors of the best form below this one make weights differ more: it has been right where nothing was measured.
const ERROR_GOOD: f64 = 0.1;
/// How much more, for each factor e, and at most.
const SHARPER: f64 = 1.0;
const SHARPEST: f64 = 3.0;
/// Largest distance of a form from the median of all, in natural logarithms.
const APART_MAX: f64 = 0.7;

/// How much errors count, by how the values change.
pub(super) struct Importance {
    /// Weight of the errors at values held out.
    pub(super) held_out: f64,
    /// Share of the weight of single points that counts beyond the measured ones.
    pub(super) singles_beyond: f64,
    /// Error beyond the measured points that is assumed beforehand, per factor e.
    pub(super) drift_beforehand: f64,
}

impl Importance {
    pub(super) const fn of(trend: Trend) -> Self {
        let [held_out, singles_beyond, drift_beforehand] = match trend {
            Trend::Falling => [1.0, 1.0, 0.1],
            // While the overhead outweighs the work, all forms foretell badly; which one fits says more.
            Trend::Growing => [0.6, 2.5, 0.15],
            // Another node or a network that fills up begins where nothing was measured.
            Trend::Other => [1.0, 0.7, 0.2],
            Trend::Several => [1.25, 0.2, 0.1],
        };
        Self { held_out, singles_beyond, drift_beforehand }
    }
}

/// What the forms say at one point.
pub(super) struct Here {
    /// Index of the form, weight, and logarithm of the value, not too far from the others.
    pub(super) sayings: Vec<(usize, f64, f64)>,
    /// Logarithms of the values as they are.
    pub(super) raw: Vec<f64>,
    pub(super) middle: f64,
    /// Distance beyond the measured points, in natural logarithms, along each parameter.
    pub(super) beyond: Vec<f64>,
}

/// What the weights follow from.
pub(super) struct Weighing<'a> {
    forms: &'a [Form],
    pub(super) n_held: &'a [f64],
    singles_weight: f64,
    /// Share of it that counts where the asked point lies beyond the measured ones.
    singles_beyond: f64,
}

impl<'a> Weighing<'a> {
    pub(super) const fn of(
        forms: &'a [Form],
        n_held: &'a [f64],
        [singles_weight, singles_beyond]: [f64; 2],
    ) -> Self {
        Self { forms, n_held, singles_weight, singles_beyond }
    }

    /// Returns the logarithms of the weights of forms, up to a constant.
    fn ln_weights(&self, indices: &[usize], beyond: &[f64]) -> Vec<f64> {
        let is_within = beyond.iter().all(|far| *far <= 0.0);
        let elsewhere = if is_within { WEIGHT_ALL_WITHIN } else { WEIGHT_WITHIN };
        let along: Vec<f64> =
            beyond.iter().map(|far| if 0.0 < *far { 1.0 } else { elsewhere }).collect();
        let singles_weight = if is_within {
            SINGLES_WITHIN * self.singles_weight
        } else {
            self.singles_beyond * self.singles_weight
        };
        let missed = |idx: &usize| {
            let form = &self.forms[*idx];
            dot(&along, &form.misses) + singles_weight * form.single_miss
        };
        let least = indices.iter().map(missed).fold(f64::INFINITY, f64::min);
        let n = dot(&along, self.n_held) + singles_weight;
        let error = (0.5 * least / n).exp();
        let sharpness = (1.0 + SHARPER * (ERROR_GOOD / error).ln()).clamp(1.0, SHARPEST);
        let single = |idx: &usize| 0.5 * self.forms[*idx].single_miss;
        let best = indices.iter().map(single).fold(f64::INFINITY, f64::min);
        let gross = |idx: &usize| (single(idx) - best - GROSS.ln()).max(0.0);
        let strength = GROSS_COST * (self.singles_weight / SINGLES_MOST).min(1.0);
        let ln_weight = |idx: &usize| {
            self.forms[*idx].prior.ln() - 0.5 * sharpness * missed(idx) - strength * gross(idx)
        };
        indices.iter().map(ln_weight).collect()
    }
}

impl Here {
    pub(super) fn of(
        said: &[Option<f64>],
        weighing: &Weighing<'_>,
        beyond: Vec<f64>,
    ) -> Option<Self> {
        let raw: Vec<f64> = said.iter().copied().flatten().collect();
        let middle = median(raw.iter().copied())?;
        let indices: Vec<usize> = (0..said.len()).filter(|idx| said[*idx].is_some()).collect();
        let ln_weights = weighing.ln_weights(&indices, &beyond);
        let top = ln_weights.iter().copied().fold(f64::NEG_INFINITY, f64::max);
        let weights: Vec<f64> = ln_weights.iter().map(|weight| (weight - top).exp()).collect();
        let sum: f64 = weights.iter().sum();
        // A form that alone has foretold well may be far from the others.
        let near = |value: f64, weight: f64| {
            let apart = APART_MAX / (1.0 - weight * weight).max(1e-3);
            value.clamp(middle - apart, middle + apart)
        };
        let sayings = indices.iter().zip(&weights).zip(&raw).map(|((idx, weight), value)| {
            let weight = weight / sum;
            (*idx, weight, near(*value, weight))
        });
        Some(Self { sayings: sayings.collect(), raw, middle, beyond })
    }

    pub(super) fn mean(&self) -> f64 {
        self.sayings.iter().map(|(_, weight, value)| weight * value).sum()
    }
}
