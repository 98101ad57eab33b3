//! Start of a run: all ranks together read or generate the matrix.

use crate::blocks::rows_of;
use crate::csr::multiply;
use crate::generate::Generator;
use crate::group::agree;
use crate::{Arguments, Cg, CgError, Group, Source, market, vector};
use malleable::Csr;
use std::time::Instant;

impl Cg {
    /// Creates an empty part, for a rank that gets its data from others.
    #[must_use]
    pub fn empty(arguments: &Arguments) -> Self {
        Self { settings: arguments.settings, ..Self::default() }
    }

    /// Reads or generates this rank's rows, and begins the iterations.
    ///
    /// # Errors
    /// If files are not valid or MPI fails: the reason on one rank, [`CgError::Elsewhere`] on the others.
    pub fn begin(arguments: &Arguments, group: &impl Group) -> Result<Self, CgError> {
        let began = Instant::now();
        let (n_rows, matrix) = matrix(arguments, group)?;
        let matrix_s = began.elapsed().as_secs_f64();
        let right_side = right_side(arguments, (n_rows, &matrix), group)?;
        let mut cg = Self::new((n_rows, matrix), right_side, arguments.settings, group)?;
        cg.system.matrix_s = matrix_s;
        Ok(cg)
    }
}

fn matrix(arguments: &Arguments, group: &impl Group) -> Result<(usize, Csr), CgError> {
    match &arguments.source {
        Some(Source::File(path)) => market::read(path, group),
        Some(Source::Model(model)) => {
            let generator = Generator::new(*model, arguments.seed);
            let n_rows = generator.n_rows();
            Ok((n_rows, generator.rows(rows_of(n_rows, group.rank(), group.n_ranks()))))
        }
        None => Err(CgError::NoMatrix { found: "no" }),
    }
}

/// A rank's part of the right-hand side: from a file, or that of a solution of ones.
pub(crate) fn right_side(
    arguments: &Arguments,
    (n_rows, matrix): (usize, &Csr),
    group: &impl Group,
) -> Result<Vec<f64>, CgError> {
    let Some(path) = &arguments.right_side else { return Ok(of_ones(n_rows, matrix)) };
    let whole = agree(group, vector::read(path, n_rows).map_err(CgError::from))?;
    Ok(whole[rows_of(n_rows, group.rank(), group.n_ranks())].to_vec())
}

/// Right-hand side of a solution of ones.
#[must_use]
pub fn of_ones(n_rows: usize, matrix: &Csr) -> Vec<f64> {
    let mut right_side = vec![0.0; matrix.n_rows()];
    multiply(matrix, &vec![1.0; n_rows], &mut right_side);
    right_side
}
