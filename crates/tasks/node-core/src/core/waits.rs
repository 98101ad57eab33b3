//! Clients that wait for tasks to end.
//!
//! # Invariants
//! - One answer at a time is on its way to a client; tasks that end meanwhile are in the next one.
//! - A task that a client waits for is not forgotten before it was reported.
//! - A client that waits adds tasks to its wait by waiting again; none is reported twice for that.

use std::collections::{BTreeMap, VecDeque};

use task_api::{DaemonAnswer, Output, TaskRange};

use super::task_view::TaskView;
use super::turn::{Asker, Turn};
use crate::book::Book;
use crate::interface::NodeId;

/// Most tasks of one answer.
const N_TASKS_MAX: usize = 256;
/// Bytes of output after which an answer is full. As JSON they are at most twice as many.
const OUTPUT_BYTES_MAX: usize = 64 << 10;

/// Refusal of [`ClientRequest::More`](task_api::ClientRequest::More) from an asker that waits for nothing.
pub(super) const NOTHING_IS_WAITED_FOR: &str = "nothing is waited for";

/// All waits.
#[derive(Debug, Default)]
pub(super) struct Waits {
    waits: BTreeMap<Asker, Wait>,
    /// True if there may be something to report.
    stirred: bool,
}

#[derive(Debug, Default)]
struct Wait {
    /// First and last number that another node asked for.
    asked: (u64, u64),
    /// Tasks that were not reported, or whose report may not have arrived: the last number of each range, by its first.
    /// None touch.
    ranges: BTreeMap<u64, u64>,
    with_output: bool,
    /// Numbers of tasks that ended and were not reported.
    ended: VecDeque<u64>,
    /// Ranges of those that ended so long ago that only their outcome is kept.
    past: VecDeque<(u64, u64)>,
    /// Number of tasks in these ranges.
    n_past: u64,
    /// Tasks of the last answer, until it is known to have arrived.
    told: Vec<u64>,
    n_open: u64,
    is_ready: bool,
}

impl Wait {
    fn holds(&self, number: u64) -> bool {
        let before = self.ranges.range(..=number).next_back();
        before.is_some_and(|(_, last)| number <= *last)
    }

    /// Parts of the tasks from `first` to `last` that it holds.
    fn parts(&self, first: u64, last: u64) -> Vec<(u64, u64)> {
        let before = self.ranges.range(..=last).rev();
        let parts = before.take_while(|(_, end)| first <= **end);
        parts.map(|(begin, end)| (first.max(*begin), last.min(*end))).collect()
    }

    /// Adds those of the tasks from `first` to `last` that it does not hold yet.
    fn add(&mut self, first: u64, last: u64, book: &Book) {
        let mut begin = first;
        for (held_first, held_last) in self.parts(first, last).into_iter().rev() {
            if begin < held_first {
                self.add_part(begin, held_first - 1, book);
            }
            begin = held_last + 1;
        }
        if begin <= last {
            self.add_part(begin, last, book);
        }
        self.hold(first, last);
    }

    fn add_part(&mut self, first: u64, last: u64, book: &Book) {
        let known = book.tasks_from(first).take_while(|(number, _)| *number <= last);
        for (number, task) in known {
            match task.is_over() {
                true => self.ended.push_back(number),
                false => self.n_open += 1,
            }
        }
        for run in book.archive().runs(first, last) {
            self.past.push_back((run.first, run.last));
            let n_tasks = (run.last - run.first).saturating_add(1);
            self.n_past = self.n_past.saturating_add(n_tasks);
        }
    }

    /// Removes a task whose report has arrived.
    fn release(&mut self, number: u64) {
        let before = self.ranges.range(..=number).next_back();
        let Some((first, last)) = before.map(|(first, last)| (*first, *last)) else { return };
        if last < number {
            return;
        }
        self.ranges.remove(&first);
        if first < number {
            self.ranges.insert(first, number - 1);
        }
        if number < last {
            self.ranges.insert(number + 1, last);
        }
    }

    /// Makes one range of these tasks and those that overlap or touch them.
    fn hold(&mut self, first: u64, last: u64) {
        let (mut first, mut last) = (first, last);
        while let Some((&begin, &end)) = self.ranges.range(..=last.saturating_add(1)).next_back()
            && first <= end.saturating_add(1)
        {
            self.ranges.remove(&begin);
            (first, last) = (first.min(begin), last.max(end));
        }
        self.ranges.insert(first, last);
    }

