//! Checks of what the kernel lets this user do to processes.

use crate::check::Check;
use std::fs::read_to_string;

/// Checks attaching and hardware counters.
pub(crate) fn checks() -> Vec<Check> {
    let is_root = rustix::process::geteuid().is_root();
    let scope = read_to_string("/proc/sys/kernel/yama/ptrace_scope").ok();
    let paranoid = read_to_string("/proc/sys/kernel/perf_event_paranoid").ok();
    vec![attach(scope.as_deref(), is_root), counters(paranoid.as_deref(), is_root)]
}

/// Judges whether a running process may be entered; without Yama there is no restriction.
fn attach(scope: Option<&str>, is_root: bool) -> Check {
    let level: u8 = scope.and_then(|text| text.trim().parse().ok()).unwrap_or(0);
    let found = format!("ptrace scope {level}");
    let watched = "`sintonia attach` cannot enter programs that run already; those started by `sintonia run` can be watched";
    let limited = |advice| Check::limited("attach", found.as_str(), advice);
    match level {
        0 => Check::ok("attach", found),
        1 | 2 if is_root => Check::ok("attach", format!("{found}, as root")),
        1 => limited([watched, "as root: `sysctl kernel.yama.ptrace_scope=0`"]),
        2 => limited([watched, "attach as root"]),
        _ => {
            let remedy = "it can be lowered only by a restart of the machine";
            Check::missing("attach", found, [watched, remedy])
        }
    }
}

/// Judges whether hardware counters of this user's processes can be read.
fn counters(paranoid: Option<&str>, is_root: bool) -> Check {
    let level: Option<i32> = paranoid.and_then(|text| text.trim().parse().ok());
    let costs = "why a computation is slow (cache, instructions) cannot be counted; all times can";
    match level {
        None => {
            let remedy = "use a kernel with perf events";
            Check::missing("counters", "this kernel has no perf events", [costs, remedy])
        }
        Some(level) if level <= 2 || is_root => {
            Check::ok("counters", format!("perf_event_paranoid {level}"))
        }
        Some(level) => {
            let remedy = "as root: `sysctl kernel.perf_event_paranoid=2`";
            Check::limited("counters", format!("perf_event_paranoid {level}"), [costs, remedy])
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::check::CheckResult;

    #[test]
    fn attaching_depends_on_the_scope_and_on_who_asks() {
        let state = |scope, is_root| attach(scope, is_root).state;
        assert_eq!(state(None, false), CheckResult::Ok);
        assert_eq!(state(Some("0\n"), false), CheckResult::Ok);
        assert_eq!(state(Some("1\n"), false), CheckResult::Limited);
        assert_eq!(state(Some("1\n"), true), CheckResult::Ok);
        assert_eq!(state(Some("2\n"), false), CheckResult::Limited);
        assert_eq!(state(Some("3\n"), true), CheckResult::Missing);
    }

    #[test]
    fn counters_need_perf_and_a_low_level() {
        let state = |paranoid, is_root| counters(paranoid, is_root).state;
        assert_eq!(state(Some("2\n"), false), CheckResult::Ok);
        assert_eq!(state(Some("4\n"), false), CheckResult::Limited);
        assert_eq!(state(Some("4\n"), true), CheckResult::Ok);
        assert_eq!(state(None, true), CheckResult::Missing);
    }
}
