//! Plummer sphere, in units where its mass is 1 and its energy -1/4.

use crate::body::Body;
use crate::random::Random;
use std::f64::consts::PI;

/// Share of the mass that is sampled: the few bodies further out are left out.
const SHARE_MAX: f64 = 0.999;
/// Plummer radius in these units.
const LENGTH: f64 = 3.0 * PI / 16.0;
/// Upper bound of `q^2*(1 - q^2)^(7/2)`, the distribution of speeds.
const SPEED_DENSITY_MAX: f64 = 0.1;

pub(super) fn plummer(n_bodies: u32, dimensions: u8, random: &mut Random) -> Vec<Body> {
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
