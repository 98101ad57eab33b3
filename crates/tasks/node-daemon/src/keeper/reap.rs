//! Ends of children, with their resource usage: two calls that no safe library offers together.
#![expect(unsafe_code, reason = "`waitid` and `wait4` have no safe form that gives pid and usage")]

use std::mem::MaybeUninit;

use rustix::process::Pid;

use node_core::interface::AttemptEnd;

/// End of a child, with its resource usage.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Reaped {
    pub(super) end: AttemptEnd,
    pub(super) user_us: u64,
    pub(super) system_us: u64,
    pub(super) resident_kib_max: u64,
}

/// Returns a child that has ended and is not reaped yet. Until it is, its number names its group and nothing else.
pub(super) fn next_ended() -> Option<Pid> {
    let mut info = MaybeUninit::<libc::siginfo_t>::zeroed();
    let options = libc::WEXITED | libc::WNOHANG | libc::WNOWAIT;
    // SAFETY: `info` is a place for the answer that lives during the call.
    let status = unsafe { libc::waitid(libc::P_ALL, 0, info.as_mut_ptr(), options) };
    if status != 0 {
        return None;
    }
    // SAFETY: all zeros are a valid `siginfo_t`, and the system wrote over it or left it so.
    let info = unsafe { info.assume_init() };
    // SAFETY: the answer of `waitid` about a child has this field; zero means that none has ended.
    let pid = unsafe { info.si_pid() };
    Pid::from_raw(pid)
}

/// Reaps a child that [`next_ended`] returned.
pub(super) fn reap(pid: Pid) -> Option<Reaped> {
    let pid = pid.as_raw_nonzero().get();
    let mut status = 0;
    let mut usage = MaybeUninit::<libc::rusage>::zeroed();
    // SAFETY: both places live during the call.
    let reaped = unsafe { libc::wait4(pid, &raw mut status, libc::WNOHANG, usage.as_mut_ptr()) };
    // SAFETY: all zeros are a valid `rusage`, and the system wrote over it or left it so.
    let usage = unsafe { usage.assume_init() };
    let end = if libc::WIFSIGNALED(status) {
        AttemptEnd::Signal(libc::WTERMSIG(status))
    } else {
        AttemptEnd::Exit(libc::WEXITSTATUS(status))
    };
    (reaped == pid).then(|| Reaped {
        end,
        user_us: microseconds(usage.ru_utime),
        system_us: microseconds(usage.ru_stime),
        resident_kib_max: u64::try_from(usage.ru_maxrss).unwrap_or(0),
    })
}

fn microseconds(time: libc::timeval) -> u64 {
    u64::try_from(time.tv_sec * 1_000_000 + time.tv_usec).unwrap_or(0)
}
