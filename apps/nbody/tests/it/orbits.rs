//! Orbits with known solutions.

use nbody::{Body, Law, Motion, Shape, advance, drift, energy, shape};
use std::f64::consts::TAU;

/// Computes `n_steps` steps on one thread, without a library.
fn steps(bodies: &mut [Body], n_steps: u32, law: Law) {
    for _ in 0..n_steps {
        drift(bodies, law);
        let advanced: Vec<_> = advance(bodies, 0..bodies.len(), law).collect();
        for (body, advanced) in bodies.iter_mut().zip(advanced) {
            *body = advanced.body;
        }
    }
}

/// Two bodies of mass 1/2 on an ellipse with semi-major axis 1 and period `TAU`, at their largest
/// distance.
fn pair(eccentricity: f64) -> Vec<Body> {
    let distance = 1.0 + eccentricity;
    let speed = ((1.0 - eccentricity) / (1.0 + eccentricity)).sqrt();
    let one = |side: f64| Body {
        mass: 0.5,
        position: [0.5 * side * distance, 0.0, 0.0],
        velocity: [0.0, 0.5 * side * speed, 0.0],
    };
    vec![one(1.0), one(-1.0)]
}

/// Distance of the first of two bodies from its position by Kepler's equation, after a time.
fn error(eccentricity: f64, time: f64, n_steps: u32) -> f64 {
    let mut bodies = pair(eccentricity);
    steps(&mut bodies, n_steps, Law { dt: time / f64::from(n_steps), softening: 0.0 });
    // From the far end of the ellipse, the anomaly is half a turn ahead.
    let mean = time + TAU / 2.0;
    let newton = |anomaly: f64| {
        let sine = anomaly.sin();
        anomaly - (anomaly - eccentricity * sine - mean) / (1.0 - eccentricity * anomaly.cos())
    };
    let anomaly = (0..50).fold(mean, |anomaly, _| newton(anomaly));
    let minor = (1.0 - eccentricity * eccentricity).sqrt();
    let exact = [-0.5 * (anomaly.cos() - eccentricity), -0.5 * minor * anomaly.sin()];
    let [x, y, z] = bodies[0].position;
    assert!(z.abs() < f64::MIN_POSITIVE);
    (x - exact[0]).hypot(y - exact[1])
}

#[track_caller]
fn check(eccentricity: f64, turns: f64, n_steps: u32, error_max: f64) {
    let found = error(eccentricity, turns * TAU, n_steps);
    assert!(found < error_max, "off by {found}");
    assert!(0.01 * error_max < found, "the bound says nothing: {found}");
}

#[test]
fn two_bodies_follow_keplers_ellipse() {
    check(0.0, 0.3, 1000, 1e-5);
    check(0.0, 1.0, 1000, 1e-4);
    check(0.3, 1.0, 2000, 5e-5);
    check(0.5, 2.25, 20_000, 1e-5);
}

#[test]
fn half_the_step_gives_a_quarter_of_the_error() {
    for eccentricity in [0.0, 0.2, 0.5] {
        for n_steps in [1000, 2000, 4000] {
            let ratio = error(eccentricity, 0.7 * TAU, n_steps)
                / error(eccentricity, 0.7 * TAU, 2 * n_steps);
            assert!((3.9..4.1).contains(&ratio), "{ratio} for {eccentricity}, {n_steps} steps");
        }
    }
}

#[test]
fn energy_swings_but_does_not_leave() {
    let law = Law { dt: TAU / 200.0, softening: 0.0 };
    let mut bodies = pair(0.5);
    let first = energy(&bodies, 0.0);
    assert!((first + 0.125).abs() < 1e-15);
    for _ in 0..100 {
        steps(&mut bodies, 200, law);
        assert!((energy(&bodies, 0.0) / first - 1.0).abs() < 5e-3);
    }
}

#[test]
fn steps_back_undo_steps_ahead() {
    let begun = shape(Shape::Disk, 50, 3, 1);
    let mut bodies = begun.clone();
    let law = Law { dt: 1e-3, softening: 0.05 };
    steps(&mut bodies, 300, law);
    steps(&mut bodies, 300, Law { dt: -1e-3, ..law });
    for (body, begun) in bodies.iter().zip(&begun) {
        for (now, before) in body.position.iter().zip(begun.position) {
            assert!((now - before).abs() < 1e-11);
        }
    }
}

#[test]
fn momenta_stay() {
    let mut bodies = shape(Shape::Plummer, 100, 3, 1);
    let before = Motion::of(&bodies);
    steps(&mut bodies, 200, Law { dt: 0.01, softening: 0.01 });
    let after = Motion::of(&bodies);
    for axis in 0..3 {
        assert!((after.momentum[axis] - before.momentum[axis]).abs() < 1e-13);
        assert!((after.angular[axis] - before.angular[axis]).abs() < 1e-13);
    }
}
