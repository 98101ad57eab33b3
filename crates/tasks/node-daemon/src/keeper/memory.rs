//! Memory of tasks that have asked for some: what their processes use together.

use std::collections::HashMap;
use std::fs;

use rustix::process::Pid;

/// Processes of the machine with their parents, read once for all tasks.
#[derive(Debug, Default)]
pub(super) struct ProcessTree {
    children: HashMap<i32, Vec<i32>>,
}

impl ProcessTree {
    /// Reads all processes.
    pub(super) fn read() -> Self {
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
    pub(super) fn private_kib(&self, root: Pid) -> u64 {
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
