//! Processes of tasks that left their group, or whose keeper is dead: found by the marks in their
//! environment, which children inherit.

use std::{
    ffi::OsStr,
    fs,
    os::unix::ffi::OsStrExt,
    path::Path,
    thread,
    time::{Duration, Instant},
};

use rustix::process::{Pid, Signal, getpid, kill_process};

/// Which state folder's keeper started a process.
pub(super) const KEEPER_MARK: &str = "SINTONIA_KEEPER";
/// Which one of the keepers that this folder had, one after the other.
pub(super) const RUN_MARK: &str = "SINTONIA_KEEPER_RUN";
/// For which task.
pub(super) const TASK_MARK: &str = "SINTONIA_TASK";
/// For which of its instances.
pub(super) const INSTANCE_MARK: &str = "SINTONIA_INSTANCE";

/// A process may fork while it is looked for, and takes a while to die on a busy machine: it is looked for until
/// there is none, or so long. One that the system cannot end, as when its disk is gone, is left to it.
const DIES_WITHIN: Duration = Duration::from_secs(10);
/// Those of one task are not waited for as long: others go on meanwhile and have leases.
const TASK_DIES_WITHIN: Duration = Duration::from_secs(1);
const LOOKS_EVERY: Duration = Duration::from_millis(2);

/// Whose processes are killed.
#[derive(Debug, Clone, Copy)]
pub(super) enum Whose<'a> {
    /// Those of all keepers that the folder had.
    Anybody,
    /// Those of one keeper: the next one may have started others already.
    Run(&'a str),
    /// Those of one instance of a task.
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
        // One that ended by itself meanwhile needs no signal.
        for pid in found {
            kill_process(pid, Signal::KILL).ok();
        }
        thread::sleep(LOOKS_EVERY);
    }
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
