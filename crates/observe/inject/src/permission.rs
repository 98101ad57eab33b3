//! Explanation of the setting that forbids `ptrace`, with a remedy.

use crate::InjectError;
use std::fs;
use std::io::ErrorKind;

/// Returns a sentence about why process `pid` may not be traced, after the system refused.
pub(crate) fn explain(pid: i32) -> String {
    let status = fs::read_to_string(format!("/proc/{pid}/status")).unwrap_or_default();
    let own = fs::read_to_string("/proc/self/status").unwrap_or_default();
    let scope = fs::read_to_string("/proc/sys/kernel/yama/ptrace_scope").ok();
    let scope = scope.and_then(|text| text.trim().parse().ok());
    let settings = PtraceSettings {
        has_capability: field(&own, "CapEff").is_some_and(|hex| has_sys_ptrace(&hex)),
        is_same_user: field(&own, "Uid") == field(&status, "Uid"),
        scope,
        // The namespace of another user's process is not visible.
        is_own_namespace: link(&pid.to_string()).is_none_or(|its| link("self") == Some(its)),
    };
    reason(&settings).to_owned()
}

/// Returns the reason why process `pid` cannot be attached to, if even its environment is unreadable.
pub fn forbidden(pid: i32) -> Option<InjectError> {
    let error = fs::read(format!("/proc/{pid}/environ")).err()?;
    let is_forbidden = error.kind() == ErrorKind::PermissionDenied;
    is_forbidden.then(|| InjectError::Forbidden { pid, reason: explain(pid) })
}

struct PtraceSettings {
    has_capability: bool,
    is_same_user: bool,
    /// Yama's `ptrace_scope`, if the kernel has Yama.
    scope: Option<u32>,
    is_own_namespace: bool,
}

fn reason(settings: &PtraceSettings) -> &'static str {
    match settings.scope {
        Some(3) => {
            "`kernel.yama.ptrace_scope` is 3, which forbids tracing to everybody until the next start of the \
             machine; start the program with `sintonia run` instead"
        }
        _ if !settings.is_own_namespace => {
            "it belongs to another user namespace (a container); run `sintonia attach` inside that"
        }
        _ if !settings.is_same_user && !settings.has_capability => {
            "it belongs to another user; attach as that user or as root"
        }
        Some(2) if !settings.has_capability => {
            "`kernel.yama.ptrace_scope` is 2, which lets only root trace; attach as root, or ask for \
             `sysctl kernel.yama.ptrace_scope=0`"
        }
        Some(1) if !settings.has_capability => {
            "`kernel.yama.ptrace_scope` is 1, which lets a process trace only its own children; attach as root, ask \
             for `sysctl kernel.yama.ptrace_scope=0`, or start the program with `sintonia run`"
        }
        _ => {
            "the system forbids `ptrace`, as containers do by default; start the container with \
             `--cap-add=SYS_PTRACE`, or the program with `sintonia run`"
        }
    }
}

fn field(status: &str, name: &str) -> Option<String> {
    let line = status.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(':'))?;
    Some(line.split_whitespace().next()?.to_owned())
}

fn has_sys_ptrace(hex: &str) -> bool {
    const CAP_SYS_PTRACE: u32 = 19;
    u64::from_str_radix(hex, 16).is_ok_and(|bits| bits & (1 << CAP_SYS_PTRACE) != 0)
}

fn link(process: &str) -> Option<std::path::PathBuf> {
    fs::read_link(format!("/proc/{process}/ns/user")).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(has_capability: bool, is_same_user: bool, scope: Option<u32>, expected: &str) {
        let settings =
            PtraceSettings { has_capability, is_same_user, scope, is_own_namespace: true };
        let reason = reason(&settings);
        assert!(reason.contains(expected), "{reason}");
    }

    #[test]
    fn the_setting_that_forbids_is_named() {
        check(false, true, Some(1), "ptrace_scope` is 1");
        check(false, true, Some(2), "ptrace_scope` is 2");
        check(true, true, Some(3), "ptrace_scope` is 3");
        check(false, false, Some(1), "another user");
        check(true, false, Some(1), "SYS_PTRACE");
        check(false, true, Some(0), "SYS_PTRACE");
        check(false, true, None, "SYS_PTRACE");
    }
}