    /// Removes the next task that was not reported.
    fn pop(&mut self) -> Option<u64> {
        if let Some(number) = self.ended.pop_front() {
            return Some(number);
        }
        let (first, last) = self.past.pop_front()?;
        if first < last {
            self.past.push_front((first + 1, last));
        }
        self.n_past = self.n_past.saturating_sub(1);
        Some(first)
    }

    /// Answer with the next tasks that were not reported.
    fn tell(&mut self, view: TaskView<'_>) -> DaemonAnswer {
        let mut tasks = Vec::new();
        let mut n_bytes = 0;
        while tasks.len() < N_TASKS_MAX
            && n_bytes < OUTPUT_BYTES_MAX
            && let Some(number) = self.pop()
        {
            self.told.push(number);
            let task = view.ended(number, self.with_output);
            let output = task.as_ref().and_then(|task| task.output.as_ref());
            n_bytes += output.map_or(0, Output::n_bytes);
            tasks.extend(task);
        }
        let n_left = self.n_open + self.ended.len() as u64 + self.n_past;
        DaemonAnswer::Ended { tasks, n_left }
    }
}

impl Waits {
    /// Returns whether a client still waits for a range with this task.
    pub(super) fn want(&self, number: u64) -> bool {
        self.waits.values().any(|wait| wait.holds(number))
    }

    /// Notes that the tasks from `first` to `last` have ended.
    pub(super) fn ended(&mut self, first: u64, last: u64) {
        for wait in self.waits.values_mut() {
            for (first, last) in wait.parts(first, last) {
                wait.n_open = wait.n_open.saturating_sub(last - first + 1);
                wait.ended.extend(first..=last);
                self.stirred = true;
            }
        }
    }

    /// Notes that the client has taken the last answer; returns whether it waits for anything.
    pub(super) fn more(&mut self, asker: Asker) -> bool {
        let wait = self.waits.get_mut(&asker);
        self.stirred = true;
        let ready = |wait: &mut Wait| {
            wait.is_ready = true;
            let told = std::mem::take(&mut wait.told);
            told.into_iter().for_each(|number| wait.release(number));
        };
        wait.map(ready).is_some()
    }

    /// Handles a repeated request of another node, and repeats the last answer, if there is one; returns whether the
    /// wait is known.
    fn again(&mut self, asker: Asker, tasks: &TaskRange) -> bool {
        let same = |wait: &&mut Wait| wait.asked == (tasks.first, tasks.last);
        let Some(wait) = self.waits.get_mut(&asker).filter(same) else { return false };
        if !wait.is_ready {
            wait.is_ready = true;
            wait.told.drain(..).rev().for_each(|number| wait.ended.push_front(number));
            self.stirred = true;
        }
        true
    }

    pub(super) fn gone(&mut self, asker: Asker) {
        self.waits.remove(&asker);
    }

    /// Drops the waits of nodes that cannot be reached any more: their clients are told so there, or these nodes
    /// ask again.
    pub(super) fn keep_heard(&mut self, is_heard: impl Fn(NodeId) -> bool) {
        self.waits.retain(|asker, _| match asker {
            Asker::Client(_) => true,
            Asker::Peer(node, _) => is_heard(*node),
        });
    }

    /// Lets a client wait for tasks of this node, in addition to those that it waits for already.
    pub(super) fn wait(&mut self, asker: Asker, tasks: &TaskRange, with_output: bool, book: &Book) {
        if matches!(asker, Asker::Peer(..)) {
            if self.again(asker, tasks) {
                return;
            }
            self.waits.remove(&asker);
        }
        let asked = (tasks.first, tasks.last);
        let fresh = || Wait { asked, is_ready: true, ..Wait::default() };
        let wait = self.waits.entry(asker).or_insert_with(fresh);
        wait.with_output |= with_output;
        wait.add(tasks.first, tasks.last, book);
        self.stirred = true;
    }

    /// Reports ended tasks to clients that are ready.
    pub(super) fn flush(&mut self, turn: &mut Turn<'_>) {
        if !std::mem::take(&mut self.stirred) {
            return;
        }
        self.waits.retain(|asker, wait| {
            let has_news = !wait.ended.is_empty() || !wait.past.is_empty() || wait.n_open == 0;
            if !wait.is_ready || !has_news {
                return true;
            }
            let answer = wait.tell(TaskView(turn.node));
            let is_last = answer.is_last();
            turn.answer(*asker, answer);
            wait.is_ready = false;
            !is_last
        });
    }
}
