//! Processes of tasks that left their group, or whose keeper is dead: found by the marks in their
//! environment, which children inherit.

use std::{ffi::OsStr, fs, os::unix::ffi::OsStrExt, path::Path};

use rustix::process::{Pid, Signal, getpid, kill_process};

/// Which state folder's keeper started a process.
pub(super) const KEEPER_MARK: &str = "SINTONIA_KEEPER";
/// For which task.
pub(super) const TASK_MARK: &str = "SINTONIA_TASK";
/// For which of its instances.
pub(super) const INSTANCE_MARK: &str = "SINTONIA_INSTANCE";

/// A process may fork while it is looked for; that often it is looked for again.
const N_SEARCHES_MAX: usize = 20;

/// Kills all processes of tasks that this state folder's keeper started, or of one task's instance.
/// Returns how many were found.
pub(super) fn kill_marked(state: &Path, task: Option<(&str, u32)>) -> usize {
    let mut marks = vec![mark(KEEPER_MARK, state.as_os_str())];
    if let Some((name, instance)) = task {
        marks.push(mark(TASK_MARK, OsStr::new(name)));
        marks.push(mark(INSTANCE_MARK, OsStr::new(&instance.to_string())));
    }
    let spared = with_ancestors(getpid());
    let mut n_killed = 0;
    for _ in 0..N_SEARCHES_MAX {
        let found = marked(&marks, &spared);
        if found.is_empty() {
            break;
        }
        n_killed += found.len();
        // One that ended by itself meanwhile needs no signal.
        for pid in found {
            kill_process(pid, Signal::KILL).ok();
        }
    }
    n_killed
}

fn mark(name: &str, value: &OsStr) -> Vec<u8> {
    [name.as_bytes(), b"=", value.as_bytes()].concat()
}

/// Processes whose environment has all marks. The dead that nobody has waited for have none.
fn marked(marks: &[Vec<u8>], spared: &[Pid]) -> Vec<Pid> {
    let Ok(processes) = fs::read_dir("/proc") else { return Vec::new() };
    processes
        .filter_map(|entry| {
            let name = entry.ok()?.file_name();
            let pid = Pid::from_raw(name.to_str()?.parse().ok()?)?;
            let environment = fs::read(format!("/proc/{}/environ", pid.as_raw_nonzero())).ok()?;
            let has =
                |mark: &Vec<u8>| environment.split(|byte| *byte == 0).any(|line| line == mark);
            (!spared.contains(&pid) && marks.iter().all(has)).then_some(pid)
        })
        .collect()
}

/// A daemon that was itself started by a task must not end itself with that task's leftovers.
fn with_ancestors(pid: Pid) -> Vec<Pid> {
    let parent = |pid: &Pid| {
        let stat = fs::read_to_string(format!("/proc/{}/stat", pid.as_raw_nonzero())).ok()?;
        // The name in parentheses may hold anything, also parentheses.
        let (_, rest) = stat.rsplit_once(')')?;
        Pid::from_raw(rest.split_whitespace().nth(1)?.parse().ok()?)
    };
    std::iter::successors(Some(pid), parent).collect()
}
