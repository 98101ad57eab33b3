//! Forces between bodies, and a leapfrog step.
//!
//! With `e` the softening length, a body of mass `m` at distance `d` attracts with `m*d/(d^2 + e^2)^(3/2)` and has the
//! potential `-m/sqrt(d^2 + e^2)` (Aarseth 1963): close encounters do not eject bodies.
//!
//! # Invariants
//! - The result for a body does not depend on the rank that computes it: the other bodies are added in order.

use crate::body::{Body, Vector, dot, plus};
use bytemuck::{Pod, Zeroable};
use std::ops::Range;

/// Law of attraction, and time step.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Law {
    /// Length below which attraction no longer grows.
    pub softening: f64,
    /// Length of a time step.
    pub dt: f64,
}

/// A body after a step.
#[derive(Clone, Copy, Debug, Default, PartialEq, Pod, Zeroable)]
#[repr(C)]
pub struct Advanced {
    /// The body after the step.
    pub body: Body,
    /// Its part of the energy at the midpoint of the step: kinetic, and half of the potential.
    pub energy: f64,
}

/// First part of a step: moves every body for half of the time step.
pub fn drift(bodies: &mut [Body], law: Law) {
    for body in bodies {
        body.position = plus(body.position, 0.5 * law.dt, body.velocity);
    }
}

/// The rest of the step for some of the bodies; all must have drifted.
pub fn advance(
    bodies: &[Body],
    range: Range<usize>,
    law: Law,
) -> impl Iterator<Item = Advanced> + '_ {
    range.map(move |at| {
        let body = bodies[at];
        let pull = pull(bodies, at, law.softening);
        let half_velocity = plus(body.velocity, 0.5 * law.dt, pull.acceleration);
        let velocity = plus(body.velocity, law.dt, pull.acceleration);
        let position = plus(body.position, 0.5 * law.dt, velocity);
        let energy = 0.5 * body.mass * (dot(half_velocity, half_velocity) + pull.potential);
        Advanced { body: Body { position, velocity, ..body }, energy }
    })
}

/// Effect of all other bodies on a body.
struct Pull {
    acceleration: Vector,
    potential: f64,
}

fn pull(bodies: &[Body], at: usize, softening: f64) -> Pull {
    let mut pull = Pull { acceleration: [0.0; 3], potential: 0.0 };
    let (before, after) = (&bodies[..at], &bodies[at + 1..]);
    for other in before.iter().chain(after) {
        let way = plus(other.position, -1.0, bodies[at].position);
        let inverse = 1.0 / (dot(way, way) + softening * softening).sqrt();
        let potential = other.mass * inverse;
        pull.acceleration = plus(pull.acceleration, potential * inverse * inverse, way);
        pull.potential -= potential;
    }
    pull
}

/// Kinetic and potential energy of all bodies together.
#[must_use]
pub fn energy(bodies: &[Body], softening: f64) -> f64 {
    let of = |at: usize| {
        let body = &bodies[at];
        let potential = pull(bodies, at, softening).potential;
        0.5 * body.mass * (dot(body.velocity, body.velocity) + potential)
    };
    (0..bodies.len()).map(of).sum()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(mass: f64, x: f64) -> Body {
        Body { mass, position: [x, 0.0, 0.0], ..Body::default() }
    }

    /// Checks the acceleration and potential that a body of mass 3 causes.
    #[track_caller]
    fn check(distance: f64, softening: f64, acceleration: f64, potential: f64) {
        let pull = pull(&[at(1.0, 0.0), at(3.0, distance)], 0, softening);
        assert!((pull.acceleration[0] - acceleration).abs() < 1e-15);
        assert!((pull.potential - potential).abs() < 1e-15);
    }

    #[test]
    fn attraction_falls_with_the_square_and_is_softened() {
        check(1.0, 0.0, 3.0, -3.0);
        check(-2.0, 0.0, -0.75, -1.5);
        check(3.0, 4.0, 9.0 / 125.0, -0.6);
        check(0.0, 0.5, 0.0, -6.0);
    }

    #[test]
    fn a_pair_has_its_potential_once() {
        assert!((energy(&[at(2.0, 0.0), at(3.0, 2.0)], 0.0) + 3.0).abs() < 1e-15);
    }
}
