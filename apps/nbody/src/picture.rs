//! Pictures of a run: SVG by hand, PNG, and animated PNG.

use crate::error::NbodyError;
use crate::view::{Frame, View, color};
use png::{BitDepth, ColorType, Encoder, EncodingError};
use std::fmt::Write as _;
use std::fs::File;
use std::io::{self, BufWriter, Write};
use std::path::Path;

/// Width and height of a picture, in pixels.
const WIDTH: u16 = 640;
/// Largest number of bodies with a trail in an SVG, to limit its size.
const N_TRAILS_MAX: usize = 400;
/// Duration of a frame in an animation, in ms.
const FRAME_MS: u16 = 50;

/// Draws the last frame, with the trails of the bodies.
pub(crate) fn picture(path: &Path, frames: &[Frame]) -> Result<(), NbodyError> {
    let is_svg = path.extension().is_some_and(|ending| ending == "svg");
    let put = if is_svg { std::fs::write(path, svg(frames)) } else { png(path, frames) };
    put.map_err(NbodyError::write(path))
}

/// Writes all frames as an endless animation.
pub(crate) fn animation(path: &Path, frames: &[Frame]) -> Result<(), NbodyError> {
    let put = || -> io::Result<()> {
        let view = View::of(frames, f32::from(WIDTH));
        let mut canvas = Canvas::new(WIDTH);
        let mut encoder = encoder(path)?;
        encoder.set_animated(u32::try_from(frames.len()).unwrap_or(u32::MAX), 0).map_err(other)?;
        encoder.set_frame_delay(FRAME_MS, 1000).map_err(other)?;
        let mut writer = encoder.write_header().map_err(other)?;
        for frame in frames {
            canvas.add(frame, &view);
            writer.write_image_data(&canvas.pixels()).map_err(other)?;
        }
        writer.finish().map_err(other)
    };
    put().map_err(NbodyError::write(path))
}

fn png(path: &Path, frames: &[Frame]) -> io::Result<()> {
    let view = View::of(frames, f32::from(WIDTH));
    let mut canvas = Canvas::new(WIDTH);
    frames.iter().for_each(|frame| canvas.add(frame, &view));
    let mut writer = encoder(path)?.write_header().map_err(other)?;
    writer.write_image_data(&canvas.pixels()).map_err(other)?;
    writer.finish().map_err(other)
}

fn encoder(path: &Path) -> io::Result<Encoder<'static, impl Write + use<>>> {
    let file = BufWriter::new(File::create(path)?);
    let mut encoder = Encoder::new(file, u32::from(WIDTH), u32::from(WIDTH));
    encoder.set_color(ColorType::Rgb);
    encoder.set_depth(BitDepth::Eight);
    Ok(encoder)
}

fn other(error: EncodingError) -> io::Error {
    match error {
        EncodingError::IoError(error) => error,
        error => io::Error::other(error),
    }
}

fn svg(frames: &[Frame]) -> String {
    let view = View::of(frames, f32::from(WIDTH));
    let mut text = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {WIDTH} {WIDTH}\">\
         <rect width=\"{WIDTH}\" height=\"{WIDTH}\" fill=\"#05070d\"/>\n"
    );
    let Some(last) = frames.last() else { return text + "</svg>\n" };
    let n_bodies = last.points.len();
    for at in 0..n_bodies.min(N_TRAILS_MAX) {
        // Evenly spaced among all bodies.
        let at = at * n_bodies / n_bodies.min(N_TRAILS_MAX);
        let way = frames.iter().filter_map(|frame| frame.points.get(at));
        let way: Vec<String> = way.map(|point| coordinates(view.place(*point))).collect();
        let (way, color) = (way.join(" "), hex(color(at, n_bodies)));
        let _written = writeln!(
            text,
            "<polyline points=\"{way}\" fill=\"none\" stroke=\"{color}\" stroke-opacity=\"0.15\"/>"
        );
    }
    for (at, point) in last.points.iter().enumerate() {
        let ([x, y], color) = (view.place(*point), hex(color(at, n_bodies)));
        let _written =
            writeln!(text, "<circle cx=\"{x:.1}\" cy=\"{y:.1}\" r=\"1.2\" fill=\"{color}\"/>");
    }
    text + "</svg>\n"
}

fn coordinates([x, y]: [f32; 2]) -> String {
    format!("{x:.1},{y:.1}")
}

#[expect(clippy::cast_possible_truncation, reason = "a share of 255")]
#[expect(clippy::cast_sign_loss, reason = "a share of 255")]
fn hex(color: [f32; 3]) -> String {
    let [red, green, blue] = color.map(|part| (255.0 * part) as u8);
    format!("#{red:02x}{green:02x}{blue:02x}")
}

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
    fn add(&mut self, frame: &Frame, view: &View) {
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
    fn pixels(&self) -> Vec<u8> {
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

    fn frames(n_frames: u8) -> Vec<Frame> {
        let frame = |at: u8| Frame {
            time: f64::from(at),
            points: vec![[f32::from(at), 0.0], [0.0, 1.0], [-1.0, f32::from(at)]],
        };
        (0..n_frames).map(frame).collect()
    }

    #[test]
    fn an_svg_has_all_bodies_and_their_ways() {
        let text = svg(&frames(4));
        assert_eq!((text.matches("<circle").count(), text.matches("<polyline").count()), (3, 3));
        assert!(text.ends_with("</svg>\n") && svg(&[]).ends_with("</svg>\n"));
    }

    #[track_caller]
    fn check(n_frames: u8, put: fn(&Path, &[Frame]) -> Result<(), NbodyError>, expected: u32) {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a.png");
        put(&path, &frames(n_frames)).unwrap();
        let file = std::io::BufReader::new(File::open(&path).unwrap());
        let mut reader = png::Decoder::new(file).read_info().unwrap();
        assert_eq!(reader.info().size(), (u32::from(WIDTH), u32::from(WIDTH)));
        let mut pixels = vec![0; reader.output_buffer_size().unwrap()];
        for _ in 0..expected {
            reader.next_frame(&mut pixels).unwrap();
            assert!(pixels.iter().any(|value| *value != 0));
        }
        assert_eq!(reader.info().animation_control().map_or(1, |a| a.num_frames), expected);
    }

    #[test]
    fn pictures_can_be_read() {
        check(3, picture, 1);
        check(3, animation, 3);
        check(1, animation, 1);
    }

    #[test]
    fn a_folder_that_is_not_there_is_told() {
        let error = picture(Path::new("/nowhere/a.png"), &[]).unwrap_err();
        assert!(error.to_string().starts_with("`/nowhere/a.png` cannot be written; "), "{error}");
    }

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
