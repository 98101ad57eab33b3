//! Initial bodies of a run.

use crate::body::{Body, Vector, cross, plus};
use crate::error::NbodyError;
use crate::random::Random;
use crate::xyz;
use std::f64::consts::{FRAC_PI_3, PI};
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
        Shape::Disk => disk(n_bodies, dimensions, &mut random),
        Shape::Plummer => plummer(n_bodies, dimensions, &mut random),
        Shape::TwoGalaxies => two(n_bodies, dimensions, &mut random),
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

/// Mass of the central body, as a share of a disk's mass.
const CORE_MASS: f64 = 0.8;
/// Inner radius of a disk; the outer one is 1.
const INNER: f64 = 0.15;
/// Thickness of a disk in space.
const THICKNESS: f64 = 0.03;

/// Generates a disk of mass 1.
fn disk(n_bodies: u32, dimensions: u8, random: &mut Random) -> Vec<Body> {
    let n_around = n_bodies.saturating_sub(1);
    let core_mass = if n_around == 0 { 1.0 } else { CORE_MASS };
    let mut bodies = vec![Body { mass: core_mass, ..Body::default() }];
    for _ in 0..n_around {
        bodies.push(orbiting((1.0 - CORE_MASS) / f64::from(n_around), dimensions, random));
    }
    bodies
}

/// Generates a body on a circular orbit around the mass inside of it; radii are uniformly
/// distributed.
fn orbiting(mass: f64, dimensions: u8, random: &mut Random) -> Body {
    let share = random.share();
    let radius = INNER + (1.0 - INNER) * share;
    let outward = random.direction(2);
    let speed = ((CORE_MASS + (1.0 - CORE_MASS) * share) / radius).sqrt();
    let velocity = cross([0.0, 0.0, speed], outward);
    let mut position = outward.map(|part| radius * part);
    if dimensions == 3 {
        position[2] = THICKNESS * (random.share() + random.share() - 1.0);
    }
    Body { mass, position, velocity }
}

/// Generates two disks that approach each other; in space the second one is inclined.
fn two(n_bodies: u32, dimensions: u8, random: &mut Random) -> Vec<Body> {
    let n_first = n_bodies.div_ceil(2);
    let mut first = disk(n_first, dimensions, random);
    let mut second =
        if n_first < n_bodies { disk(n_bodies - n_first, dimensions, random) } else { Vec::new() };
    if dimensions == 3 {
        second.iter_mut().for_each(|body| {
            (body.position, body.velocity) = (tilted(body.position), tilted(body.velocity));
        });
    }
    let share = if second.is_empty() { 1.0 } else { 0.5 };
    move_by(&mut first, share, [-1.6, -0.7, 0.0], [0.35, 0.0, 0.0]);
    move_by(&mut second, share, [1.6, 0.7, 0.0], [-0.35, 0.0, 0.0]);
    first.append(&mut second);
    first
}

/// Moves a disk, and scales its mass by `share`; with less mass, its bodies orbit more slowly.
fn move_by(bodies: &mut [Body], share: f64, way: Vector, velocity: Vector) {
    for body in bodies {
        body.mass *= share;
        body.position = plus(body.position, 1.0, way);
        body.velocity = plus(velocity, share.sqrt(), body.velocity);
    }
}

fn tilted([x, y, z]: Vector) -> Vector {
    let (sine, cosine) = FRAC_PI_3.sin_cos();
    [x, cosine * y - sine * z, sine * y + cosine * z]
}

/// Share of the mass that is sampled: the few bodies further out are left out.
const SHARE_MAX: f64 = 0.999;
/// Plummer radius in these units.
const LENGTH: f64 = 3.0 * PI / 16.0;
/// Upper bound of `q^2*(1 - q^2)^(7/2)`, the distribution of speeds.
const SPEED_DENSITY_MAX: f64 = 0.1;

/// Generates a Plummer sphere, in units where its mass is 1 and its energy -1/4.
fn plummer(n_bodies: u32, dimensions: u8, random: &mut Random) -> Vec<Body> {
    let mass = 1.0 / f64::from(n_bodies.max(1));
    let mut body = |_| {
        let share = random.between(0.0, SHARE_MAX);
        let radius = 1.0 / (share.powf(-2.0 / 3.0) - 1.0).sqrt();
        let escape = std::f64::consts::SQRT_2 / (1.0 + radius * radius).sqrt().sqrt();
        let speed = escape * speed(random);
        let position = random.direction(dimensions).map(|part| LENGTH * radius * part);
        let velocity = random.direction(dimensions).map(|part| speed * part / LENGTH.sqrt());
        Body { mass, position, velocity }
    };
    (0..n_bodies).map(&mut body).collect()
}

/// Speed as a share of the escape speed, by rejection sampling (von Neumann).
fn speed(random: &mut Random) -> f64 {
    loop {
        let (speed, height) = (random.share(), random.between(0.0, SPEED_DENSITY_MAX));
        let slowness = 1.0 - speed * speed;
        if height < speed * speed * slowness * slowness * slowness * slowness.sqrt() {
            return speed;
        }
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
