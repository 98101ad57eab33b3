//! Formatting of a process's exit status.

use std::os::unix::process::ExitStatusExt;
use std::process::ExitStatus;

/// Returns "killed by SIGSEGV", "it exited with code 3".
pub(super) fn words(status: ExitStatus) -> String {
    match (status.signal(), status.code()) {
        (Some(signal), _) => format!("killed by {}", signal_name(signal)),
        (None, Some(code)) => format!("it exited with code {code}"),
        (None, None) => "it is gone".to_owned(),
    }
}

fn signal_name(signal: i32) -> String {
    let name = match signal {
        libc::SIGABRT => "SIGABRT",
        libc::SIGBUS => "SIGBUS",
        libc::SIGFPE => "SIGFPE",
        libc::SIGHUP => "SIGHUP",
        libc::SIGILL => "SIGILL",
        libc::SIGINT => "SIGINT",
        libc::SIGKILL => "SIGKILL",
        libc::SIGPIPE => "SIGPIPE",
        libc::SIGSEGV => "SIGSEGV",
        libc::SIGSYS => "SIGSYS",
        libc::SIGTERM => "SIGTERM",
        libc::SIGTRAP => "SIGTRAP",
        libc::SIGXCPU => "SIGXCPU",
        _ => return format!("signal {signal}"),
    };
    name.to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(raw: i32, expected: &str) {
        assert_eq!(words(ExitStatus::from_raw(raw)), expected);
    }

    #[test]
    fn an_end_is_named() {
        check(11, "killed by SIGSEGV");
        check(6 | 0x80, "killed by SIGABRT");
        check(40, "killed by signal 40");
        check(3 << 8, "it exited with code 3");
        check(0, "it exited with code 0");
    }
}
