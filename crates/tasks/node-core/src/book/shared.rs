//! Surroundings that many tasks share, stored once.

use std::collections::HashMap;
use std::sync::Arc;

use crate::attempt::{ExecContext, Work};
use crate::peer_message::SharedWork;
use crate::terms::SubmissionTerms;

/// Surroundings by number, and numbers by surroundings.
#[derive(Debug, Default)]
pub(super) struct Shared {
    by_idx: HashMap<u32, Arc<ExecContext>>,
    idx_of: HashMap<Arc<ExecContext>, u32>,
    next: u32,
}

impl Shared {
    /// Defines `idx` as these surroundings. Works that used the number for others keep those, under another number:
    /// the journal of a damaged disk may define a number twice.
    pub(super) fn learn(&mut self, idx: u32, around: &ExecContext) {
        if self.by_idx.get(&idx).is_some_and(|known| **known == *around) {
            return;
        }
        self.next = self.next.max(idx.saturating_add(1));
        let known = self.idx_of.get_key_value(around).map(|(around, _)| around.clone());
        let around = known.unwrap_or_else(|| Arc::new(around.clone()));
        let before = self.by_idx.insert(idx, around.clone());
        self.idx_of.insert(around, idx);
        if let Some(before) = before
            && self.idx_of.get(&before) == Some(&idx)
        {
            let free = self.free();
            self.by_idx.insert(free, before.clone());
            self.idx_of.insert(before, free);
        }
    }

    /// A number that is not in use.
    fn free(&mut self) -> u32 {
        if self.by_idx.contains_key(&self.next) {
            let n_known = u32::try_from(self.by_idx.len()).unwrap_or(u32::MAX);
            self.next =
                (0..=n_known).find(|idx| !self.by_idx.contains_key(idx)).unwrap_or(u32::MAX);
        }
        let free = self.next;
        self.next = free.saturating_add(1);
        free
    }

    /// Number of these surroundings, if they have one; else, as the error, the number that they are to get.
    pub(super) fn number(&self, around: &ExecContext) -> Result<u32, u32> {
        self.idx_of.get(around).copied().ok_or(self.next)
    }

    /// The work, if its surroundings are known.
    pub(super) fn work(
        &self,
        work: &SharedWork,
        terms: Option<&SubmissionTerms>,
    ) -> Option<Arc<Work>> {
        let around = self.by_idx.get(&work.around_idx)?.clone();
        let title = work.title.as_deref().map(Box::from);
        let work = Work::from_words(title, work.words.as_str().into(), around);
        Some(Arc::new(work.with_terms(terms.cloned().map(Arc::new))))
    }

    /// Forgets surroundings that no task uses any more, and returns the others with their numbers.
    pub(super) fn forget_unused(&mut self) -> Vec<(u32, Arc<ExecContext>)> {
        let idx_of = &self.idx_of;
        self.by_idx.retain(|idx, around| idx_of.get(around) == Some(idx));
        // Each of the two tables holds one reference.
        self.idx_of.retain(|around, _| 2 < Arc::strong_count(around));
        let idx_of = &self.idx_of;
        self.by_idx.retain(|_, around| idx_of.contains_key(around));
        self.by_idx.iter().map(|(idx, around)| (*idx, around.clone())).collect()
    }
}
