//! Pool of the tasks that no worker holds.

use chunking::TaskSet;
use std::cmp::Reverse;
use std::collections::BTreeMap;
use std::ops::Range;

/// Range of tasks with the same priority and history of failures.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct TaskGroup {
    pub(crate) tasks: Range<u64>,
    pub(crate) priority: i32,
    /// Number of times that these tasks failed.
    pub(crate) n_failed: u32,
    /// Rank on which they failed last.
    pub(crate) avoid: Option<u32>,
    /// Number of times that a worker was missed with them, which may still compute them.
    pub(crate) n_missed: u32,
}

impl TaskGroup {
    /// Tasks that were never dealt.
    pub(crate) fn new(tasks: Range<u64>, priority: i32) -> Self {
        Self { tasks, priority, n_failed: 0, avoid: None, n_missed: 0 }
    }

    pub(crate) fn n_tasks(&self) -> u64 {
        self.tasks.end - self.tasks.start
    }
}

/// Order of dealing: tasks that another worker may still compute last; tasks that failed first, then by priority. Tasks
/// that failed on one rank are apart from others.
type Key = (u32, Reverse<(u32, i32)>, Option<u32>);

fn key(part: &TaskGroup) -> Key {
    (part.n_missed, Reverse((part.n_failed, part.priority)), part.avoid)
}

/// Tasks to deal, in order of dealing.
///
/// # Invariants
/// - Sets do not overlap, and none is empty.
#[derive(Debug, Default)]
pub(crate) struct Pool {
    sets: BTreeMap<Key, TaskSet>,
    n_tasks: u64,
}

impl Pool {
    /// Tasks `0..n_tasks` with these priorities, and 0 for the others; where two ranges overlap, the
    /// first one counts.
    pub(crate) fn new(n_tasks: u64, priorities: &[(Range<u64>, i32)]) -> Self {
        let mut pool = Self::default();
        let mut others = TaskSet::new(n_tasks);
        for (tasks, priority) in priorities {
            for covered in others.remove(tasks.clone()) {
                pool.put(TaskGroup::new(covered, *priority));
            }
        }
        for tasks in others.ranges() {
            pool.put(TaskGroup::new(tasks, 0));
        }
        pool
    }

    pub(crate) fn n_tasks(&self) -> u64 {
        self.n_tasks
    }

    /// Adds tasks.
    pub(crate) fn put(&mut self, part: TaskGroup) {
        if !part.tasks.is_empty() {
            self.n_tasks += part.n_tasks();
            self.sets.entry(key(&part)).or_default().insert(part.tasks);
        }
    }

    /// Adds `n_new` tasks from number `start` on.
    pub(crate) fn append(&mut self, start: u64, n_new: u64) {
        self.put(TaskGroup::new(start..start + n_new, 0));
    }

    /// Returns whether there are tasks for a worker; tasks that failed on it count only when it
    /// `may_repeat`.
    pub(crate) fn has_for(&self, worker: u32, may_repeat: bool) -> bool {
        self.sets.keys().any(|(_, _, avoid)| may_repeat || *avoid != Some(worker))
    }

    /// Takes tasks for a worker: those that `pick` chooses, of one range of the tasks that come next. `None` where it
    /// chooses none, or there are none for the worker.
    pub(crate) fn take(
        &mut self,
        worker: u32,
        may_repeat: bool,
        pick: impl FnOnce(&TaskSet) -> Range<u64>,
    ) -> Option<TaskGroup> {
        let mut sets = self.sets.iter_mut();
        let (&key, set) = sets.find(|((_, _, avoid), _)| may_repeat || *avoid != Some(worker))?;
        let tasks = pick(set);
        if tasks.is_empty() || !set.has_all(&tasks) {
            return None;
        }
        set.remove(tasks.clone());
        if set.n_tasks() == 0 {
            self.sets.remove(&key);
        }
        let (n_missed, Reverse((n_failed, priority)), avoid) = key;
        let taken = TaskGroup { tasks, priority, n_failed, avoid, n_missed };
        self.n_tasks -= taken.n_tasks();
        Some(taken)
    }

    /// Number of these tasks that are in the pool.
    pub(crate) fn n_among(&self, tasks: &Range<u64>) -> u64 {
        let n_in = |set: &TaskSet| -> u64 {
            let ranges = set.ranges();
            let shared =
                ranges.map(|one| one.end.min(tasks.end).saturating_sub(one.start.max(tasks.start)));
            shared.sum()
        };
        self.sets.values().map(n_in).sum()
    }

    /// Removes these tasks, those of them that are in the pool.
    pub(crate) fn remove(&mut self, tasks: &Range<u64>) {
        for set in self.sets.values_mut() {
            let removed = set.remove(tasks.clone());
            self.n_tasks -= removed.iter().map(|range| range.end - range.start).sum::<u64>();
        }
        self.sets.retain(|_, set| set.n_tasks() != 0);
    }

