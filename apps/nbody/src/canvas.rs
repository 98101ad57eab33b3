//! Square canvas: bodies add light, which saturates to white.

use crate::view::{Frame, View, color};

/// Light on a square, in rows from the top.
#[derive(Clone, Debug)]
pub(crate) struct Canvas {
    width: usize,
    light: Vec<[f32; 3]>,
}

/// Brightness of a body at and around its position: offset and share.
const GLOW: [(i16, i16, f32); 9] = [
    (0, 0, 1.0),
    (1, 0, 0.35),
    (-1, 0, 0.35),
    (0, 1, 0.35),
    (0, -1, 0.35),
    (1, 1, 0.12),
    (1, -1, 0.12),
    (-1, 1, 0.12),
    (-1, -1, 0.12),
];
/// Share of a frame's light that remains in the next one.
const FADED: f32 = 0.75;

impl Canvas {
    pub(crate) fn new(width: u16) -> Self {
        let width = usize::from(width);
        Self { width, light: vec![[0.0; 3]; width * width] }
    }

    /// Adds a frame on top of the faded previous ones.
    pub(crate) fn add(&mut self, frame: &Frame, view: &View) {
        self.light.iter_mut().flatten().for_each(|light| *light *= FADED);
        for (at, point) in frame.points.iter().enumerate() {
            let [x, y] = view.place(*point);
            let color = color(at, frame.points.len());
            for (right, down, share) in GLOW {
                self.shine(x + f32::from(right), y + f32::from(down), color.map(|c| c * share));
            }
        }
    }

    fn shine(&mut self, x: f32, y: f32, color: [f32; 3]) {
        let (Some(x), Some(y)) = (self.inside(x), self.inside(y)) else { return };
        let light = &mut self.light[y * self.width + x];
        for (light, more) in light.iter_mut().zip(color) {
            *light += more;
        }
    }

    #[expect(clippy::cast_possible_truncation, reason = "it lies within the square")]
    #[expect(clippy::cast_sign_loss, reason = "it lies within the square")]
    fn inside(&self, place: f32) -> Option<usize> {
        (0.0 <= place && place < self.width as f32).then_some(place as usize)
    }

    /// Red, green and blue of every pixel.
    pub(crate) fn pixels(&self) -> Vec<u8> {
        self.light.iter().flatten().map(|light| shade(*light)).collect()
    }
}

#[expect(clippy::cast_possible_truncation, reason = "a share of 255")]
#[expect(clippy::cast_sign_loss, reason = "a share of 255")]
fn shade(light: f32) -> u8 {
    (255.0 * (1.0 - (-0.9 * light).exp())) as u8
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_body_shines_where_it_is_and_fades() {
        let frame = Frame { time: 0.0, points: vec![[0.0, 0.0]] };
        let view = View::of(&[], 9.0);
        let mut canvas = Canvas::new(9);
        canvas.add(&frame, &view);
        let red = |canvas: &Canvas, at: usize| canvas.pixels()[3 * at];
        let middle = 4 * 9 + 4;
        assert!(red(&canvas, middle + 1) < red(&canvas, middle));
        assert_eq!(red(&canvas, 0), 0);
        let before = red(&canvas, middle);
        canvas.add(&Frame { time: 1.0, points: Vec::new() }, &view);
        assert!(red(&canvas, middle) < before);
    }

    #[test]
    fn what_is_outside_is_not_seen() {
        let points = vec![[9e9, 0.0], [f32::NAN, 0.0], [0.0, -9e9]];
        let mut canvas = Canvas::new(9);
        canvas.add(&Frame { time: 0.0, points }, &View::of(&[], 9.0));
        assert!(canvas.pixels().iter().all(|value| *value == 0));
    }
}
