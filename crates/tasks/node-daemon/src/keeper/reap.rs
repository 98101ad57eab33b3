//! Ends of children.
#![expect(unsafe_code, reason = "`waitid` has no safe form that gives the pid")]

use std::mem::MaybeUninit;

use rustix::process::{Pid, WaitOptions, waitpid};

use node_core::interface::AttemptEnd;

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
pub(super) fn reap(pid: Pid) -> Option<AttemptEnd> {
    let (_, status) = waitpid(Some(pid), WaitOptions::NOHANG).ok()??;
    let exit = || status.exit_status().map(AttemptEnd::Exit);
    status.terminating_signal().map(AttemptEnd::Signal).or_else(exit)
}
