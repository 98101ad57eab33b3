//! What the kernel tells of a process: whether it lives, what its threads do, and what they use.

use crate::modules::ExecutableMappings;
use crate::usage::UsageReader;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::fd::OwnedFd;
use rustix::process::{Pid, PidfdFlags, pidfd_open};
use wire::{ProcessReport, ThreadState};

/// Time in s between the segment's creation and a process's start from which on it is another process with the same id.
const REUSED_AFTER_S: f64 = 2.0;

/// What the kernel tells of a process.
#[derive(Debug)]
pub(super) struct FromKernel {
    pub(super) modules: ExecutableMappings,
    pub(super) usage: UsageReader,
    /// Threads that were asked for in the last report of the living process: whether they were stopped then, and the state to
    /// tell when it has ended.
    states: Vec<(u32, bool, ThreadState)>,
}

impl FromKernel {
    pub(super) fn with(modules: ExecutableMappings) -> Self {
        Self { modules, usage: UsageReader::default(), states: Vec::new() }
    }

    /// Keeps the states of threads, for when the process has ended before `MPI_Finalize` and the kernel knows them no more.
    pub(super) fn keep_states(&mut self, report: &mut ProcessReport) {
        let threads = report.threads.iter_mut();
        if !report.gone {
            let before = std::mem::take(&mut self.states);
            self.states =
                threads.filter_map(|thread| last(&before, thread.idx, thread.state)).collect();
        } else if !report.finalizing {
            for thread in threads {
                let last = self.states.iter().find(|(idx, ..)| *idx == thread.idx);
                thread.state = last.map(|(.., state)| *state);
            }
        }
    }
}

/// Returns the state to keep of a thread; a thread that was stopped in the report before runs for a moment when a signal ends it.
fn last(
    before: &[(u32, bool, ThreadState)],
    idx: u32,
    now: Option<ThreadState>,
) -> Option<(u32, bool, ThreadState)> {
    let known = before.iter().find(|(other, ..)| *other == idx);
    let was_stopped = known.is_some_and(|(_, is_stopped, _)| *is_stopped);
    let is_stopped = now == Some(ThreadState::Stopped);
    let kept = if was_stopped { Some(ThreadState::Stopped) } else { now };
    Some((idx, is_stopped, kept?))
}

/// Returns the state of a thread.
pub(super) fn state(pid: u32, tid: u32) -> Option<ThreadState> {
    let stat = std::fs::read_to_string(format!("/proc/{pid}/task/{tid}/stat")).ok()?;
    // The name in parentheses may contain anything.
    match stat.rsplit_once(')')?.1.trim_start().chars().next()? {
        'R' => Some(ThreadState::Running),
        'T' | 't' => Some(ThreadState::Stopped),
        'Z' | 'X' => None,
        _ => Some(ThreadState::Sleeping),
    }
}

/// Returns a handle of process `pid`, if it lives and is the one whose probe started at `first_ns`.
pub(super) fn living(pid: u32, first_ns: u64) -> Option<OwnedFd> {
    let pid = Pid::from_raw(i32::try_from(pid).ok()?)?;
    let pidfd = pidfd_open(pid, PidfdFlags::empty()).ok()?;
    let started_s = started_s(pid);
    let is_other = started_s.is_some_and(|start| first_ns as f64 * 1e-9 + REUSED_AFTER_S < start);
    (!is_other).then_some(pidfd)
}

/// Returns the start time of a process, in seconds since 1970.
fn started_s(pid: Pid) -> Option<f64> {
    let stat = std::fs::read_to_string(format!("/proc/{}/stat", pid.as_raw_nonzero())).ok()?;
    // The name in parentheses may contain anything; the fields after it, from the third on, are numbers.
    let fields = stat.rsplit_once(')')?.1;
    let since_boot: f64 = fields.split_ascii_whitespace().nth(22 - 3)?.parse().ok()?;
    let system = std::fs::read_to_string("/proc/stat").ok()?;
    let booted_s: f64 =
        system.lines().find_map(|line| line.strip_prefix("btime "))?.parse().ok()?;
    Some(booted_s + since_boot / rustix::param::clock_ticks_per_second() as f64)
}

/// Returns whether the process of a handle has ended.
pub(super) fn has_ended(pidfd: &OwnedFd) -> bool {
    let mut fds = [PollFd::new(pidfd, PollFlags::IN)];
    poll(&mut fds, Some(&Timespec { tv_sec: 0, tv_nsec: 0 })).is_ok_and(|n_ready| n_ready != 0)
}
