//! Conjugate gradients (Hestenes and Stiefel 1952) on distributed rows.

use crate::blocks::{block_sums, n_blocks, rows_of};
use crate::csr::multiply;
use crate::group::agree;
use crate::{BLOCK_ROWS, CgError, Group};
use bytemuck::{Pod, Zeroable};
use malleable::Csr;
use std::ops::Range;
use std::thread;
use std::time::{Duration, Instant, SystemTime};

/// Settings of the solver.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Settings {
    /// Largest number of iterations.
    pub n_iterations_max: u64,
    /// Norm of the residual, relative to the right-hand side, below which the system is solved.
    pub tolerance: f64,
    /// Whether sums have the same bits on any number of ranks.
    pub is_reproducible: bool,
    /// Smallest time per row on its rank, in microseconds, mostly asleep.
    pub wait_us_per_row: f64,
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            n_iterations_max: 1000,
            tolerance: 1e-8,
            is_reproducible: false,
            wait_us_per_row: 0.0,
        }
    }
}

/// A rank's part of a system being solved, by data class, as for a resize.
///
/// It contains nothing that is needed only within an iteration.
#[derive(Clone, Debug, Default)]
pub struct Cg {
    /// Known to all ranks from their arguments.
    pub(crate) settings: Settings,
    /// Constant, and the same on all ranks.
    pub(crate) system: System,
    /// Constant rows.
    pub(crate) matrix: Csr,
    /// Variable, and the same on all ranks.
    pub(crate) progress: Progress,
    /// Variable rows.
    pub(crate) solution: Vec<f64>,
    /// Variable rows.
    pub(crate) residual: Vec<f64>,
    /// Variable rows.
    pub(crate) direction: Vec<f64>,
    /// Scratch memory: the directions of all ranks, and the matrix times them.
    pub(crate) scratch: (Vec<f64>, Vec<f64>),
}

/// Constants of a system.
#[derive(Clone, Copy, Debug, Default, Pod, Zeroable)]
#[repr(C)]
pub(crate) struct System {
    pub(crate) n_rows: u64,
    pub(crate) n_non_zeros: u64,
    /// Norm of the right-hand side.
    pub(crate) right_length: f64,
    /// Time to read or generate the matrix, in seconds.
    pub(crate) matrix_s: f64,
    /// Start of the iterations, in seconds of Unix time: the last rank 0 may have started later.
    pub(crate) began_s: f64,
}

/// State that one iteration hands to the next.
#[derive(Clone, Copy, Debug, Default, Pod, Zeroable)]
#[repr(C)]
pub(crate) struct Progress {
    /// Square of the residual's norm.
    pub(crate) square: f64,
    pub(crate) n_iterations: u64,
}

impl Cg {
    /// Begins with a solution of zeros.
    ///
    /// # Errors
    /// If MPI fails.
    pub fn new(
        (n_rows, matrix): (usize, Csr),
        right_side: Vec<f64>,
        settings: Settings,
        group: &impl Group,
    ) -> Result<Self, CgError> {
        let mut n_non_zeros = [matrix.n_entries() as f64];
        group.sum(&mut n_non_zeros)?;
        let mut cg = Self {
            settings,
            system: System { n_rows: n_rows as u64, ..System::default() },
            matrix,
            solution: vec![0.0; right_side.len()],
            residual: right_side.clone(),
            direction: right_side,
            ..Self::default()
        };
        cg.progress.square = cg.dot(&cg.residual, &cg.residual, group)?;
        cg.system.n_non_zeros = count(n_non_zeros[0]);
        cg.system.right_length = cg.progress.square.sqrt();
        cg.system.began_s = unix_s();
        Ok(cg)
    }

    /// Returns whether iterations are left; true on a rank that has no data yet.
    #[must_use]
    pub fn goes_on(&self) -> bool {
        let is_empty = self.system.began_s <= 0.0;
        is_empty || !self.is_solved() && self.progress.n_iterations < self.settings.n_iterations_max
    }

    /// Returns whether the residual is small enough, or cannot become smaller.
    #[must_use]
    pub fn is_solved(&self) -> bool {
        let square = self.progress.square;
        square.sqrt() < self.settings.tolerance * self.system.right_length || square <= 0.0
    }

