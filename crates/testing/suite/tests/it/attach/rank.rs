//! State of a rank that must not differ after it was attached to and left.

use std::fs;
use std::os::unix::fs::FileExt;
use suite::StartedJob;

/// State of a rank as seen from outside.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct State {
    /// Memory that the program and its MPI library have mapped and may not write: code, and the tables that bind calls.
    fixed: Vec<Vec<u8>>,
    /// Names of the rank's threads.
    threads: Vec<String>,
    /// Signals that are blocked, ignored and handled.
    signals: Vec<String>,
    is_watched: bool,
}

impl State {
    /// Reads the present state of a rank.
    pub(super) fn of(pid: u32) -> Self {
        Self {
            fixed: fixed(pid),
            threads: threads(pid),
            signals: signals(pid),
            is_watched: is_watched(pid),
        }
    }
}

/// Returns whether shared memory of `sintonia` is mapped.
pub(super) fn is_watched(pid: u32) -> bool {
    text(pid, "maps").lines().any(|line| line.contains(".segment") && line.contains("sintonia-"))
}

/// Stage of entering a rank.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Stage {
    /// The process that enters the rank has started.
    Started,
    /// That process traces the rank.
    Traced,
    /// The rank has memory for the call.
    Mapped,
    /// The rank loads the probe.
    Loading,
}

/// Kills the process of an attach that enters a rank when it reaches a stage; returns whether that was in time.
pub(super) fn kill_entrance(attach: &StartedJob, rank: u32, stage: Stage) -> bool {
    let is_alive = |pid| !text(pid, "cmdline").is_empty();
    let looks = std::iter::from_fn(|| is_alive(attach.pid()).then(|| entrance_of(attach.pid())));
    let Some(entrance) = looks.flatten().next() else { return false };
    let traced = format!("TracerPid:\t{entrance}");
    let is_traced = || text(rank, "status").lines().any(|line| line == traced);
    let has = |part: &str| text(rank, "maps").contains(part);
    let is_there = || match stage {
        Stage::Started => true,
        Stage::Traced => is_traced(),
        Stage::Mapped => is_traced() && has(" rwxp "),
        Stage::Loading => is_traced() && has(" rwxp ") && has("libsintonia.so"),
    };
    while is_alive(entrance) && !is_there() {}
    let is_in_time = is_alive(entrance) && is_there();
    attach.kill(entrance);
    is_in_time
}

/// Child of an attach that enters a rank, if there is one now.
fn entrance_of(attach: u32) -> Option<u32> {
    let threads = fs::read_dir(format!("/proc/{attach}/task")).into_iter().flatten().flatten();
    let children = threads.filter_map(|it| fs::read_to_string(it.path().join("children")).ok());
    let children: Vec<u32> = children
        .flat_map(|pids| pids.split(' ').filter_map(|pid| pid.parse().ok()).collect::<Vec<_>>())
        .collect();
    children.into_iter().find(|pid| text(*pid, "cmdline").contains("\0enter\0"))
}

fn text(pid: u32, file: &str) -> String {
    // For a process that has ended, the text is empty.
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
        // Unreadable parts stay zero.
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
