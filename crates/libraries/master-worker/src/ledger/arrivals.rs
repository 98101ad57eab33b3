//! Tasks that arrive while an iteration runs.

use super::{Ledger, Wishes};
use std::ops::Range;

impl Ledger {
    /// Adds tasks to the iteration, whose numbers follow those of its tasks so far.
    pub(crate) fn extend(&mut self, arrived: Range<u64>, wishes: &Wishes) {
        self.n_tasks_open += arrived.end - arrived.start;
        self.pool.add(arrived, wishes);
        self.restart();
    }
}
