//! What many tasks have in common, kept once.

use std::collections::HashMap;
use std::sync::Arc;

use crate::core::words::{SharedWork, Surroundings, Work};

/// Surroundings by number, and numbers by surroundings.
#[derive(Debug, Default)]
pub(super) struct Shared {
    by_idx: HashMap<u32, Arc<Surroundings>>,
    idx_of: HashMap<Arc<Surroundings>, u32>,
    next: u32,
}

impl Shared {
    /// From now on, `idx` means these.
    pub(super) fn learn(&mut self, idx: u32, around: &Surroundings) {
        if self.by_idx.get(&idx).is_some_and(|known| **known == *around) {
            return;
        }
        let around = Arc::new(around.clone());
        self.by_idx.insert(idx, around.clone());
        self.idx_of.insert(around, idx);
        self.next = self.next.max(idx.saturating_add(1));
    }

    /// The number of these surroundings, if they have one; else the one that they are to get.
    pub(super) fn number(&self, around: &Surroundings) -> Result<u32, u32> {
        self.idx_of.get(around).copied().ok_or(self.next)
    }

    /// The work, if its surroundings are known.
    pub(super) fn work(&self, work: &SharedWork) -> Option<Arc<Work>> {
        let around = self.by_idx.get(&work.around_idx)?.clone();
        let title = work.title.as_deref().map(Box::from);
        Some(Arc::new(Work::from_words(title, work.words.as_str().into(), around)))
    }

    /// Forgets what no task uses any more, and gives the numbers of the others.
    pub(super) fn forget_unused(&mut self) -> Vec<(u32, Arc<Surroundings>)> {
        // One for each of the two tables.
        self.idx_of.retain(|around, _| 2 < Arc::strong_count(around));
        let idx_of = &self.idx_of;
        self.by_idx.retain(|_, around| idx_of.contains_key(around));
        self.by_idx.iter().map(|(idx, around)| (*idx, around.clone())).collect()
    }
}
