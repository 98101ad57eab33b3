//! The other threads of this process, as the system describes them.

use std::fs;
use std::io;

/// Kernel thread ids of all threads but the calling one.
pub(super) fn others() -> io::Result<Vec<u32>> {
    let mut threads = Vec::new();
    for entry in fs::read_dir("/proc/self/task")? {
        threads.extend(entry?.file_name().to_str().and_then(|name| name.parse::<u32>().ok()));
    }
    let own = own_number();
    threads.retain(|thread| *thread != own);
    Ok(threads)
}

/// Kernel thread id of the calling thread.
fn own_number() -> u32 {
    fs::read_link("/proc/thread-self")
        .ok()
        .and_then(|path| path.file_name()?.to_str()?.parse().ok())
        .unwrap_or(0)
}

pub(super) fn name(thread: u32) -> String {
    let name = fs::read_to_string(format!("/proc/self/task/{thread}/comm"));
    name.map(|name| name.trim_end().to_owned()).unwrap_or_default()
}

/// Returns the first of the signals that the thread blocks or the process ignores.
pub(super) fn closed(thread: u32, signals: &[i32]) -> Option<i32> {
    let status = fs::read_to_string(format!("/proc/self/task/{thread}/status")).ok()?;
    let closed = set_in(&status, "SigBlk:") | set_in(&status, "SigIgn:");
    let first = signals.iter().copied().find(|signal| closed & (1 << (signal - 1)) != 0)?;
    (!is_of_kernel(thread)).then_some(first)
}

fn set_in(status: &str, key: &str) -> u64 {
    let line = status.lines().find_map(|line| line.strip_prefix(key));
    line.and_then(|digits| u64::from_str_radix(digits.trim(), 16).ok()).unwrap_or(0)
}

/// Returns whether a thread is one of the kernel's own in the process (`io_uring`); these run no code of the program.
fn is_of_kernel(thread: u32) -> bool {
    const PF_IO_WORKER: u32 = 0x10;
    const PF_USER_WORKER: u32 = 0x4000;
    let stat = fs::read_to_string(format!("/proc/self/task/{thread}/stat")).unwrap_or_default();
    flags_in(&stat).is_some_and(|flags| flags & (PF_IO_WORKER | PF_USER_WORKER) != 0)
}

/// Parses the ninth field; the second is a name in parentheses that may contain spaces.
fn flags_in(stat: &str) -> Option<u32> {
    stat.rsplit_once(") ")?.1.split_ascii_whitespace().nth(6)?.parse().ok()
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ThreadPosition {
    /// The thread has ended.
    Gone,
    /// The thread sleeps in the kernel and will continue at this address.
    Blocked(usize),
    /// The thread runs, or the system does not tell.
    Unknown,
}

/// Returns the current position of a thread.
pub(super) fn position(thread: u32) -> ThreadPosition {
    match fs::read_to_string(format!("/proc/self/task/{thread}/syscall")) {
        Ok(line) => parse_position(&line),
        Err(error) => match error.raw_os_error() {
            Some(libc::ENOENT | libc::ESRCH) => ThreadPosition::Gone,
            _ => ThreadPosition::Unknown,
        },
    }
}

/// Parses `running`, or numbers of which the last is the address of the next instruction.
fn parse_position(line: &str) -> ThreadPosition {
    let last = line.split_ascii_whitespace().last().and_then(|word| word.strip_prefix("0x"));
    match last.and_then(|digits| usize::from_str_radix(digits, 16).ok()) {
        Some(next) => ThreadPosition::Blocked(next),
        None => ThreadPosition::Unknown,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(line: &str, expected: ThreadPosition) {
        assert_eq!(parse_position(line), expected);
    }

    #[test]
    fn a_sleeping_thread_says_where_it_goes_on() {
        check("running\n", ThreadPosition::Unknown);
        check("-1 0x7ffd0000 0x401136\n", ThreadPosition::Blocked(0x40_1136));
        check("230 0x0 0x0 0x7f 0x0 0x0 0x0 0x7ffd8 0x7f2a\n", ThreadPosition::Blocked(0x7f2a));
        check("-1 0x0 0x0\n", ThreadPosition::Blocked(0));
        check("", ThreadPosition::Unknown);
    }

    #[test]
    fn sets_of_signals_are_read() {
        let status = "Name:\tx\nSigBlk:\t0000000000000010\nSigIgn:\t8000000000000000\n";
        assert_eq!(set_in(status, "SigBlk:"), 1 << (libc::SIGTRAP - 1));
        assert_eq!(set_in(status, "SigIgn:"), 1 << 63);
        assert_eq!(set_in(status, "SigCgt:"), 0);
    }

    #[test]
    fn flags_come_after_the_name() {
        let stat = "12 (a) b) S 1 2 3 0 -1 4194304 90 0";
        assert_eq!(flags_in(stat), Some(4_194_304));
        assert_eq!(flags_in(""), None);
    }
}
