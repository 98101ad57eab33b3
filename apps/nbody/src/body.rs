//! Bodies, and the few vector operations on them.

use bytemuck::{Pod, Zeroable};
use serde::{Deserialize, Serialize};

/// Vector in space; in the plane the last component is 0.
pub(crate) type Vector = [f64; 3];

/// Point mass, in units where the gravitational constant is 1.
#[derive(Clone, Copy, Debug, Default, PartialEq, Pod, Zeroable, Serialize, Deserialize)]
#[repr(C)]
pub struct Body {
    /// Mass.
    pub mass: f64,
    /// Position.
    pub position: [f64; 3],
    /// Velocity.
    pub velocity: [f64; 3],
}

pub(crate) fn plus(a: Vector, factor: f64, b: Vector) -> Vector {
    [a[0] + factor * b[0], a[1] + factor * b[1], a[2] + factor * b[2]]
}

pub(crate) fn dot(a: Vector, b: Vector) -> f64 {
    a[0] * b[0] + a[1] * b[1] + a[2] * b[2]
}

pub(crate) fn cross(a: Vector, b: Vector) -> Vector {
    [a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0]]
}

pub(crate) fn norm(a: Vector) -> f64 {
    dot(a, a).sqrt()
}
