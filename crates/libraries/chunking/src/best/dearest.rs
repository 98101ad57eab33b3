//! Order of dealing where it is known what tasks cost: the dearest first.
//!
//! What is cheap remains for the end, where it fills the gaps between workers (Graham 1969: longest processing time first).
//! Costs count as equal within a class, so that chunks may have many tasks.

use super::task_costs::TaskCosts;
use crate::TaskSet;
use std::collections::BTreeMap;
use std::ops::Range;

/// Tasks by class of cost.
#[derive(Debug, Default)]
pub(super) struct Dearest {
    /// Ranges of each class; the last one is dealt next.
    runs: BTreeMap<i32, Vec<Range<u64>>>,
}

/// What a worker may get.
#[derive(Clone, Copy, Debug)]
pub(super) struct Want {
    /// Cost of the chunk, unless a single task costs more, in seconds.
    pub(super) budget_s: f64,
    /// Largest cost of a task, in seconds.
    pub(super) task_s_max: f64,
    /// Tasks together cheaper than this are dealt with those beside them, in seconds.
    pub(super) crumb_s: f64,
}

impl Dearest {
    pub(super) fn new(profile: &TaskCosts) -> Self {
        let mut dearest = Self::default();
        for (class, run) in profile.runs().into_iter().rev() {
            dearest.runs.entry(class).or_default().push(run);
        }
        dearest
    }

    /// Adds tasks that are left again.
    pub(super) fn put(&mut self, profile: &TaskCosts, tasks: Range<u64>) {
        let cost_s = profile.cost_s(&tasks) / (tasks.end - tasks.start).max(1) as f64;
        self.runs.entry(super::task_costs::class(cost_s)).or_default().push(tasks);
    }

    /// Takes the dearest tasks that a worker may get; `None` where all are too dear.
    pub(super) fn pick(
        &mut self,
        left: &TaskSet,
        profile: &TaskCosts,
        want: &Want,
    ) -> Option<Range<u64>> {
        let classes: Vec<i32> = self.runs.keys().rev().copied().collect();
        for class in classes {
            while let Some(run) = self.pop(class) {
                let Some(found) = left.from(run.start).filter(|found| found.start < run.end) else {
                    continue;
                };
                let here = found.start..found.end.min(run.end);
                if want.task_s_max < profile.task_s(here.start) {
                    self.push(class, here.start..run.end);
                    break;
                }
                let is_crumb = profile.cost_s(&here) < want.crumb_s;
                let limit = if is_crumb { found.end } else { here.end };
                let n_tasks = profile.n_within(&(here.start..limit), want.budget_s);
                let tasks = here.start..here.start + n_tasks;
                self.push(class, tasks.end..run.end);
                return Some(tasks);
            }
        }
        None
    }

    /// Takes one of the cheapest tasks.
    pub(super) fn cheapest(&mut self, left: &TaskSet) -> Option<u64> {
        let classes: Vec<i32> = self.runs.keys().copied().collect();
        for class in classes {
            while let Some(run) = self.pop(class) {
                if let Some(found) = left.from(run.start).filter(|found| found.start < run.end) {
                    self.push(class, found.start..run.end);
                    return Some(found.start);
                }
            }
        }
        None
    }

    fn pop(&mut self, class: i32) -> Option<Range<u64>> {
        let runs = self.runs.get_mut(&class)?;
        let run = runs.pop();
        if runs.is_empty() {
            self.runs.remove(&class);
        }
        run
    }

    fn push(&mut self, class: i32, run: Range<u64>) {
        if !run.is_empty() {
            self.runs.entry(class).or_default().push(run);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::best::seen::SeenChunk;

    fn known() -> TaskCosts {
        let costs_s = [1.0, 1.0, 8.0, 8.0, 1.0, 4.0];
        let chunk = |(first, compute_s): (u64, f64)| SeenChunk {
            worker: 0,
            first,
            n_tasks: 1,
            compute_s,
            speed: 1.0,
        };
        let chunks: Vec<_> = (0..).zip(costs_s).map(chunk).collect();
        TaskCosts::learnt(6, None, &chunks, &BTreeMap::new()).unwrap()
    }

    const ANY: Want = Want { budget_s: 0.0, task_s_max: f64::INFINITY, crumb_s: 0.0 };

    #[track_caller]
    fn check(want: &Want, expected: &[Range<u64>]) {
        let profile = known();
        let (mut dearest, mut left) = (Dearest::new(&profile), TaskSet::new(6));
        let mut dealt = Vec::new();
        while let Some(tasks) = dearest.pick(&left, &profile, want) {
            assert!(left.has_all(&tasks));
            left.remove(tasks.clone());
            dealt.push(tasks);
        }
        assert_eq!(dealt, expected);
    }

    #[test]
    fn the_dearest_come_first() {
        check(&ANY, &[2..3, 3..4, 5..6, 0..1, 1..2, 4..5]);
        check(&Want { budget_s: 16.0, ..ANY }, &[2..4, 5..6, 0..2, 4..5]);
    }

    #[test]
    fn crumbs_are_dealt_with_what_lies_beside_them() {
        check(&Want { budget_s: 5.0, crumb_s: 5.0, ..ANY }, &[2..3, 3..4, 5..6, 0..2, 4..5]);
        check(&Want { budget_s: 20.0, crumb_s: 20.0, ..ANY }, &[2..5, 5..6, 0..2]);
    }

    #[test]
    fn who_may_not_have_dear_ones_gets_others() {
        check(&Want { task_s_max: 5.0, ..ANY }, &[5..6, 0..1, 1..2, 4..5]);
        check(&Want { task_s_max: 0.5, ..ANY }, &[]);
        let profile = known();
        assert_eq!(Dearest::new(&profile).cheapest(&TaskSet::new(6)), Some(0));
    }

    #[test]
    fn what_comes_back_is_dealt_again() {
        let profile = known();
        let (mut dearest, mut left) = (Dearest::new(&profile), TaskSet::new(6));
        let first = dearest.pick(&left, &profile, &ANY).unwrap();
        left.remove(first.clone());
        left.insert(first.clone());
        dearest.put(&profile, first.clone());
        assert_eq!(dearest.pick(&left, &profile, &ANY), Some(first));
    }
}
