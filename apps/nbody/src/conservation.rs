//! Conserved quantities: energy, momentum, angular momentum.
//!
//! Workers get every body's energy at the midpoint of a step at no extra cost, so that it is checked in every
//! step. Momenta are those between steps.

use crate::body::{Body, Vector, cross, norm, plus};
use serde::{Deserialize, Serialize};
use std::fmt;

/// Momenta of all bodies together.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Motion {
    /// Momentum.
    pub momentum: [f64; 3],
    /// Angular momentum around the origin.
    pub angular: [f64; 3],
    /// Sum of the magnitudes of the momenta: the scale for changes.
    pub total: f64,
    /// The same for angular momenta.
    pub angular_total: f64,
}

impl Motion {
    /// Momenta of these bodies.
    #[must_use]
    pub fn of(bodies: &[Body]) -> Self {
        let mut motion = Self::default();
        for body in bodies {
            let angular = cross(body.position, body.velocity);
            motion.momentum = plus(motion.momentum, body.mass, body.velocity);
            motion.angular = plus(motion.angular, body.mass, angular);
            motion.total += body.mass * norm(body.velocity);
            motion.angular_total += body.mass * norm(angular);
        }
        motion
    }

    /// Changes of both since an earlier state, relative to their totals.
    fn change(&self, before: &Self) -> (f64, f64) {
        let change = |now, before: Vector, total: f64| {
            norm(plus(now, -1.0, before)) / total.max(f64::MIN_POSITIVE)
        };
        (
            change(self.momentum, before.momentum, before.total),
            change(self.angular, before.angular, before.angular_total),
        )
    }
}

/// Energy and drifts so far; drifts are relative, and the largest ones seen.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Conservation {
    /// Momenta at the start.
    motion: Motion,
    /// Energy at the midpoint of the first step; `None` before it.
    pub first_energy: Option<f64>,
    /// Energy at the midpoint of the last step.
    pub last_energy: f64,
    /// Drift of the energy.
    pub energy_drift: f64,
    /// Drift of the momentum.
    pub momentum_drift: f64,
    /// Drift of the angular momentum.
    pub angular_drift: f64,
}

impl Conservation {
    /// Starts to follow these bodies.
    pub(crate) fn begin(bodies: &[Body]) -> Self {
        Self { motion: Motion::of(bodies), ..Self::default() }
    }

    /// Adds the energy of a step and the resulting bodies.
    pub(crate) fn step(&mut self, energy: f64, bodies: &[Body]) {
        let first = *self.first_energy.get_or_insert(energy);
        self.last_energy = energy;
        let drift = (energy - first).abs() / first.abs().max(f64::MIN_POSITIVE);
        self.energy_drift = largest(self.energy_drift, drift);
        let (momentum, angular) = Motion::of(bodies).change(&self.motion);
        self.momentum_drift = largest(self.momentum_drift, momentum);
        self.angular_drift = largest(self.angular_drift, angular);
    }

    /// Returns whether the energy changed by no more than this share.
    #[must_use]
    pub fn holds(&self, drift_max: f64) -> bool {
        self.energy_drift <= drift_max
    }
}

/// Returns the larger number; NaN is kept.
fn largest(a: f64, b: f64) -> f64 {
    if a.is_nan() || b <= a { a } else { b }
}

impl fmt::Display for Conservation {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            formatter,
            "energy {:.6} to {:.6}, off by {:.1e} at most; momentum by {:.1e}, angular momentum by {:.1e}",
            self.first_energy.unwrap_or_default(),
            self.last_energy,
            self.energy_drift,
            self.momentum_drift,
            self.angular_drift
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(energies: &[f64], drift_max: f64, expected: bool) {
        let body = Body { mass: 1.0, velocity: [1.0, 0.0, 0.0], ..Body::default() };
        let mut conservation = Conservation::begin(&[body]);
        energies.iter().for_each(|energy| conservation.step(*energy, &[body]));
        assert_eq!(conservation.holds(drift_max), expected, "{conservation}");
    }

    #[test]
    fn the_largest_drift_counts() {
        check(&[], 0.0, true);
        check(&[-2.0], 0.0, true);
        check(&[-2.0, -2.1, -2.0], 0.04, false);
        check(&[-2.0, -2.1, -2.0], 0.06, true);
        check(&[-2.0, f64::NAN, -2.0], 1e9, false);
        check(&[0.0, 0.0], 0.0, true);
    }

    #[test]
    fn momenta_are_compared_with_all_of_them() {
        let body =
            |speed| Body { mass: 2.0, position: [0.0, 1.0, 0.0], velocity: [speed, 0.0, 0.0] };
        let mut conservation = Conservation::begin(&[body(1.0), body(-1.0)]);
        conservation.step(-1.0, &[body(1.5), body(-1.0)]);
        assert!((conservation.momentum_drift - 0.25).abs() < 1e-15);
        assert!((conservation.angular_drift - 0.25).abs() < 1e-15);
    }
}
