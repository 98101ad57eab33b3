//! Set of tasks as disjoint ranges of their numbers.

use std::collections::BTreeMap;
use std::ops::Range;

/// Tasks that are left to deal.
///
/// # Invariants
/// - Ranges are not empty, do not overlap, and do not touch: each is as long as it can be.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TaskSet {
    /// Ends of the ranges, by their starts.
    ends: BTreeMap<u64, u64>,
    n_tasks: u64,
}

impl TaskSet {
    /// Tasks `0..n_tasks`.
    pub fn new(n_tasks: u64) -> Self {
        let mut set = Self::default();
        set.insert(0..n_tasks);
        set
    }

    /// Number of tasks.
    pub fn n_tasks(&self) -> u64 {
        self.n_tasks
    }

    /// Returns the first range; `None` where no task is left.
    pub fn first(&self) -> Option<Range<u64>> {
        self.ends.first_key_value().map(|(start, end)| *start..*end)
    }

    /// Returns the first `n_tasks` tasks, or as many as lie together there; at least one, if any is left.
    pub fn first_few(&self, n_tasks: u64) -> Range<u64> {
        let Range { start, end } = self.first().unwrap_or(0..0);
        start..end.min(start.saturating_add(n_tasks.max(1)))
    }

    /// Returns what a range that is left has from task `at` on: of the range with this task or, where it is not left,
    /// of the next one.
    pub fn from(&self, at: u64) -> Option<Range<u64>> {
        if let Some(found) = self.around(at) {
            return Some(at..found.end);
        }
        self.ends.range(at..).next().map(|(start, end)| *start..*end)
    }

    /// Returns the range that a task lies in; `None` where it is not left.
    pub fn around(&self, task: u64) -> Option<Range<u64>> {
        let (start, end) = self.ends.range(..=task).next_back()?;
        (task < *end).then_some(*start..*end)
    }

    /// Returns whether all these tasks are left; none are.
    pub fn has_all(&self, tasks: &Range<u64>) -> bool {
        tasks.is_empty() || self.around(tasks.start).is_some_and(|found| tasks.end <= found.end)
    }

    /// Returns all ranges in order.
    pub fn ranges(&self) -> impl Iterator<Item = Range<u64>> + '_ {
        self.ends.iter().map(|(start, end)| *start..*end)
    }

    /// Adds tasks; those that are in the set already stay.
    pub fn insert(&mut self, tasks: Range<u64>) {
        if tasks.is_empty() {
            return;
        }
        let Range { mut start, mut end } = tasks;
        while let Some((s, e)) = self.ends.range(..=end).next_back().map(|(s, e)| (*s, *e)) {
            if e < start {
                break;
            }
            self.ends.remove(&s);
            self.n_tasks -= e - s;
            (start, end) = (start.min(s), end.max(e));
        }
        self.ends.insert(start, end);
        self.n_tasks += end - start;
    }

    /// Removes tasks; returns the ranges that were left of them.
    pub fn remove(&mut self, tasks: Range<u64>) -> Vec<Range<u64>> {
        let mut removed = Vec::new();
        let mut at = tasks.start;
        while at < tasks.end
            && let Some(found) = self.from(at)
            && found.start < tasks.end
        {
            let cut = found.start..found.end.min(tasks.end);
            self.cut(&cut);
            at = cut.end;
            removed.push(cut);
        }
        removed
    }

    /// Removes tasks of one range.
    fn cut(&mut self, tasks: &Range<u64>) {
        let Some(Range { start, end }) = self.around(tasks.start) else { return };
        if start < tasks.start {
            self.ends.insert(start, tasks.start);
        } else {
            self.ends.remove(&start);
        }
        if tasks.end < end {
            self.ends.insert(tasks.end, end);
        }
        self.n_tasks -= tasks.end - tasks.start;
    }

    /// Removes all tasks.
    pub fn clear(&mut self) {
        self.ends.clear();
        self.n_tasks = 0;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::BTreeSet;

    fn ranges(set: &TaskSet) -> Vec<(u64, u64)> {
        set.ranges().map(|range| (range.start, range.end)).collect()
    }

    #[test]
    fn what_touches_is_one_range() {
        let mut set = TaskSet::new(10);
        assert_eq!(set.remove(3..5).first(), Some(&(3..5)));
        assert_eq!(ranges(&set), [(0, 3), (5, 10)]);
        assert_eq!(set.remove(2..7), [2..3, 5..7]);
        assert_eq!((set.from(0), set.from(1), set.from(2)), (Some(0..2), Some(1..2), Some(7..10)));
        assert_eq!((set.from(9), set.from(10)), (Some(9..10), None));
        set.insert(2..7);
        assert_eq!(ranges(&set), [(0, 10)]);
    }

    proptest! {
        #[test]
        fn it_is_a_set(
            deeds in prop::collection::vec((any::<bool>(), 0..40_u64, 0..40_u64), 0..40),
            at in 0..41_u64,
        ) {
            let (mut set, mut expected) = (TaskSet::default(), BTreeSet::new());
            for (is_in, a, b) in deeds {
                let tasks = a.min(b)..a.max(b);
                if is_in {
                    set.insert(tasks.clone());
                    expected.extend(tasks);
                } else {
                    let removed: Vec<u64> = set.remove(tasks.clone()).into_iter().flatten().collect();
                    let gone: Vec<u64> = tasks.filter(|task| expected.remove(task)).collect();
                    prop_assert_eq!(removed, gone);
                }
                prop_assert_eq!(set.n_tasks(), expected.len() as u64);
            }
            let found: Vec<u64> = set.ranges().flatten().collect();
            prop_assert_eq!(&found, &expected.iter().copied().collect::<Vec<_>>());
            let starts: Vec<_> = set.ranges().collect();
            prop_assert!(starts.windows(2).all(|two| two[0].end < two[1].start));
            let next = expected.range(at..).next().copied();
            prop_assert_eq!(set.from(at).map(|found| found.start), next);
            prop_assert_eq!(set.around(at).is_some(), expected.contains(&at));
        }
    }
}
