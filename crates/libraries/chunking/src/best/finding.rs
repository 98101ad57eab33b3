//! Order of dealing while nobody knows what tasks cost.
//!
//! Chunks are taken from all over the tasks first, at the places of the sequence of van der Corput (1935), whose gaps are
//! halved again and again: however late in the order of tasks expensive ones stand, they are found early. Beside a chunk
//! that took much longer than others its neighbors come next, since expensive tasks mostly lie together. Where the first
//! third shows that they do not, what is left comes in its order.

use super::task_costs::class;
use crate::TaskSet;
use std::collections::{BTreeMap, BinaryHeap};
use std::ops::Range;

/// A chunk is dear when its tasks take so many times as long as the mean.
const DEAR: f64 = 1.2;
/// Share of the tasks from all over; then the dearest places come first.
const EXPLORED_SHARE: f64 = 0.3;

/// Neighbors are not alike where their costs differ by more than this share of what any two tasks differ by.
const SCATTERED_SHARE: f64 = 0.7;

/// Side of a chunk on which tasks may be left.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Side {
    Before,
    After,
}

/// Border of dealt tasks: the next one in this direction is expected to take as long as the chunk here.
type Border = (u64, Side);

/// Places to deal from.
#[derive(Debug, Default)]
pub(super) struct Finding {
    n_tasks: u64,
    n_places: u64,
    /// Class of cost at each border.
    classes: BTreeMap<Border, i32>,
    /// The same by class; an entry that differs from `classes` is old.
    dearest: BinaryHeap<(i32, Border)>,
    /// First task and class of each chunk, until it is known whether neighbors are alike.
    heard: Vec<(u64, i32)>,
    /// Whether neighbors are no more alike than others, once that is known.
    is_scattered: Option<bool>,
}

impl Finding {
    pub(super) fn begin(&mut self, n_tasks: u64) {
        *self = Self { n_tasks, ..Self::default() };
    }

    /// Records what a task of a chunk costs, in seconds.
    pub(super) fn heard(&mut self, tasks: &Range<u64>, cost_s: f64) {
        self.suspect(tasks, cost_s);
        if self.is_scattered.is_none() {
            self.heard.push((tasks.start, class(cost_s)));
        }
    }

    /// Records what a task of a chunk that is still being computed costs at least, in seconds.
    pub(super) fn suspect(&mut self, tasks: &Range<u64>, cost_s: f64) {
        self.set((tasks.start, Side::Before), class(cost_s));
        self.set((tasks.end, Side::After), class(cost_s));
    }

    fn set(&mut self, border: Border, class: i32) {
        self.classes.insert(border, class);
        self.dearest.push((class, border));
    }

    /// Returns `n_tasks` tasks that are left, or as many as lie together at the place. `mean_s` is the mean cost of a task,
    /// in seconds.
    pub(super) fn pick(&mut self, left: &TaskSet, n_tasks: u64, mean_s: f64) -> Range<u64> {
        let n_dealt = self.n_tasks.saturating_sub(left.n_tasks());
        let is_explored = EXPLORED_SHARE * self.n_tasks as f64 <= n_dealt as f64;
        if is_explored && self.is_scattered() {
            return left.first_few(n_tasks);
        }
        let lowest = if is_explored { i32::MIN } else { class(DEAR * mean_s) };
        self.dear(left, n_tasks, lowest).unwrap_or_else(|| self.anywhere(left, n_tasks))
    }

    fn is_scattered(&mut self) -> bool {
        *self.is_scattered.get_or_insert_with(|| {
            let mut heard = std::mem::take(&mut self.heard);
            heard.sort_unstable();
            let classes: Vec<f64> = heard.iter().map(|(_, class)| f64::from(*class)).collect();
            let mean = classes.iter().sum::<f64>() / classes.len().max(1) as f64;
            let apart = classes.iter().map(|class| (class - mean).powi(2)).sum::<f64>();
            let beside = classes.windows(2).map(|two| (two[1] - two[0]).powi(2) / 2.0).sum::<f64>();
            SCATTERED_SHARE * apart <= beside
        })
    }

    /// Returns tasks beside the dearest chunk, if it is of this class or a dearer one.
    fn dear(&mut self, left: &TaskSet, n_tasks: u64, lowest: i32) -> Option<Range<u64>> {
        while let Some(&(class, border)) = self.dearest.peek() {
            let is_old = self.classes.get(&border) != Some(&class);
            let (at, side) = border;
            let beside = match side {
                _ if is_old => None,
                Side::After => left.around(at),
                Side::Before => at.checked_sub(1).and_then(|before| left.around(before)),
            };
            let Some(run) = beside else {
                self.dearest.pop();
                if !is_old {
                    self.classes.remove(&border);
                }
                continue;
            };
            if class < lowest {
                return None;
            }
            self.dearest.pop();
            self.classes.remove(&border);
            let tasks = match side {
                Side::After => at..run.end.min(at.saturating_add(n_tasks)),
                Side::Before => run.start.max(at.saturating_sub(n_tasks))..at,
            };
            // Until this chunk is back, what lies behind it is as dear.
            let border = if side == Side::After { tasks.end } else { tasks.start };
            self.set((border, side), class);
            return Some(tasks);
        }
        None
    }

    fn anywhere(&mut self, left: &TaskSet, n_tasks: u64) -> Range<u64> {
        let place = scaled(self.n_places.reverse_bits(), self.n_tasks);
        self.n_places += 1;
        let run = left.around(place).or_else(|| left.from(place)).or_else(|| left.first());
        let run = run.unwrap_or(0..0);
        let start = place.clamp(run.start, run.end.saturating_sub(n_tasks).max(run.start));
        start..run.end.min(start.saturating_add(n_tasks))
    }
}

/// Returns `fraction / 2^64` of a number, rounded down.
fn scaled(fraction: u64, of: u64) -> u64 {
    u64::try_from((u128::from(fraction) * u128::from(of)) >> 64).unwrap_or(of)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Deals single tasks that cost `cost_s`, each heard of at once; returns their order.
    fn order(n_tasks: u64, cost_s: impl Fn(u64) -> f64) -> Vec<u64> {
        let mut finding = Finding::default();
        finding.begin(n_tasks);
        let mut left = TaskSet::new(n_tasks);
        let (mut order, mut sum_s) = (Vec::new(), 0.0);
        while left.n_tasks() != 0 {
            let tasks = finding.pick(&left, 1, sum_s / order.len().max(1) as f64);
            assert!(tasks.end - tasks.start == 1 && left.has_all(&tasks), "{tasks:?}");
            left.remove(tasks.clone());
            order.push(tasks.start);
            sum_s += cost_s(tasks.start);
            finding.heard(&tasks, cost_s(tasks.start));
        }
        order
    }

    #[test]
    fn places_are_halved() {
        assert_eq!(order(16, |_| 1.0)[..4], [0, 8, 4, 12]);
    }

    #[test]
    fn a_dear_block_comes_as_soon_as_it_is_found() {
        let is_dear = |task: u64| (700..740).contains(&task);
        let order = order(1000, |task| if is_dear(task) { 50.0 } else { 1.0 });
        let last = order.iter().rposition(|task| is_dear(*task)).unwrap();
        assert!(last < 120, "{last}");
    }

    #[test]
    fn what_is_scattered_comes_in_its_order() {
        let cost_s =
            |task: u64| if task.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 63 == 0 { 1.0 } else { 2.0 };
        let order = order(1000, cost_s);
        assert!(order[400..].is_sorted(), "{order:?}");
    }
}
