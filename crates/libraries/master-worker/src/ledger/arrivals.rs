//! Tasks that arrive while an iteration runs.

use super::Ledger;

impl Ledger {
    /// Adds `n_new` tasks to the iteration; their numbers follow those of its `n_before` tasks.
    pub(crate) fn extend(&mut self, n_before: u64, n_new: u64) {
        self.pool.append(n_before, n_new);
        self.n_tasks_open += n_new;
        self.restart();
    }
}
