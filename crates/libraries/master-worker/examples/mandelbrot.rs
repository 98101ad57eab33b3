//! Zoom into the Mandelbrot set: rows differ in cost, and the library balances them.
//!
//! `cargo run --release --example mandelbrot -- 800 20 frame.pgm --progress`, or the same under `mpirun -n 4`.

use master_worker::{BoxError, Error, Iteration, Options, Plain, Program, Report};
use std::ops::Range;
use std::path::PathBuf;

/// Steps after which a point counts as one of the set.
const N_STEPS_MAX: u16 = 2000;
/// Point that the frames zoom in on.
const CENTER: (f64, f64) = (-0.743_643_887, 0.131_825_904);

/// Square picture, computed frame by frame.
#[derive(Clone)]
struct Mandelbrot {
    /// Width and height, in points.
    width: u32,
    n_frames: u64,
    pixels: Vec<u16>,
    file: Option<PathBuf>,
}

impl Mandelbrot {
    fn row(&self, row: u64, scale: f64) -> impl Iterator<Item = u16> {
        let step = scale / f64::from(self.width);
        let y = CENTER.1 - scale / 2.0 + row as f64 * step;
        let x = move |column| CENTER.0 - scale / 2.0 + f64::from(column) * step;
        (0..self.width).map(move |column| n_steps(x(column), y))
    }
}

/// Steps after which a point has escaped.
fn n_steps(x: f64, y: f64) -> u16 {
    let (mut a, mut b) = (0.0_f64, 0.0_f64);
    for step in 0..N_STEPS_MAX {
        (a, b) = (a * a - b * b + x, 2.0 * a * b + y);
        if 4.0 < a * a + b * b {
            return step;
        }
    }
    N_STEPS_MAX
}

impl Program for Mandelbrot {
    /// The width of the frame in the plane.
    type Shared = f64;
    type Input = ();
    type Output = Plain<u16>;

    fn next(&mut self, frame: u64) -> Option<Iteration<f64>> {
        let scale = 3.0 * 0.7_f64.powf(frame as f64);
        (frame < self.n_frames).then(|| Iteration::new(u64::from(self.width), scale))
    }

    fn n_iterations(&self) -> Option<u64> {
        Some(self.n_frames)
    }

    fn input(&self, _rows: Range<u64>) {}

    fn work(&self, scale: &f64, rows: Range<u64>, (): ()) -> Plain<u16> {
        rows.flat_map(|row| self.row(row, *scale)).collect()
    }

    fn recover(&mut self, rows: Range<u64>, pixels: Plain<u16>) {
        let places = self.pixels.chunks_exact_mut(self.width as usize);
        let dealt = pixels.chunks_exact(self.width as usize);
        for (place, row) in places.skip(usize::try_from(rows.start).unwrap_or(0)).zip(dealt) {
            place.copy_from_slice(row);
        }
    }

    fn finish(&mut self, _report: &Report) -> Result<(), BoxError> {
        let Some(file) = &self.file else { return Ok(()) };
        let mut picture = format!("P5 {0} {0} 255\n", self.width).into_bytes();
        picture.extend(self.pixels.iter().map(|steps| steps.to_le_bytes()[0]));
        Ok(std::fs::write(file, picture)?)
    }
}

fn main() -> Result<(), Error> {
    let (options, arguments) = Options::parse(std::env::args().skip(1));
    let number = |place: usize| arguments.get(place).and_then(|text| text.parse().ok());
    let width = number(0).unwrap_or(400);
    let n_frames = number(1).unwrap_or(10).into();
    let pixels = vec![0; width as usize * width as usize];
    let file = arguments.get(2).map(PathBuf::from);
    master_worker::run(Mandelbrot { width, n_frames, pixels, file }, options)
}
