//! Arrays that bound the number of their tasks that may fail.

use std::collections::{BTreeMap, BTreeSet};

use super::JournalRecord;
use crate::terms::SubmissionTerms;

/// Arrays that bound their failures and have tasks that are kept one by one, by the number of their first task.
#[derive(Debug, Default)]
pub struct ArrayTable {
    arrays: BTreeMap<u64, ArrayFailures>,
    /// First numbers of arrays that have come beyond their bound.
    beyond: BTreeSet<u64>,
}

/// Failures of an array.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ArrayFailures {
    /// Number of its last task.
    pub last: u64,
    /// Most tasks that may fail.
    pub n_fails_max: u64,
    /// Tasks that failed for good.
    pub n_failed: u64,
    /// Time at which the others were canceled for that, in ms since 1970.
    pub stopped_ms: Option<u64>,
}

impl ArrayTable {
    /// The array of a submission, if it bounds its failures.
    pub fn get(&self, terms: Option<&SubmissionTerms>) -> Option<&ArrayFailures> {
        let terms = terms.filter(|terms| terms.failures.n_fails_max.is_some())?;
        self.arrays.get(&terms.first)
    }

    pub(super) fn submitted(&mut self, terms: Option<&SubmissionTerms>) {
        if let Some(SubmissionTerms { first, last, failures, .. }) = terms
            && let Some(n_fails_max) = failures.n_fails_max
        {
            let array = ArrayFailures { last: *last, n_fails_max, n_failed: 0, stopped_ms: None };
            self.arrays.entry(*first).or_insert(array);
        }
    }

    /// Counts a task of this submission that failed.
    pub(super) fn failed(&mut self, terms: Option<&SubmissionTerms>) {
        if let Some(terms) = terms.filter(|terms| terms.failures.n_fails_max.is_some())
            && let Some(array) = self.arrays.get_mut(&terms.first)
        {
            array.n_failed = array.n_failed.saturating_add(1);
            if array.n_failed == array.n_fails_max.saturating_add(1) {
                self.beyond.insert(terms.first);
            }
        }
    }

    /// Takes a count over from a record.
    pub(super) fn count(&mut self, first: u64, n_failed: u64, stopped_ms: Option<u64>) {
        if let Some(array) = self.arrays.get_mut(&first) {
            array.n_failed = array.n_failed.max(n_failed);
            array.stopped_ms = stopped_ms.or(array.stopped_ms);
            if array.n_fails_max < array.n_failed {
                self.beyond.insert(first);
            }
        }
    }

    /// Arrays that have come beyond their bound since this was last asked, and are not stopped, with their first numbers.
    pub fn take_beyond(&mut self) -> Vec<(u64, ArrayFailures)> {
        let array = |first: u64| Some((first, *self.arrays.get(&first)?));
        let beyond = std::mem::take(&mut self.beyond).into_iter().filter_map(array);
        beyond.filter(|(_, array)| array.stopped_ms.is_none()).collect()
    }

    pub(super) fn forget(&mut self, first: u64) {
        self.arrays.remove(&first);
    }

    /// Records that hold all counts.
    pub(super) fn records(&self) -> impl Iterator<Item = JournalRecord> {
        let counted = self.arrays.iter().filter(|(_, array)| 0 < array.n_failed);
        counted.map(|(first, array)| JournalRecord::ArrayFailures {
            first: *first,
            n_failed: array.n_failed,
            stopped_ms: array.stopped_ms,
        })
    }
}
