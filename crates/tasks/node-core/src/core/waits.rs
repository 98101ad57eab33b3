//! Clients that wait for tasks to end.
//!
//! # Invariants
//! - One answer at a time is on its way to a client; tasks that end meanwhile are in the next one.
//! - A task that a client waits for is not forgotten before it was reported.

use std::collections::{BTreeMap, VecDeque};

use task_api::{Answer, TaskRange};

use super::clients::Asker;
use super::{At, Core};
use crate::interface::NodeId;

/// Most tasks of one answer.
const N_TASKS_MAX: usize = 256;
/// Bytes of output after which an answer is full. As JSON they are at most twice as many.
const OUTPUT_BYTES_MAX: usize = 64 << 10;

/// All waits.
#[derive(Debug, Default)]
pub(super) struct Waits {
    waits: BTreeMap<Asker, Wait>,
    /// True if there may be something to report.
    stirred: bool,
}

#[derive(Debug)]
struct Wait {
    first: u64,
    last: u64,
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
}

impl Waits {
    /// Returns whether a client still waits for a range with this task.
    pub(super) fn want(&self, number: u64) -> bool {
        self.waits.values().any(|wait| wait.first <= number && number <= wait.last)
    }

    pub(super) fn ended(&mut self, number: u64) {
        for wait in self.waits.values_mut() {
            if wait.first <= number && number <= wait.last {
                wait.ended.push_back(number);
                wait.n_open = wait.n_open.saturating_sub(1);
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
            wait.told.clear();
        };
        wait.map(ready).is_some()
    }

    /// Handles a repeated request of another node, and repeats the last answer, if there is one; returns whether the
    /// wait is known.
    fn again(&mut self, asker: Asker, tasks: &TaskRange) -> bool {
        let same = |wait: &&mut Wait| wait.first == tasks.first && wait.last == tasks.last;
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
}

impl Core {
    pub(super) fn wait(&mut self, asker: Asker, tasks: &TaskRange, with_output: bool) {
        if matches!(asker, Asker::Peer(..)) && self.clients.waits.again(asker, tasks) {
            return;
        }
        let (first, last) = (tasks.first, tasks.last);
        let known = self.book.tasks_from(first).take_while(|(number, _)| *number <= last);
        let mut n_open = 0;
        let mut ended = VecDeque::new();
        for (number, task) in known {
            if task.is_over() {
                ended.push_back(number);
            } else {
                n_open += 1;
            }
        }
        let past = self.book.archive().runs(first, last).map(|run| (run.first, run.last));
        let past = past.collect::<VecDeque<_>>();
        let n_of = |(first, last): &(u64, u64)| (last - first).saturating_add(1);
        let n_past = past.iter().map(n_of).fold(0, u64::saturating_add);
        let (told, is_ready) = (Vec::new(), true);
        let wait = Wait { first, last, with_output, ended, past, n_past, told, n_open, is_ready };
        self.clients.waits.waits.insert(asker, wait);
        self.clients.waits.stirred = true;
    }

    /// Reports ended tasks to clients that are ready.
    pub(super) fn flush_waits(&mut self, at: &mut At<'_>) {
        if !std::mem::take(&mut self.clients.waits.stirred) {
            return;
        }
        let mut waits = std::mem::take(&mut self.clients.waits.waits);
        waits.retain(|asker, wait| {
            let has_news = !wait.ended.is_empty() || !wait.past.is_empty() || wait.n_open == 0;
            if !wait.is_ready || !has_news {
                return true;
            }
            let answer = self.told(wait);
            let is_last = answer.is_last();
            self.answer(*asker, answer, at);
            wait.is_ready = false;
            !is_last
        });
        self.clients.waits.waits = waits;
    }

    fn told(&self, wait: &mut Wait) -> Answer {
        let mut tasks = Vec::new();
        let mut n_bytes = 0;
        while tasks.len() < N_TASKS_MAX
            && n_bytes < OUTPUT_BYTES_MAX
            && let Some(number) = wait.pop()
        {
            wait.told.push(number);
            let Some(task) = self.book.task(number) else {
                tasks.extend(self.ended_long_ago(number));
                continue;
            };
            n_bytes += if wait.with_output {
                task.output().map_or(0, task_api::Output::n_bytes)
            } else {
                0
            };
            tasks.extend(self.ended_task(number, task, wait.with_output));
        }
        let n_left = wait.n_open + wait.ended.len() as u64 + wait.n_past;
        Answer::Ended { tasks, n_left }
    }
}
