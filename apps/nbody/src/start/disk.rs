//! Disks that rotate around a heavy body.

use crate::body::{Body, Vector, cross, plus};
use crate::random::Random;
use std::f64::consts::FRAC_PI_3;

/// Mass of the central body, as a share of a disk's mass.
const CORE_MASS: f64 = 0.8;
/// Inner radius of a disk; the outer one is 1.
const INNER: f64 = 0.15;
/// Thickness of a disk in space.
const THICKNESS: f64 = 0.03;

/// Generates a disk of mass 1.
pub(super) fn disk(n_bodies: u32, dimensions: u8, random: &mut Random) -> Vec<Body> {
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
pub(super) fn two(n_bodies: u32, dimensions: u8, random: &mut Random) -> Vec<Body> {
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
