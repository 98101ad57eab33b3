//! Views of the bodies: frames of a run, and the mapping to a square picture.

use crate::body::Body;
use serde::{Deserialize, Serialize};
use std::f64::consts::FRAC_PI_6;

/// Projected positions of the bodies at one time.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub(crate) struct Frame {
    pub(crate) time: f64,
    pub(crate) points: Vec<[f32; 2]>,
}

impl Frame {
    /// Projects bodies as seen from above; in space from an angle of 30 degrees.
    pub(crate) fn of(bodies: &[Body], dimensions: u8, time: f64) -> Self {
        let (sine, cosine) = if dimensions == 3 { FRAC_PI_6.sin_cos() } else { (0.0, 1.0) };
        let seen = |body: &Body| {
            let [x, y, z] = body.position;
            [single(x), single(cosine * y + sine * z)]
        };
        Self { time, points: bodies.iter().map(seen).collect() }
    }
}

#[expect(clippy::cast_possible_truncation, reason = "a picture needs no more digits")]
fn single(number: f64) -> f32 {
    number as f32
}

/// Square view that contains almost all points of a run.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct View {
    pub(crate) size: f32,
    scale: f32,
}

/// Share of the points in the view.
const SEEN: f64 = 0.98;

impl View {
    pub(crate) fn of(frames: &[Frame], size: f32) -> Self {
        let points = frames.iter().flat_map(|frame| &frame.points);
        let mut reach: Vec<f32> =
            points.map(|[x, y]| x.abs().max(y.abs())).filter(|reach| reach.is_finite()).collect();
        reach.sort_unstable_by(f32::total_cmp);
        let at = (reach.len() as f64 * SEEN).floor();
        #[expect(clippy::cast_possible_truncation, reason = "a place in the list")]
        #[expect(clippy::cast_sign_loss, reason = "a place in the list")]
        let reach = reach.get(at as usize).or(reach.last()).copied().unwrap_or(1.0);
        Self { size, scale: 0.5 * size / (1.1 * reach).max(f32::MIN_POSITIVE) }
    }

    /// Position of a point on the square, from its upper left corner.
    pub(crate) fn place(&self, [x, y]: [f32; 2]) -> [f32; 2] {
        [0.5 * self.size + self.scale * x, 0.5 * self.size - self.scale * y]
    }
}

/// Color of a body: warm for the first half, cold for the second, like the two galaxies.
pub(crate) fn color(at: usize, n_bodies: usize) -> [f32; 3] {
    if at < n_bodies.div_ceil(2) { [1.0, 0.72, 0.42] } else { [0.45, 0.72, 1.0] }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(position: [f64; 3], dimensions: u8, expected: [f32; 2]) {
        let frame = Frame::of(&[Body { position, ..Body::default() }], dimensions, 0.0);
        let near = |at: usize| (frame.points[0][at] - expected[at]).abs() < 1e-6;
        assert!(near(0) && near(1), "{frame:?}");
    }

    #[test]
    fn space_is_seen_from_the_side() {
        check([1.0, 2.0, 4.0], 2, [1.0, 2.0]);
        check([1.0, 0.0, 4.0], 3, [1.0, 2.0]);
    }

    #[test]
    fn the_middle_is_in_the_middle() {
        let far = Frame { time: 0.0, points: vec![[2.0, 0.0], [0.0, -1.0]] };
        let view = View::of(&[far], 220.0);
        let near = |point, place: [f32; 2]| {
            let found = view.place(point);
            (found[0] - place[0]).abs() < 1e-3 && (found[1] - place[1]).abs() < 1e-3
        };
        assert!(near([0.0, 0.0], [110.0, 110.0]) && near([2.0, 0.0], [210.0, 110.0]));
        assert!(View::of(&[], 100.0).place([0.5, 0.0])[0].is_finite());
    }
}
