//! Checks of the processor: its clock, and how many cores this process may use.

use crate::check::Check;
use std::fs::read_to_string;

/// Checks clock and cores.
pub(crate) fn checks() -> Vec<Check> {
    let cpuinfo = read_to_string("/proc/cpuinfo").unwrap_or_default();
    let n_cores = std::thread::available_parallelism().map_or(1, std::num::NonZero::get);
    vec![clock(&cpuinfo), cores(n_cores, quota().as_deref())]
}

/// Judges whether time stamps may be compared across cores and time.
fn clock(cpuinfo: &str) -> Check {
    let flags = cpuinfo.lines().find(|line| line.starts_with("flags")).unwrap_or_default();
    let has = |flag: &str| flags.split_whitespace().any(|word| word == flag);
    let steady = "the time-stamp counter runs at a constant rate and does not stop";
    if has("constant_tsc") && has("nonstop_tsc") {
        return Check::ok("clock", steady);
    }
    let advice = [
        "times of calls are wrong where the processor changes its speed or sleeps",
        "trust counts and bytes on this machine, not times; fix its frequency if you may",
    ];
    Check::limited("clock", "the time-stamp counter changes its rate or stops", advice)
}

/// Judges the cores this process may use, and the quota on them: `cpu.max` as `<used> <period>` or `max <period>`.
fn cores(n_cores: usize, quota: Option<&str>) -> Check {
    let found = display::units::plural(n_cores as u64, "core");
    let quota = quota.and_then(|text| {
        let (used, period) = text.trim().split_once(' ')?;
        Some(used.parse::<f64>().ok()? / period.parse::<f64>().ok()?)
    });
    #[expect(clippy::cast_precision_loss, reason = "no machine has 2^52 cores")]
    match quota {
        Some(share) if share < n_cores as f64 => Check::limited(
            "cores",
            format!("{found}, a quota of {share:.1} of them"),
            [
                "ranks above the quota are stopped in turn, which looks like imbalance",
                "start at most as many ranks as the quota has cores, or raise `cpu.max`",
            ],
        ),
        _ => Check::ok("cores", found),
    }
}

/// CPU quota of this process's control group, version 2.
fn quota() -> Option<String> {
    let groups = read_to_string("/proc/self/cgroup").ok()?;
    let group = groups.lines().find_map(|line| line.strip_prefix("0::"))?;
    read_to_string(format!("/sys/fs/cgroup{group}/cpu.max"))
        .or_else(|_| read_to_string("/sys/fs/cgroup/cpu.max"))
        .ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::check::CheckResult;

    #[test]
    fn the_clock_must_be_constant_and_never_stop() {
        assert_eq!(clock("flags\t: fpu constant_tsc nonstop_tsc\n").state, CheckResult::Ok);
        assert_eq!(clock("flags\t: fpu constant_tsc\n").state, CheckResult::Limited);
        assert_eq!(clock("").state, CheckResult::Limited);
    }

    #[track_caller]
    fn check(n_cores: usize, quota: Option<&str>, found: &str) {
        assert_eq!(cores(n_cores, quota).found, found);
    }

    #[test]
    fn a_quota_counts_when_it_is_less_than_the_cores() {
        check(1, None, "1 core");
        check(4, Some("max 100000\n"), "4 cores");
        check(4, Some("400000 100000\n"), "4 cores");
        check(4, Some("150000 100000\n"), "4 cores, a quota of 1.5 of them");
    }
}
