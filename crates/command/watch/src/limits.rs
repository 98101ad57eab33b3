//! Resource limits of this process (`ulimit`): the command gets them unchanged, and the watching copes with them.
//!
//! Nothing here changes a limit. Signal handlers, which `exec` resets, keep signals of limits from ending this process;
//! the command finds the signals as they were.
//!
//! # Not here
//! Limits inside a rank (`ring::mapping`).

use rustix::process::{Resource, getrlimit};
use signal_hook::consts::{SIGCHLD, SIGXCPU, SIGXFSZ};
use std::process::ExitCode;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::Builder;
use user_io::exit::Internal;

/// Stack of this program's own work, which needs much less in release builds.
const STACK_BYTES: u64 = 8 << 20;

/// Limits below which nothing is watched: a failed allocation, or the end of the CPU time, would end this process
/// before the command, whose exit code would be lost.
const MINIMUM_LIMITS: [MinimumLimit; 5] = [
    (Resource::As, 3 << 30, "-v", in_bytes),
    (Resource::Data, 1 << 30, "-d", in_bytes),
    (Resource::Fsize, 1 << 20, "-f", in_bytes),
    (Resource::Nofile, 64, "-n", |n| format!("{n} files")),
    (Resource::Cpu, 60, "-t", |time_s| format!("{time_s} s")),
];

/// Resource, its least amount, its option of `ulimit`, and an amount of it in words.
type MinimumLimit = (Resource, u64, &'static str, fn(u64) -> String);

fn in_bytes(amount: u64) -> String {
    if amount < 1 << 20 { format!("{} KiB", amount >> 10) } else { format!("{} MiB", amount >> 20) }
}

/// Sentence that says why nothing can be watched under the limits of this process; `None` if they leave room.
pub(crate) fn too_low() -> Option<String> {
    too_low_of(|resource| getrlimit(resource).current)
}

fn too_low_of(limit: impl Fn(Resource) -> Option<u64>) -> Option<String> {
    MINIMUM_LIMITS.iter().find_map(|(resource, minimum, option, in_words)| {
        let amount = limit(*resource).filter(|amount| amount < minimum)?;
        let (needed, allowed) = (in_words(*minimum), in_words(amount));
        Some(format!(
            "`ulimit {option}` allows {allowed}, and watching needs {needed}; raise it, or leave out `sintonia run`"
        ))
    })
}

/// True if `SIGCHLD` was ignored when this process was started.
static IGNORED_CHILDREN: AtomicBool = AtomicBool::new(false);

/// Keeps this process alive when a file or its CPU time reaches a limit: the write then fails instead. Also makes
/// children leave an exit code when the parent of this process ignores `SIGCHLD`.
pub fn survive_signals() {
    if is_ignored(SIGCHLD) {
        IGNORED_CHILDREN.store(true, Ordering::Relaxed);
        signal_hook::flag::register(SIGCHLD, Arc::new(AtomicBool::new(false))).ok();
    }
    for signal in [SIGXFSZ, SIGXCPU].into_iter().filter(|signal| !is_ignored(*signal)) {
        // If this fails, the signal may end this process before the command.
        signal_hook::flag::register(signal, Arc::new(AtomicBool::new(false))).ok();
    }
}

/// Returns whether `SIGCHLD` was ignored when this process was started.
pub(crate) fn ignored_children() -> bool {
    IGNORED_CHILDREN.load(Ordering::Relaxed)
}

/// Returns whether this process, and so the processes it starts, ignore a signal.
pub(crate) fn is_ignored(signal: i32) -> bool {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    is_ignored_by(&status, signal)
}

fn is_ignored_by(status: &str, signal: i32) -> bool {
    let set = status.lines().find_map(|line| line.strip_prefix("SigIgn:"));
    let set = set.and_then(|hex| u64::from_str_radix(hex.trim(), 16).ok()).unwrap_or(0);
    u32::try_from(signal - 1).is_ok_and(|bit| set.checked_shr(bit).unwrap_or(0) & 1 == 1)
}

/// Runs the work of this program on a stack that is large enough, whatever `ulimit -s` says.
pub fn with_stack(work: fn() -> ExitCode) -> ExitCode {
    let is_small = getrlimit(Resource::Stack).current.is_some_and(|bytes| bytes < STACK_BYTES);
    let bytes = usize::try_from(STACK_BYTES).unwrap_or(usize::MAX);
    let thread = || Builder::new().name("sintonia".to_owned()).stack_size(bytes).spawn(work).ok();
    match is_small.then(thread).flatten() {
        // The panic hook has already printed the error.
        Some(thread) => thread.join().unwrap_or(Internal.into()),
        None => work(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(resource: Resource, amount: Option<u64>, expected: Option<&str>) {
        let limit = |asked| if asked == resource { amount } else { None };
        let said = too_low_of(limit);
        match (&said, expected) {
            (Some(said), Some(expected)) => assert!(said.contains(expected), "{said}"),
            _ => assert_eq!(said.is_some(), expected.is_some(), "{said:?}"),
        }
    }

    #[test]
    fn a_limit_that_leaves_no_room_is_named() {
        check(Resource::As, None, None);
        check(Resource::As, Some(4 << 30), None);
        check(Resource::As, Some(500 << 20), Some("`ulimit -v` allows 500 MiB"));
        check(Resource::Data, Some(0), Some("`ulimit -d` allows 0 KiB"));
        check(Resource::Fsize, Some(64 << 10), Some("`ulimit -f` allows 64 KiB"));
        check(Resource::Nofile, Some(20), Some("`ulimit -n` allows 20 files"));
        check(Resource::Cpu, Some(1), Some("`ulimit -t` allows 1 s"));
        check(Resource::Core, Some(0), None);
        check(Resource::Memlock, Some(0), None);
    }

    #[test]
    fn ignored_signals_are_read_as_the_kernel_writes_them() {
        let status = "Name:\tsh\nSigBlk:\t0000000000000001\nSigIgn:\t0000000001001001\n";
        assert_eq!(
            [1, 13, SIGXFSZ, 2].map(|it| is_ignored_by(status, it)),
            [true, true, true, false]
        );
        assert!(!is_ignored_by("", 1));
    }
}
