//! The beginning of a run: the matrix is read or made, by all ranks together.

use crate::blocks::rows_of;
use crate::error::agree;
use crate::generate::Generator;
use crate::{Arguments, Cg, CgError, Group, Source, market, vector};

impl Cg {
    /// Each rank its rows.
    ///
    /// # Errors
    /// When files are wrong or MPI fails: on one rank with the reason, on the others with [`CgError::Elsewhere`].
    pub fn begin(arguments: &Arguments, group: &impl Group) -> Result<Self, CgError> {
        let (n_rows, matrix) = match &arguments.source {
            Some(Source::File(path)) => market::read(path, group)?,
            Some(Source::Model(model)) => {
                let generator = Generator::new(*model, arguments.seed);
                let n_rows = generator.n_rows();
                (n_rows, generator.rows(rows_of(n_rows, group.rank(), group.n_ranks())))
            }
            None => return Err(CgError::NoMatrix { found: "no" }),
        };
        let own = rows_of(n_rows, group.rank(), group.n_ranks());
        let right_side = arguments.right_side.as_ref().map(|path| {
            let whole = vector::read(path, n_rows).map_err(CgError::from);
            agree(group, whole).map(|whole| whole[own].to_vec())
        });
        Self::new(matrix, n_rows, right_side.transpose()?, arguments.settings, group)
    }
}
