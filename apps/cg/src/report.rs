//! Report of a run.

use crate::begin::right_side;
use crate::group::agree;
use crate::solver::unix_s;
use crate::{Arguments, Cg, CgError, Group, vector};
use serde::Serialize;
use std::fmt;

/// Report of a run; times are in seconds.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Report {
    /// Number of rows.
    pub n_rows: u64,
    /// Number of non-zeros.
    pub n_non_zeros: u64,
    /// Number of ranks at the end.
    pub n_ranks: usize,
    /// Number of iterations.
    pub n_iterations: u64,
    /// Whether the residual became small enough.
    pub is_solved: bool,
    /// Norm of the residual, recomputed, relative to that of the right-hand side.
    pub residual: f64,
    /// Largest deviation of the solution from ones, if these are the exact solution.
    pub error: Option<f64>,
    /// Time to read or generate the matrix.
    pub matrix_s: f64,
    /// Time from the first iteration to the last.
    pub iterations_s: f64,
    /// Mean time of an iteration.
    pub iteration_s: f64,
    /// Hash of all bits of the solution.
    pub solution: String,
}

impl Report {
    /// Gathers the solution, writes it if requested, and returns the report on the first rank. All ranks call this.
    ///
    /// # Errors
    /// If MPI fails, or the solution cannot be written.
    pub fn of(cg: &Cg, arguments: &Arguments, group: &impl Group) -> Result<Option<Self>, CgError> {
        let iterations_s = unix_s() - cg.system.began_s;
        let solution = cg.solution(group)?;
        let right_side = right_side(arguments, (cg.n_rows(), &cg.matrix), group)?;
        let residual = cg.residual_length(&right_side, group)?;
        let is_first = group.rank() == 0;
        let written = match &arguments.output {
            Some(path) if is_first => vector::write(path, &solution).map_err(CgError::write(path)),
            _ => Ok(()),
        };
        agree(group, written)?;
        let largest = |largest: f64, x: &f64| largest.max((x - 1.0).abs());
        let is_of_ones = arguments.right_side.is_none();
        let report = Self {
            n_rows: cg.system.n_rows,
            n_non_zeros: cg.system.n_non_zeros,
            n_ranks: group.n_ranks(),
            n_iterations: cg.n_iterations(),
            is_solved: cg.is_solved(),
            residual: residual / cg.system.right_length.max(f64::MIN_POSITIVE),
            error: is_of_ones.then(|| solution.iter().fold(0.0, largest)),
            matrix_s: cg.system.matrix_s,
            iterations_s,
            iteration_s: iterations_s / cg.n_iterations().max(1) as f64,
            solution: format!("{:016x}", fingerprint(&solution)),
        };
        Ok(is_first.then_some(report))
    }
}

/// FNV-1a hash of all bits, one number at a time.
fn fingerprint(numbers: &[f64]) -> u64 {
    let add = |hash: u64, number: &f64| (hash ^ number.to_bits()).wrapping_mul(0x0100_0000_01b3);
    numbers.iter().fold(0xcbf2_9ce4_8422_2325, add)
}

impl fmt::Display for Report {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { n_rows, n_non_zeros, n_ranks, n_iterations, iterations_s, .. } = self;
        let solved = if self.is_solved { "solved" } else { "not solved" };
        write!(
            formatter,
            "{n_rows} rows, {n_non_zeros} non-zeros, {n_ranks} ranks; {solved} after {n_iterations} iterations in \
             {iterations_s:.3} s, {:.6} s each; residual {:.2e}",
            self.iteration_s, self.residual
        )?;
        if let Some(error) = self.error {
            write!(formatter, ", error {error:.2e}")?;
        }
        write!(formatter, "; solution {}", self.solution)
    }
}
