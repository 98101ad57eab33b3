//! Generated matrices: symmetric and positive definite.
//!
//! # Invariants
//! - A row depends only on its number and the seed, so that every rank generates its own rows of the same matrix.

mod mesh;
mod springs;
mod tetrahedra;

use crate::csr::filled;
use malleable::Csr;
use springs::Springs;
use std::ops::Range;
use std::str::FromStr;

/// Matrix that can be generated.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Model {
    /// Matrix with the size and row lengths of `audikw_1`, the matrix of a crankshaft: 943,695 rows, 77,651,847
    /// non-zeros, 21 to 345 in a row.
    Audikw1,
    /// Springs along the couplings of a box of quadratic tetrahedra, with this many cubes of six in each direction.
    Tetrahedra([u32; 3]),
    /// Laplace operator on the inner points of a cube, with this many along an edge.
    Laplace3d(u32),
}

/// Syntax of models on the command line.
pub const MODELS: &str = "audikw_1|tetrahedra:AxBxC|laplace3d:N";

impl FromStr for Model {
    type Err = ();

    fn from_str(text: &str) -> Result<Self, ()> {
        let (name, size) = text.split_once(':').unwrap_or((text, ""));
        let number = |text: &str| text.parse().ok().filter(|n| (1..=1000).contains(n));
        match name {
            "audikw_1" if size.is_empty() => Ok(Self::Audikw1),
            "laplace3d" => number(size).map(Self::Laplace3d).ok_or(()),
            "tetrahedra" => {
                let cells: Option<Vec<u32>> = size.split('x').map(number).collect();
                let cells = cells.and_then(|cells| cells.try_into().ok()).ok_or(())?;
                let is_small = Springs::new(cells, 0, 0).n_rows() <= MAX_ROWS;
                is_small.then_some(Self::Tetrahedra(cells)).ok_or(())
            }
            _ => Err(()),
        }
    }
}

/// Largest number of rows: columns are numbers of 32 bits.
const MAX_ROWS: usize = u32::MAX as usize;

/// Cubes in each direction for as many nodes as `audikw_1`: 943,695 / 3.
const AUDIKW1_CELLS: [u32; 3] = [7, 33, 156];
/// Couplings of `audikw_1` that such a box lacks.
const AUDIKW1_SPOKES: u64 = 21_410;

/// Generator of a matrix from a seed.
#[derive(Debug)]
pub struct Generator(Kind);

#[derive(Debug)]
enum Kind {
    Springs(Box<Springs>),
    Laplace(Laplace),
}

impl Generator {
    /// Creates the generator of a model; a Laplace operator ignores the seed.
    #[must_use]
    pub fn new(model: Model, seed: u64) -> Self {
        let springs =
            |cells, n_spokes| Kind::Springs(Box::new(Springs::new(cells, n_spokes, seed)));
        Self(match model {
            Model::Audikw1 => springs(AUDIKW1_CELLS, AUDIKW1_SPOKES),
            Model::Tetrahedra(cells) => springs(cells, 0),
            Model::Laplace3d(n) => Kind::Laplace(Laplace::new(n)),
        })
    }

    /// Number of rows.
    #[must_use]
    pub fn n_rows(&self) -> usize {
        match &self.0 {
            Kind::Springs(springs) => springs.n_rows(),
            Kind::Laplace(laplace) => laplace.n_rows(),
        }
    }

    /// Numbers of non-zeros in these rows, without generating them.
    #[must_use]
    pub fn lengths(&self, rows: Range<usize>) -> Vec<u32> {
        match &self.0 {
            Kind::Springs(springs) => springs.lengths(rows),
            Kind::Laplace(laplace) => laplace.lengths(rows),
        }
    }

    /// Generates these rows.
    #[must_use]
    pub fn rows(&self, rows: Range<usize>) -> Csr {
        filled(self.lengths(rows.clone()), |columns, values| match &self.0 {
            Kind::Springs(springs) => springs.fill(rows, columns, values),
            Kind::Laplace(laplace) => laplace.fill(rows, columns, values),
        })
    }
}

/// Laplace operator on a cube with `n` inner points along an edge.
#[derive(Debug)]
struct Laplace {
    n: usize,
}

impl Laplace {
    const fn new(n: u32) -> Self {
        Self { n: n as usize }
    }

    const fn n_rows(&self) -> usize {
        self.n * self.n * self.n
    }

    fn lengths(&self, rows: Range<usize>) -> Vec<u32> {
        rows.map(|row| self.entries(row).map(|_| 1).sum()).collect()
    }

    fn fill(&self, rows: Range<usize>, columns: &mut [u32], values: &mut [f64]) {
        let entries = rows.flat_map(|row| self.entries(row));
        for ((column, value), entry) in columns.iter_mut().zip(values).zip(entries) {
            (*column, *value) = entry;
        }
    }

    /// Columns and values of a row, in ascending order.
    fn entries(&self, row: usize) -> impl Iterator<Item = (u32, f64)> + use<> {
        let n = self.n;
        let (x, y, z) = (row % n, row / n % n, row / (n * n));
        let entry = |is_inside: bool, column: usize, value: f64| {
            is_inside.then(|| (u32::try_from(column).expect("at most 1000 points"), value))
        };
        let entries = [
            entry(z != 0, row.wrapping_sub(n * n), -1.0),
            entry(y != 0, row.wrapping_sub(n), -1.0),
            entry(x != 0, row.wrapping_sub(1), -1.0),
            entry(true, row, 6.0),
            entry(x + 1 != n, row + 1, -1.0),
            entry(y + 1 != n, row + n, -1.0),
            entry(z + 1 != n, row + n * n, -1.0),
        ];
        entries.into_iter().flatten()
    }
}