    /// Removes all tasks.
    pub(crate) fn clear(&mut self) {
        self.sets.clear();
        self.n_tasks = 0;
    }
}

/// Rounds down to whole tasks, at least one.
#[expect(clippy::cast_possible_truncation, reason = "a conversion of floats saturates")]
#[expect(clippy::cast_sign_loss, reason = "a conversion of floats saturates")]
pub(super) fn whole(n_tasks: f64) -> u64 {
    n_tasks.max(1.0) as u64
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn take(pool: &mut Pool, worker: u32, n_tasks: u64, may_repeat: bool) -> Option<TaskGroup> {
        pool.take(worker, may_repeat, |left| left.first_few(n_tasks))
    }

    /// Deals all tasks to worker 1 in chunks of 4.
    #[track_caller]
    fn check(n_tasks: u64, priorities: &[(Range<u64>, i32)], expected: &[(u64, u64)]) {
        let mut pool = Pool::new(n_tasks, priorities);
        let dealt: Vec<_> = std::iter::from_fn(|| take(&mut pool, 1, 4, false)).collect();
        let dealt: Vec<_> = dealt.iter().map(|part| (part.tasks.start, part.tasks.end)).collect();
        assert_eq!((dealt.as_slice(), pool.n_tasks()), (expected, 0));
    }

    #[test]
    fn tasks_are_dealt_by_priority_then_by_number() {
        check(0, &[], &[]);
        check(6, &[], &[(0, 4), (4, 6)]);
        check(6, &[(4..6, 1)], &[(4, 6), (0, 4)]);
        check(6, &[(0..2, -1)], &[(2, 6), (0, 2)]);
        check(9, &[(2..4, 1), (3..5, 2), (7..99, 1)], &[(4, 5), (2, 4), (7, 9), (0, 2), (5, 7)]);
        check(3, &[(5..9, 1), (1..1, 4)], &[(0, 3)]);
    }

    #[test]
    fn what_failed_comes_first_but_elsewhere() {
        let mut pool = Pool::new(4, &[]);
        let failed =
            TaskGroup { n_failed: 1, avoid: Some(1), ..take(&mut pool, 1, 2, false).unwrap() };
        pool.put(failed.clone());
        assert_eq!(take(&mut pool, 1, 1, false), Some(TaskGroup::new(2..3, 0)));
        assert!(pool.has_for(2, false) && pool.has_for(1, false));
        assert_eq!(take(&mut pool, 2, 9, false), Some(failed.clone()));
        pool.put(failed.clone());
        assert_eq!(take(&mut pool, 1, 9, false), Some(TaskGroup::new(3..4, 0)));
        assert!(!pool.has_for(1, false) && pool.has_for(1, true));
        assert_eq!(
            (take(&mut pool, 1, 9, false), take(&mut pool, 1, 9, true)),
            (None, Some(failed))
        );
    }

    #[test]
    fn what_arrives_is_dealt_with_what_waits_before_it() {
        let mut pool = Pool::new(3, &[]);
        pool.append(3, 2);
        assert_eq!(take(&mut pool, 1, 4, false), Some(TaskGroup::new(0..4, 0)));
        pool.append(5, 3);
        assert_eq!(pool.n_tasks(), 4);
        assert_eq!(take(&mut pool, 1, 9, false), Some(TaskGroup::new(4..8, 0)));
        pool.append(8, 1);
        assert_eq!(take(&mut pool, 1, 9, false), Some(TaskGroup::new(8..9, 0)));
        assert_eq!(pool.n_tasks(), 0);
    }

    proptest! {
        #[test]
        fn every_task_is_in_one_part(
            n_tasks in 0u64..50,
            priorities in prop::collection::vec(((0u64..60, 0u64..60), -2..3), 0..6),
        ) {
            let priorities: Vec<_> =
                priorities.into_iter().map(|((a, b), priority)| (a.min(b)..b, priority)).collect();
            let mut pool = Pool::new(n_tasks, &priorities);
            prop_assert_eq!(pool.n_tasks(), n_tasks);
            let mut seen: Vec<u64> = std::iter::from_fn(|| take(&mut pool, 1, 3, false))
                .flat_map(|part| {
                    for task in part.tasks.clone() {
                        let of_task = priorities.iter().find(|(tasks, _)| tasks.contains(&task));
                        assert_eq!(of_task.map_or(0, |(_, priority)| *priority), part.priority);
                    }
                    part.tasks
                })
                .collect();
            seen.sort_unstable();
            prop_assert_eq!(seen, (0..n_tasks).collect::<Vec<_>>());
        }
    }
}
