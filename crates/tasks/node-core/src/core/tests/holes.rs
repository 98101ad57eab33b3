//! Damage to journals: lost records.

use super::world::World;
use crate::book::JournalRecord;

impl World {
    /// Removes some consecutive records of the node. Records of submissions are in a journal twice, and stay.
    pub(super) fn damage(&mut self, idx: usize) {
        let records = &mut self.nodes[idx].records;
        if records.is_empty() {
            return;
        }
        let begin = self.random.below(records.len());
        let end = records.len().min(begin + 1 + self.random.below(5));
        let is_twice = |record: &JournalRecord| {
            0 < record.n_submitted() || matches!(record, JournalRecord::Around { .. })
        };
        let hole = records.splice(begin..end, []).collect::<Vec<_>>();
        let kept = hole.into_iter().filter(is_twice);
        let doubted = JournalRecord::Doubted { first: 1, last: u64::MAX };
        let kept = kept.chain([doubted]).collect::<Vec<_>>();
        records.splice(begin..begin, kept);
    }
}
