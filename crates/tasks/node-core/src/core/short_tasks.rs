//! Expedites short tasks, which end before the next order arrives, so that cores would wait for orders.
//!
//! Where many tasks of one submission have ended quickly, as many more of it are ordered ahead as there is room
//! for. The keeper starts each of them when another has ended; the first one that takes longer stops this, and
//! those that have not begun are returned.

use std::sync::Arc;

use crate::interface::Work;

/// Longest time of a short task, in ms: as long as starting a few tasks.
const MOMENT_MS: u64 = 20;
/// Number of short tasks in a row after which the next is expected to be short too.
const N_SHORT_MIN: u32 = 32;

/// Recent sequence of short tasks of one submission.
#[derive(Debug, Default)]
pub(super) struct ShortTaskDetector {
    work: Option<Arc<Work>>,
    n_short: u32,
}

impl ShortTaskDetector {
    /// Notes that a task of this submission has ended after `ms`.
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

    /// Notes that tasks that were ordered ahead had to wait.
    pub(super) fn waited(&mut self) {
        self.n_short = 0;
    }

    /// Number of tasks that may be ordered, where the next one is of this submission and `n_slots` run at once.
    pub(super) fn n_orders(&self, next: Option<&Arc<Work>>, n_slots: usize) -> usize {
        let work = self.work.as_ref().filter(|_| N_SHORT_MIN <= self.n_short);
        let as_short = work.zip(next).is_some_and(|(last, next)| Arc::ptr_eq(last, next));
        if as_short { 2 * n_slots } else { n_slots }
    }
}
