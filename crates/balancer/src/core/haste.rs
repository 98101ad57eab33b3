//! Tasks that are over before the next order comes: then cores wait for orders, and not for tasks.
//!
//! Where many tasks of one submission have ended within moments, as many more of it are ordered as there is room for.
//! The keeper starts each of them when another has ended; the first that takes longer ends that, and those that have
//! not begun come back.

use std::sync::Arc;

use super::words::Work;

/// A task that takes as long as starting a few.
const MOMENT_MS: u64 = 20;
/// So many in a row, and the next is believed to be as short.
const N_SHORT_MIN: u32 = 32;

/// How short the tasks were that ended last.
#[derive(Debug, Default)]
pub(super) struct Haste {
    work: Option<Arc<Work>>,
    n_short: u32,
}

impl Haste {
    /// A task of this submission has ended after so long.
    pub(super) fn ended(&mut self, work: &Arc<Work>, ms: u64) {
        let same = self.work.as_ref().is_some_and(|last| Arc::ptr_eq(last, work));
        if MOMENT_MS < ms {
            self.n_short = 0;
        } else if same {
            self.n_short = self.n_short.saturating_add(1);
        } else {
            self.work = Some(work.clone());
            self.n_short = 1;
        }
    }

    /// Tasks that were ordered before their turn had to wait.
    pub(super) fn waited(&mut self) {
        self.n_short = 0;
    }

    /// How many tasks may be ordered, where the next one is of this submission and `n_slots` run at once.
    pub(super) fn n_orders(&self, next: Option<&Arc<Work>>, n_slots: usize) -> usize {
        let work = self.work.as_ref().filter(|_| N_SHORT_MIN <= self.n_short);
        let as_short = work.zip(next).is_some_and(|(last, next)| Arc::ptr_eq(last, next));
        if as_short { 2 * n_slots } else { n_slots }
    }
}
