//! Queue of waiting tasks, as ranges of numbers: an array of a million is one entry.

use std::collections::VecDeque;

/// Numbers in the queue, and how many of them really wait.
#[derive(Debug, Default)]
pub(super) struct Queue {
    spans: VecDeque<(u64, u64)>,
    n_queued: u64,
}

impl Queue {
    pub(super) fn n_queued(&self) -> u64 {
        self.n_queued
    }

    /// Appends new tasks behind all others.
    pub(super) fn push_back(&mut self, first: u64, last: u64) {
        self.n_queued += last - first + 1;
        match self.spans.back_mut() {
            Some((_, end)) if first.checked_sub(1) == Some(*end) => *end = last,
            _ => self.spans.push_back((first, last)),
        }
    }

    /// Puts a task that had left back before all others.
    pub(super) fn push_front(&mut self, number: u64) {
        self.n_queued += 1;
        match self.spans.front_mut() {
            Some((begin, _)) if begin.checked_sub(1) == Some(number) => *begin = number,
            _ => self.spans.push_front((number, number)),
        }
    }

    /// Counts that one of the tasks no longer waits; its entry is skipped later.
    pub(super) fn left(&mut self) {
        self.n_queued = self.n_queued.saturating_sub(1);
    }

    /// First number for which `is_queued`; entries before it are dropped, its own stays.
    pub(super) fn next(&mut self, is_queued: impl Fn(u64) -> bool) -> Option<u64> {
        while let Some((first, last)) = self.spans.front_mut() {
            if is_queued(*first) {
                return Some(*first);
            }
            if *first == *last {
                self.spans.pop_front();
            } else {
                *first += 1;
            }
        }
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tasks_wait_in_order_and_those_that_came_back_go_first() {
        let mut queue = Queue::default();
        queue.push_back(1, 3);
        queue.push_back(4, 4);
        assert_eq!(queue.next(|_| true), Some(1));
        queue.left();
        assert_eq!(queue.next(|number| 1 < number), Some(2));
        queue.push_front(1);
        assert_eq!((queue.n_queued(), queue.spans.len()), (4, 1));
        assert_eq!(queue.next(|number| 3 < number), Some(4));
        assert_eq!(queue.next(|_| false), None);
    }
}
