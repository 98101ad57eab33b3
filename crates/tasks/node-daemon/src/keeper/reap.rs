//! Ends of children.
#![expect(unsafe_code, reason = "`waitid` and `wait4` have no safe form with what is needed")]

use std::fs;
use std::mem::MaybeUninit;
use std::os::unix::process::ExitStatusExt;
use std::process::ExitStatus;

use rustix::process::Pid;
use task_api::Usage;

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

/// Reaps a child that [`next_ended`] returned, with what it and its own children have used.
pub(super) fn reap(pid: Pid) -> Option<(AttemptEnd, Usage)> {
    let (read_bytes, written_bytes) = disk_bytes(pid);
    let pid = pid.as_raw_nonzero().get();
    let mut status = 0;
    let mut used = MaybeUninit::<libc::rusage>::zeroed();
    // SAFETY: `status` and `used` are places for the answer that live during the call.
    let reaped = unsafe { libc::wait4(pid, &raw mut status, libc::WNOHANG, used.as_mut_ptr()) };
    if reaped != pid {
        return None;
    }
    // SAFETY: all zeros are a valid `rusage`, and the system wrote over it or left it so.
    let used = unsafe { used.assume_init() };
    let cpu_ms = [used.ru_utime, used.ru_stime].map(|time| {
        let ms = time.tv_sec.saturating_mul(1000).saturating_add(time.tv_usec / 1000);
        u64::try_from(ms).unwrap_or(0)
    });
    let usage = Usage {
        cpu_ms: cpu_ms.into_iter().sum(),
        memory_max_kib: u64::try_from(used.ru_maxrss).unwrap_or(0),
        read_bytes,
        written_bytes,
    };
    let status = ExitStatus::from_raw(status);
    let exit = || status.code().map(AttemptEnd::Exit);
    let end = status.signal().map(AttemptEnd::Signal).or_else(exit)?;
    Some((end, usage))
}

/// Bytes that a process that has ended, and those of its children that it has waited for, read from and wrote to disks.
fn disk_bytes(pid: Pid) -> (u64, u64) {
    let text = fs::read_to_string(format!("/proc/{}/io", pid.as_raw_nonzero())).unwrap_or_default();
    let value = |name: &str| {
        let line = text.lines().find_map(|line| line.strip_prefix(name));
        line.and_then(|value| value.trim().parse().ok()).unwrap_or(0)
    };
    (value("read_bytes:"), value("write_bytes:"))
}
