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
    /// Rank of the worker that is to have them if it can.
    pub(crate) near: Option<u32>,
}

impl TaskGroup {
    /// Tasks that were never dealt.
    pub(crate) fn new(tasks: Range<u64>, priority: i32) -> Self {
        Self { tasks, priority, n_failed: 0, avoid: None, n_missed: 0, near: None }
    }

    pub(crate) fn n_tasks(&self) -> u64 {
        self.tasks.end - self.tasks.start
    }
}

/// Priorities of tasks, and workers that are to have them; where ranges overlap, the first one counts.
#[derive(Clone, Debug, Default)]
pub(crate) struct Wishes {
    pub(crate) priorities: Vec<(Range<u64>, i32)>,
    pub(crate) near: Vec<(Range<u64>, u32)>,
    /// True where tasks that none of these are of stay with the workers that did them before.
    pub(crate) keeps_places: bool,
}

/// Order of dealing: tasks that another worker may still compute last; tasks that failed first, then by priority. Tasks
/// that failed on one rank, or are to be on one, are apart from others.
type Key = (u32, Reverse<(u32, i32)>, Option<u32>, Option<u32>);

fn key(part: &TaskGroup) -> Key {
    (part.n_missed, Reverse((part.n_failed, part.priority)), part.avoid, part.near)
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
    /// Tasks `0..n_tasks`, as these wishes have them.
    pub(crate) fn new(n_tasks: u64, wishes: &Wishes) -> Self {
        let mut pool = Self::default();
        pool.add(0..n_tasks, wishes);
        pool
    }

    /// Adds new tasks, as these wishes have them.
    pub(crate) fn add(&mut self, tasks: Range<u64>, wishes: &Wishes) {
        for (tasks, priority) in divided(tasks, &wishes.priorities) {
            for (tasks, near) in divided(tasks, &wishes.near) {
                let priority = priority.unwrap_or_default();
                self.put(TaskGroup { near, ..TaskGroup::new(tasks, priority) });
            }
        }
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

    /// Returns whether there are tasks for a worker; tasks that failed on it count only when it
    /// `may_repeat`.
    pub(crate) fn has_for(&self, worker: u32, may_repeat: bool) -> bool {
        self.sets.keys().any(|(_, _, avoid, _)| may_repeat || *avoid != Some(worker))
    }

    /// Takes tasks for a worker: those that `pick` chooses, of one range of the tasks that come next. `None` where it
    /// chooses none, or there are none for the worker.
    pub(crate) fn take(
        &mut self,
        worker: u32,
        may_repeat: bool,
        pick: impl FnOnce(&TaskSet) -> Range<u64>,
    ) -> Option<TaskGroup> {
        let key = self.next_for(worker, may_repeat)?;
        let set = self.sets.get_mut(&key)?;
        let tasks = pick(set);
        if tasks.is_empty() || !set.has_all(&tasks) {
            return None;
        }
        set.remove(tasks.clone());
        if set.n_tasks() == 0 {
            self.sets.remove(&key);
        }
        let (n_missed, Reverse((n_failed, priority)), avoid, near) = key;
        let taken = TaskGroup { tasks, priority, n_failed, avoid, n_missed, near };
        self.n_tasks -= taken.n_tasks();
        Some(taken)
    }

    /// Key of the tasks that come next for a worker: of those that come first, its own, then those that may be anywhere, then
    /// those of the worker that has most left.
    fn next_for(&self, worker: u32, may_repeat: bool) -> Option<Key> {
        let fits = |(key, _): &(&Key, &TaskSet)| may_repeat || key.2 != Some(worker);
        let mut sets = self.sets.iter().filter(fits).peekable();
        let (&(n_missed, order, ..), _) = *sets.peek()?;
        let equal = sets.take_while(|(key, _)| (key.0, key.1) == (n_missed, order));
        let best = equal.min_by_key(|(key, set)| match key.3 {
            Some(near) if near == worker => (0, Reverse(0)),
            None => (1, Reverse(0)),
            Some(_) => (2, Reverse(set.n_tasks())),
        });
        best.map(|(key, _)| *key)
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

/// Divides tasks by these values of ranges; `None` for tasks in none of them.
fn divided<V: Copy>(tasks: Range<u64>, values: &[(Range<u64>, V)]) -> Vec<(Range<u64>, Option<V>)> {
    let mut others = TaskSet::default();
    others.insert(tasks);
    let mut divided = Vec::new();
    for (tasks, value) in values {
        divided.extend(others.remove(tasks.clone()).into_iter().map(|tasks| (tasks, Some(*value))));
    }
    divided.extend(others.ranges().map(|tasks| (tasks, None)));
    divided
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

    fn first(priorities: &[(Range<u64>, i32)]) -> Wishes {
        Wishes { priorities: priorities.to_vec(), ..Wishes::default() }
    }

    #[test]
    fn workers_take_what_is_theirs_then_what_is_nobodys_then_from_who_has_most() {
        let near = vec![(0..2, 1), (2..5, 2), (4..8, 3), (9..10, 1)];
        let mut pool =
            Pool::new(10, &Wishes { priorities: vec![(9..10, 1)], near, keeps_places: false });
        let dealt = std::iter::from_fn(|| take(&mut pool, 1, 9, false));
        let dealt: Vec<_> = dealt.map(|part| part.tasks).collect();
        assert_eq!(dealt, [9..10, 0..2, 8..9, 2..5, 5..8]);
        pool.add(10..11, &Wishes { near: vec![(10..11, 2)], ..first(&[(10..11, 1)]) });
        pool.add(11..12, &Wishes { near: vec![(11..12, 1)], ..Wishes::default() });
        assert_eq!(
            take(&mut pool, 1, 9, false).map(|part| part.tasks),
            Some(10..11),
            "priority first"
        );
    }

    /// Deals all tasks to worker 1 in chunks of 4.
    #[track_caller]
    fn check(n_tasks: u64, priorities: &[(Range<u64>, i32)], expected: &[(u64, u64)]) {
        let mut pool = Pool::new(n_tasks, &first(priorities));
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
        let mut pool = Pool::new(4, &Wishes::default());
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
        let mut pool = Pool::new(3, &Wishes::default());
        pool.add(3..5, &Wishes::default());
        assert_eq!(take(&mut pool, 1, 4, false), Some(TaskGroup::new(0..4, 0)));
        pool.add(5..8, &Wishes::default());
        assert_eq!(pool.n_tasks(), 4);
        assert_eq!(take(&mut pool, 1, 9, false), Some(TaskGroup::new(4..8, 0)));
        pool.add(8..9, &Wishes::default());
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
            let mut pool = Pool::new(n_tasks, &first(&priorities));
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
