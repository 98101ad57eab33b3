//! Checks of what the kernel lets this user do to processes.

use crate::check::Check;
use sampler::{PerfError, has_hardware_counters};
use std::fs::read_to_string;

/// Checks attaching and hardware counters.
pub(crate) fn checks() -> Vec<Check> {
    let is_root = rustix::process::geteuid().is_root();
    let scope = read_to_string("/proc/sys/kernel/yama/ptrace_scope").ok();
    let paranoid = read_to_string("/proc/sys/kernel/perf_event_paranoid").ok();
    vec![attach(scope.as_deref(), is_root), counters(paranoid.as_deref(), has_hardware_counters())]
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

/// Judges whether hardware counters of this user's processes can be read, by the result of opening one.
fn counters(paranoid: Option<&str>, opened: Result<bool, PerfError>) -> Check {
    let costs = "why a computation is slow (cache, instructions) cannot be counted; all times can";
    let Some(level) = paranoid.map(str::trim) else {
        let remedy = "use a kernel with perf events";
        return Check::missing("counters", "this kernel has no perf events", [costs, remedy]);
    };
    let found = format!("perf_event_paranoid {level}");
    match opened {
        Ok(true) => Check::ok("counters", format!("instructions are counted, {found}")),
        Ok(false) => {
            let remedy = "a virtual machine needs a virtual PMU (libvirt: `<pmu state='on'/>`); else use another machine";
            Check::limited("counters", "this machine shows no hardware counters", [costs, remedy])
        }
        Err(PerfError::Forbidden) => {
            let remedy = "as root: `sysctl kernel.perf_event_paranoid=2`; a container must allow `perf_event_open`";
            Check::limited("counters", found, [costs, remedy])
        }
        Err(error) => Check::limited("counters", error.to_string(), [costs, "try it again"]),
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
    fn counters_are_there_when_one_could_be_opened() {
        let state = |paranoid, opened| counters(paranoid, opened).state;
        assert_eq!(state(Some("2\n"), Ok(true)), CheckResult::Ok);
        assert_eq!(state(Some("2\n"), Ok(false)), CheckResult::Limited);
        assert_eq!(state(Some("4\n"), Err(PerfError::Forbidden)), CheckResult::Limited);
        assert_eq!(state(Some("4\n"), Err(PerfError::NoRoom)), CheckResult::Limited);
        assert_eq!(state(None, Err(PerfError::Forbidden)), CheckResult::Missing);
    }

    #[test]
    fn counters_are_there_where_the_kernel_lists_them() {
        let listed = ["cpu", "cpu_core", "armv8_pmuv3_0"];
        let is_listed =
            |name: &&str| std::path::Path::new("/sys/bus/event_source/devices").join(name).exists();
        let has_any = listed.iter().any(is_listed);
        // What is listed may still be forbidden, or be in use.
        assert!(has_any || !matches!(has_hardware_counters(), Ok(true)));
    }
}
