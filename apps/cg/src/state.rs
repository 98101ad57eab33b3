//! State of the solver that moves when the number of ranks changes.

use crate::{BLOCK_ROWS, Cg};
use malleable::{Cut, Data, State};

impl State for Cg {
    fn data<'a>(&'a mut self, data: &mut Data<'a>) {
        data.rows_of(self.system.n_rows, Cut::Aligned(BLOCK_ROWS as u64));
        data.constant_csr("matrix", &mut self.matrix);
        for vector in [&mut self.solution, &mut self.residual, &mut self.direction] {
            data.rows("vector", vector);
        }
        data.constant("system", &mut self.system);
        data.variable("progress", &mut self.progress);
    }
}
