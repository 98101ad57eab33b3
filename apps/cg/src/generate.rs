//! Matrices that are made, not read: symmetric and positive definite.
//!
//! # Invariants
//! - A row depends on its number and the seed only, so that every rank makes its own ones, and all make the same matrix.

mod laplace;
mod mesh;
mod springs;
mod tetrahedra;

use crate::csr::filled;
use laplace::Laplace;
use malleable::Csr;
use springs::Springs;
use std::ops::Range;
use std::str::FromStr;

/// A matrix that can be made.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Model {
    /// Rows and row lengths as the matrix `audikw_1` has them, which is of a crankshaft: 943,695 rows, 77,651,847
    /// non-zeros, 21 to 345 in a row.
    Audikw1,
    /// Springs along the couplings of a box of quadratic tetrahedra, this many cubes of six in each direction.
    Tetrahedra([u32; 3]),
    /// The Laplace operator on the inner points of a cube, this many along an edge.
    Laplace3d(u32),
}

/// What is typed for a model.
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

/// Columns are numbers of 32 bits.
const MAX_ROWS: usize = u32::MAX as usize;

/// Cubes in each direction that have as many nodes as `audikw_1`: 943,695 / 3.
const AUDIKW1_CELLS: [u32; 3] = [7, 33, 156];
/// Couplings that such a box lacks beside `audikw_1`.
const AUDIKW1_SPOKES: u64 = 21_410;

/// A matrix that is made from a seed.
#[derive(Debug)]
pub struct Generator(Kind);

#[derive(Debug)]
enum Kind {
    Springs(Box<Springs>),
    Laplace(Laplace),
}

impl Generator {
    /// This model from this seed; a Laplace operator has no seed.
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

    /// How many rows it has.
    #[must_use]
    pub fn n_rows(&self) -> usize {
        match &self.0 {
            Kind::Springs(springs) => springs.n_rows(),
            Kind::Laplace(laplace) => laplace.n_rows(),
        }
    }

    /// How many non-zeros these rows have, without making them.
    #[must_use]
    pub fn lengths(&self, rows: Range<usize>) -> Vec<u32> {
        match &self.0 {
            Kind::Springs(springs) => springs.lengths(rows),
            Kind::Laplace(laplace) => laplace.lengths(rows),
        }
    }

    /// These rows.
    #[must_use]
    pub fn rows(&self, rows: Range<usize>) -> Csr {
        filled(self.lengths(rows.clone()), |columns, values| match &self.0 {
            Kind::Springs(springs) => springs.fill(rows, columns, values),
            Kind::Laplace(laplace) => laplace.fill(rows, columns, values),
        })
    }
}
