//! Memory of tasks that have asked for some: what their processes use together, looked at now and then. Where the keeper may
//! make control groups, the system keeps them within it as well ([`super::memory_group`]).

use std::collections::HashMap;
use std::fs;
use std::time::Duration;

use node_core::interface::{Killed, Moment};
use rustix::process::Pid;

use super::memory_group::{MemoryGroup, MemoryGroups};
use super::protocol::StartAttempt;
use super::tasks::RunningTask;

/// Time between two looks, in ms.
const LOOKS_EVERY_MS: u64 = 250;

/// Watch over the memory of all tasks that have asked for some.
#[derive(Debug)]
pub(super) struct MemoryWatch {
    groups: MemoryGroups,
    looked: Moment,
}

impl MemoryWatch {
    pub(super) fn new() -> Self {
        Self { groups: MemoryGroups::find(), looked: Moment(0) }
    }

    /// Makes the group of a task that is about to be started, if it has asked for memory.
    pub(super) fn group(&mut self, task: &StartAttempt) -> Option<MemoryGroup> {
        let bytes = task.allocation.memory_bytes;
        (0 < bytes).then(|| self.groups.make(bytes)).flatten()
    }

    /// Removes the group of a task that was not started.
    pub(super) fn drop_group(&mut self, group: Option<MemoryGroup>) {
        group.into_iter().for_each(|group| self.groups.remove(group));
    }

    /// Moment of the next look, if one is needed.
    pub(super) fn due<'a>(
        &self,
        mut tasks: impl Iterator<Item = &'a RunningTask>,
    ) -> Option<Moment> {
        tasks.any(has_asked).then(|| self.looked.plus_ms(LOOKS_EVERY_MS))
    }

    /// Ends tasks that hold more than they had asked for.
    pub(super) fn look(
        &mut self,
        tasks: &mut HashMap<Pid, RunningTask>,
        now: Moment,
        grace: Duration,
    ) {
        if self.due(tasks.values()).is_none_or(|due| now < due) {
            return;
        }
        self.looked = now;
        self.groups.tidy();
        let tree = ProcessTree::read();
        for task in tasks.values_mut().filter(|task| has_asked(task)) {
            let kib = tree.private_kib(task.pid);
            task.memory_max_kib = task.memory_max_kib.max(kib);
            let is_over = task.running.allocation.memory_bytes < kib.saturating_mul(1024);
            if is_over || task.was_short_of_memory() {
                task.end(Killed::MemoryLimit, now, grace);
            }
        }
    }

    /// Notes that a task has ended, before its report is made.
    pub(super) fn end(&mut self, task: &mut RunningTask) {
        if task.was_short_of_memory() && task.killed.is_none() {
            task.killed = Some(Killed::MemoryLimit);
        }
        self.drop_group(task.memory_group.take());
    }
}

fn has_asked(task: &RunningTask) -> bool {
    0 < task.running.allocation.memory_bytes
}

/// Processes of the machine with their parents, read once for all tasks.
#[derive(Debug, Default)]
struct ProcessTree {
    children: HashMap<i32, Vec<i32>>,
}

impl ProcessTree {
    /// Reads all processes.
    fn read() -> Self {
        let mut children = HashMap::<i32, Vec<i32>>::new();
        let entries = fs::read_dir("/proc").into_iter().flatten().flatten();
        for pid in entries.filter_map(|it| it.file_name().to_str()?.parse::<i32>().ok()) {
            if let Some(parent) = parent_of(pid) {
                children.entry(parent).or_default().push(pid);
            }
        }
        Self { children }
    }

    /// Memory in KiB that a process and all that it has started hold for themselves.
    fn private_kib(&self, root: Pid) -> u64 {
        let mut left = vec![root.as_raw_nonzero().get()];
        let mut sum_kib = 0_u64;
        while let Some(pid) = left.pop() {
            sum_kib = sum_kib.saturating_add(private_kib(pid).unwrap_or(0));
            left.extend(self.children.get(&pid).into_iter().flatten());
        }
        sum_kib
    }
}

fn parent_of(pid: i32) -> Option<i32> {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    // The name in parentheses may hold anything.
    stat.rsplit_once(')')?.1.split_whitespace().nth(1)?.parse().ok()
}

/// Resident memory that is not shared with files or other processes.
fn private_kib(pid: i32) -> Option<u64> {
    let statm = fs::read_to_string(format!("/proc/{pid}/statm")).ok()?;
    let mut pages = statm.split_whitespace().skip(1).map_while(|it| it.parse::<u64>().ok());
    let (resident, shared) = (pages.next()?, pages.next()?);
    let page_kib = rustix::param::page_size() as u64 / 1024;
    Some(resident.saturating_sub(shared) * page_kib)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::hint::black_box;

    #[test]
    fn memory_is_that_of_a_process_and_its_children() {
        let block = black_box(vec![1_u8; 32 << 20]);
        let me = rustix::process::getpid();
        assert!(32 << 10 <= ProcessTree::read().private_kib(me));
        let parent = rustix::process::getppid().expect("a test runner");
        assert!(32 << 10 <= ProcessTree::read().private_kib(parent), "{}", block.len());
    }
}
