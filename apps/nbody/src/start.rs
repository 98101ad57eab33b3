//! Initial bodies of a run.

mod disk;
mod plummer;

use crate::body::{Body, Vector, plus};
use crate::error::NbodyError;
use crate::random::Random;
use crate::xyz;
use std::path::PathBuf;

/// Source of the bodies.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Start {
    /// Generated bodies.
    Shape(Shape),
    /// Bodies from a file; see [`crate::read_xyz`].
    File(PathBuf),
}

/// Generated configuration.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Shape {
    /// A disk that rotates around a heavy body.
    Disk,
    /// A globular cluster at rest (Plummer 1911, sampled as by Aarseth, Henon and Wielen 1974); in the plane the
    /// same distances and speeds with directions in the plane, which is not an equilibrium.
    Plummer,
    /// Two disks that collide.
    TwoGalaxies,
}

impl Start {
    /// Parses the value of `--start`.
    #[must_use]
    pub fn named(text: &str) -> Self {
        match text {
            "disk" => Self::Shape(Shape::Disk),
            "plummer" => Self::Shape(Shape::Plummer),
            "two-galaxies" => Self::Shape(Shape::TwoGalaxies),
            file => Self::File(file.into()),
        }
    }

    /// Generates or reads the bodies.
    ///
    /// # Errors
    /// If the file cannot be read.
    pub fn bodies(
        &self,
        n_bodies: u32,
        dimensions: u8,
        seed: u64,
    ) -> Result<Vec<Body>, NbodyError> {
        match self {
            Self::Shape(kind) => Ok(shape(*kind, n_bodies, dimensions, seed)),
            Self::File(path) => Ok(xyz::read(path)?),
        }
    }
}

/// Generates bodies of total mass 1 whose center of mass rests at the origin.
#[must_use]
pub fn shape(shape: Shape, n_bodies: u32, dimensions: u8, seed: u64) -> Vec<Body> {
    let mut random = Random::new(seed);
    let mut bodies = match shape {
        Shape::Disk => disk::disk(n_bodies, dimensions, &mut random),
        Shape::Plummer => plummer::plummer(n_bodies, dimensions, &mut random),
        Shape::TwoGalaxies => disk::two(n_bodies, dimensions, &mut random),
    };
    rest(&mut bodies);
    bodies
}

/// Moves the center of mass to the origin, and removes its velocity.
fn rest(bodies: &mut [Body]) {
    let mean = |of: fn(&Body) -> Vector| {
        let sum = |sum, body: &Body| plus(sum, body.mass, of(body));
        let mass: f64 = bodies.iter().map(|body| body.mass).sum();
        bodies.iter().fold([0.0; 3], sum).map(|sum| sum / mass.max(f64::MIN_POSITIVE))
    };
    let (center, motion) = (mean(|body| body.position), mean(|body| body.velocity));
    for body in bodies {
        body.position = plus(body.position, -1.0, center);
        body.velocity = plus(body.velocity, -1.0, motion);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::body::norm;
    use crate::conservation::Motion;
    use crate::energy;

    #[track_caller]
    fn check(kind: Shape, dimensions: u8) {
        for n_bodies in [1, 2, 3, 200] {
            let bodies = shape(kind, n_bodies, dimensions, 7);
            assert_eq!(bodies.len(), n_bodies as usize);
            assert_eq!(bodies, shape(kind, n_bodies, dimensions, 7));
            let mass: f64 = bodies.iter().map(|body| body.mass).sum();
            assert!((mass - 1.0).abs() < 1e-12, "{mass}");
            assert!(norm(Motion::of(&bodies).momentum) < 1e-14);
            let is_flat = bodies.iter().all(|body| body.position[2] == 0.0);
            assert!(is_flat || (dimensions == 3 && 1 < n_bodies));
        }
        assert_ne!(shape(kind, 200, dimensions, 7), shape(kind, 200, dimensions, 8));
        assert!(energy(&shape(kind, 200, dimensions, 7), 0.01) < 0.0, "it stays together");
    }

    #[test]
    fn bodies_are_bound_and_rest() {
        for dimensions in [2, 3] {
            check(Shape::Disk, dimensions);
            check(Shape::Plummer, dimensions);
            check(Shape::TwoGalaxies, dimensions);
        }
    }

    #[test]
    fn a_plummer_sphere_has_its_energy() {
        // -3*pi/64 of a sphere with mass and length 1, in units where that energy is -1/4.
        let found = energy(&shape(Shape::Plummer, 2000, 3, 1), 0.0);
        assert!((found + 0.25).abs() < 0.02, "{found}");
    }
}