    /// Computes an iteration.
    ///
    /// With `A` the matrix and `d`, `r`, `x` the direction, the residual and the solution:
    /// `z = A d`, `rho = (r r)/(d z)`, `x += rho d`, `r -= rho z`, `d = r + (r r)/(r r before) d`.
    ///
    /// # Errors
    /// If the matrix is not positive definite, or MPI fails.
    pub fn step(&mut self, group: &impl Group) -> Result<(), CgError> {
        let (mut all, mut product) = std::mem::take(&mut self.scratch);
        self.multiply(&self.direction, (&mut all, &mut product), group)?;
        let curvature = self.dot(&self.direction, &product, group)?;
        if curvature.is_nan() || curvature <= 0.0 {
            let n_iterations = self.progress.n_iterations;
            return agree(group, Err(CgError::NotPositive { n_iterations, curvature }));
        }
        let rho = self.progress.square / curvature;
        add(&mut self.solution, rho, &self.direction);
        add(&mut self.residual, -rho, &product);
        self.scratch = (all, product);
        let before = self.progress.square;
        self.progress.square = self.dot(&self.residual, &self.residual, group)?;
        let share = self.progress.square / before;
        for (direction, residual) in self.direction.iter_mut().zip(&self.residual) {
            *direction = residual + share * *direction;
        }
        self.progress.n_iterations += 1;
        Ok(())
    }

    /// Norm of the residual, recomputed from the solution.
    ///
    /// # Errors
    /// If MPI fails.
    pub fn residual_length(&self, right_side: &[f64], group: &impl Group) -> Result<f64, CgError> {
        let (mut all, mut product) = (Vec::new(), Vec::new());
        self.multiply(&self.solution, (&mut all, &mut product), group)?;
        for (product, right_side) in product.iter_mut().zip(right_side) {
            *product = right_side - *product;
        }
        Ok(self.dot(&product, &product, group)?.sqrt())
    }

    /// Gathers the solution of all ranks.
    ///
    /// # Errors
    /// If MPI fails.
    pub fn solution(&self, group: &impl Group) -> Result<Vec<f64>, CgError> {
        let n_rows = self.n_rows();
        let mut all = vec![0.0; n_rows];
        let lengths =
            lengths(group.n_ranks(), |rank| rows_of(self.n_rows(), rank, group.n_ranks()));
        group.gather(&self.solution, &lengths, &mut all)?;
        Ok(all)
    }

    /// Number of rows on all ranks.
    #[must_use]
    pub fn n_rows(&self) -> usize {
        usize::try_from(self.system.n_rows).unwrap_or(usize::MAX)
    }

    /// Number of iterations done.
    #[must_use]
    pub const fn n_iterations(&self) -> u64 {
        self.progress.n_iterations
    }

    /// Norm of the residual that the iterations update.
    #[must_use]
    pub fn followed_length(&self) -> f64 {
        self.progress.square.sqrt()
    }

    /// Rows of this rank.
    #[must_use]
    pub const fn matrix(&self) -> &Csr {
        &self.matrix
    }

    /// Multiplies the matrix with a vector, of which each rank has its rows; `all` becomes the
    /// whole vector.
    fn multiply(
        &self,
        vector: &[f64],
        (all, product): (&mut Vec<f64>, &mut Vec<f64>),
        group: &impl Group,
    ) -> Result<(), CgError> {
        let began = Instant::now();
        all.resize(self.n_rows(), 0.0);
        product.resize(self.matrix.n_rows(), 0.0);
        let lengths =
            lengths(group.n_ranks(), |rank| rows_of(self.n_rows(), rank, group.n_ranks()));
        group.gather(vector, &lengths, all)?;
        multiply(&self.matrix, all, product);
        let wait_s = 1e-6 * self.settings.wait_us_per_row * self.matrix.n_rows() as f64;
        thread::sleep(Duration::from_secs_f64(wait_s).saturating_sub(began.elapsed()));
        Ok(())
    }

    fn dot(&self, a: &[f64], b: &[f64], group: &impl Group) -> Result<f64, CgError> {
        let own = block_sums(a, b);
        if !self.settings.is_reproducible {
            let mut sum = [own.iter().sum()];
            group.sum(&mut sum)?;
            return Ok(sum[0]);
        }
        let mut all = vec![0.0; n_blocks(self.n_rows())];
        let lengths = lengths(group.n_ranks(), |rank| {
            let rows = rows_of(self.n_rows(), rank, group.n_ranks());
            rows.start / BLOCK_ROWS..rows.end.div_ceil(BLOCK_ROWS)
        });
        group.gather(&own, &lengths, &mut all)?;
        Ok(all.iter().sum())
    }
}

/// Converts a count that was summed as a float.
#[expect(clippy::cast_possible_truncation, reason = "far below the numbers that are not whole")]
#[expect(clippy::cast_sign_loss, reason = "a count")]
pub(crate) fn count(number: f64) -> u64 {
    number as u64
}

pub(crate) fn unix_s() -> f64 {
    SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default().as_secs_f64()
}

fn add(vector: &mut [f64], factor: f64, other: &[f64]) {
    for (number, other) in vector.iter_mut().zip(other) {
        *number += factor * other;
    }
}

fn lengths(n_ranks: usize, part: impl Fn(usize) -> Range<usize>) -> Vec<usize> {
    (0..n_ranks).map(|rank| part(rank).len()).collect()
}
