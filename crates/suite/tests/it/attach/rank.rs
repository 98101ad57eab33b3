//! What may not change in a rank that was attached to and left.

use std::fs;
use std::os::unix::fs::FileExt;

/// What can be seen of a rank from outside.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct State {
    /// What the program and its MPI library have mapped and may not write: code, and where calls are bound.
    fixed: Vec<Vec<u8>>,
    /// Names of its threads.
    threads: Vec<String>,
    /// Signals that are blocked, ignored and handled.
    signals: Vec<String>,
    is_watched: bool,
}

impl State {
    /// Of a rank now.
    pub(super) fn of(pid: u32) -> Self {
        Self {
            fixed: fixed(pid),
            threads: threads(pid),
            signals: signals(pid),
            is_watched: is_watched(pid),
        }
    }
}

/// Whether shared memory of ours is mapped.
pub(super) fn is_watched(pid: u32) -> bool {
    text(pid, "maps").lines().any(|line| line.contains(".segment") && line.contains("sintonia-"))
}

fn text(pid: u32, file: &str) -> String {
    // One that has ended has nothing.
    fs::read_to_string(format!("/proc/{pid}/{file}")).unwrap_or_default()
}

fn fixed(pid: u32) -> Vec<Vec<u8>> {
    let Ok(memory) = fs::File::open(format!("/proc/{pid}/mem")) else { return Vec::new() };
    let maps = text(pid, "maps");
    let is_fixed = |line: &&str| {
        let is_meant = line.contains("/joined") || line.contains("/libmpi");
        is_meant && line.split(' ').nth(1).is_some_and(|rights| !rights.contains('w'))
    };
    let read = |line: &str| {
        let (start, end) = line.split(' ').next()?.split_once('-')?;
        let [start, end] = [start, end].map(|text| u64::from_str_radix(text, 16).unwrap_or(0));
        let mut bytes = vec![0; usize::try_from(end - start).ok()?];
        // Parts that nobody may read stay zero.
        memory.read_exact_at(&mut bytes, start).unwrap_or_default();
        Some(bytes)
    };
    maps.lines().filter(is_fixed).filter_map(read).collect()
}

fn threads(pid: u32) -> Vec<String> {
    let tasks = fs::read_dir(format!("/proc/{pid}/task")).into_iter().flatten().flatten();
    let name = |task: fs::DirEntry| fs::read_to_string(task.path().join("comm")).ok();
    let mut names: Vec<String> = tasks.filter_map(name).collect();
    names.sort();
    names
}

fn signals(pid: u32) -> Vec<String> {
    let status = text(pid, "status");
    let is_meant =
        |line: &&str| ["SigBlk", "SigIgn", "SigCgt"].iter().any(|it| line.starts_with(it));
    status.lines().filter(is_meant).map(str::to_owned).collect()
}
