//! Finds processes of tasks that left their group, or whose keeper is dead, by the marks in their environment,
//! which children inherit.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use std::time::{Duration, Instant};
use std::{fs, thread};

use rustix::process::{Pid, Signal, getpid, kill_process};

/// State folder of the keeper that started a process.
pub(super) const KEEPER_MARK: &str = "SINTONIA_KEEPER";
/// Run of that keeper, among those that the folder had one after the other.
pub(super) const RUN_MARK: &str = "SINTONIA_KEEPER_RUN";
/// Name of the task.
pub(super) const TASK_MARK: &str = "SINTONIA_TASK";
/// Instance of the task.
pub(super) const INSTANCE_MARK: &str = "SINTONIA_INSTANCE";

/// Longest search for processes: one may fork while it is searched for, and takes a while to die on a busy machine.
/// A process that the system cannot end, as when its disk is gone, is left alone.
const DIES_WITHIN: Duration = Duration::from_secs(10);
/// Longest search for processes of one task, which is shorter: other tasks go on meanwhile and have leases.
const TASK_DIES_WITHIN: Duration = Duration::from_secs(1);
const LOOKS_EVERY: Duration = Duration::from_millis(2);

/// Processes that are killed.
#[derive(Debug, Clone, Copy)]
pub(super) enum Whose<'a> {
    /// Processes of all keepers that the folder had.
    Anybody,
    /// Processes of one run of the keeper: the next one may have started others already.
    Run(&'a str),
    /// Processes of one instance of a task.
    Task { name: &'a str, instance: u32 },
}

/// Kills processes of tasks that keepers of this state folder started. Returns how many were found.
pub(super) fn kill_marked(state: &Path, whose: Whose<'_>) -> usize {
    let mut marks = vec![mark(KEEPER_MARK, state.as_os_str())];
    let mut dies_within = DIES_WITHIN;
    match whose {
        Whose::Anybody => {}
        Whose::Run(run) => marks.push(mark(RUN_MARK, OsStr::new(run))),
        Whose::Task { name, instance } => {
            marks.push(mark(TASK_MARK, OsStr::new(name)));
            marks.push(mark(INSTANCE_MARK, OsStr::new(&instance.to_string())));
            dies_within = TASK_DIES_WITHIN;
        }
    }
    let spared = with_ancestors(getpid());
    let mut n_killed = 0;
    let deadline = Instant::now() + dies_within;
    loop {
        let found = marked(&marks, &spared);
        if found.is_empty() || deadline < Instant::now() {
            return n_killed;
        }
        n_killed += found.len();
        // A process that has ended meanwhile needs no signal.
        for pid in found {
            kill_process(pid, Signal::KILL).ok();
        }
        thread::sleep(LOOKS_EVERY);
    }
}

fn mark(name: &str, value: &OsStr) -> Vec<u8> {
    [name.as_bytes(), b"=", value.as_bytes()].concat()
}

/// Processes whose environment has all marks. Zombie processes have none.
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

/// The process and its ancestors, which are spared: a daemon that was itself started by a task must not kill
/// itself.
fn with_ancestors(pid: Pid) -> Vec<Pid> {
    let parent = |pid: &Pid| {
        let stat = fs::read_to_string(format!("/proc/{}/stat", pid.as_raw_nonzero())).ok()?;
        // The name in parentheses may contain anything, even parentheses.
        let (_, rest) = stat.rsplit_once(')')?;
        Pid::from_raw(rest.split_whitespace().nth(1)?.parse().ok()?)
    };
    std::iter::successors(Some(pid), parent).collect()
}
