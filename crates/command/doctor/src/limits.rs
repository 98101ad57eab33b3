//! Checks of room: shared memory, open files, locked memory, core files.

use crate::check::Check;
use rustix::process::{Resource, getrlimit};

/// Checks all of these.
pub(crate) fn checks() -> Vec<Check> {
    let limit = |resource| getrlimit(resource).current;
    vec![
        shared_memory(),
        open_files(limit(Resource::Nofile)),
        locked_memory(limit(Resource::Memlock)),
        core_files(limit(Resource::Core)),
    ]
}

const MIB: u64 = 1 << 20;

fn shared_memory() -> Check {
    let path = std::env::var("SINTONIA_SHM_DIR").unwrap_or_else(|_| "/dev/shm".into());
    match rustix::fs::statvfs(path.as_str()) {
        Ok(room) => room_in(&path, room.f_blocks * room.f_frsize, room.f_bavail * room.f_frsize),
        Err(_) => Check::missing(
            "shared memory",
            format!("no `{path}`"),
            ["nothing can be watched", "mount it: `mount -t tmpfs tmpfs /dev/shm`"],
        ),
    }
}

/// A rank needs about 1 MiB, with tracing 4 MiB more per thread.
fn room_in(path: &str, total_bytes: u64, free_bytes: u64) -> Check {
    let found = format!("{} of {} MiB free in {path}", free_bytes / MIB, total_bytes / MIB);
    if 64 * MIB <= free_bytes {
        return Check::ok("shared memory", found);
    }
    let advice = [
        "a rank takes about 1 MiB, with `--trace` about 4 MiB more per thread: the last ones find no room and are not watched",
        "remove leftovers in it, start containers with `--shm-size=1g`, or set SINTONIA_SHM_DIR",
    ];
    Check::limited("shared memory", found, advice)
}

fn open_files(limit: Option<u64>) -> Check {
    match limit {
        Some(limit) if limit < 1024 => Check::limited(
            "open files",
            limit.to_string(),
            [
                "the collector of a node keeps one file per rank open and watches no more than fit",
                "`ulimit -n 4096` before the run",
            ],
        ),
        limit => Check::ok("open files", text(limit, 1, "")),
    }
}

fn locked_memory(limit: Option<u64>) -> Check {
    match limit {
        Some(limit) if limit < MIB => Check::limited(
            "locked memory",
            format!("{} KiB", limit / 1024),
            [
                "MPI libraries on InfiniBand fall back to slower paths; Sintonia itself locks nothing",
                "`ulimit -l unlimited`, or `/etc/security/limits.conf`",
            ],
        ),
        limit => Check::ok("locked memory", text(limit, MIB, " MiB")),
    }
}

fn core_files(limit: Option<u64>) -> Check {
    match limit {
        Some(0) => Check::limited(
            "core files",
            "switched off",
            [
                "for a rank that crashes, the report shows its last MPI call, but there is no stack",
                "`ulimit -c unlimited` before the run",
            ],
        ),
        limit => Check::ok("core files", text(limit, MIB, " MiB")),
    }
}

fn text(limit: Option<u64>, unit: u64, name: &str) -> String {
    limit.map_or_else(|| "unlimited".to_owned(), |limit| format!("{}{name}", limit / unit))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::check::CheckResult;

    #[track_caller]
    fn check(check: &Check, found: &str, state: CheckResult) {
        assert_eq!((check.found.as_str(), check.state), (found, state));
    }

    #[test]
    fn room_is_judged_by_what_a_run_needs() {
        let found = "60 of 64 MiB free in /dev/shm";
        check(&room_in("/dev/shm", 64 * MIB, 60 * MIB), found, CheckResult::Limited);
        check(&room_in("/x", 2048 * MIB, 64 * MIB), "64 of 2048 MiB free in /x", CheckResult::Ok);
        check(&open_files(Some(256)), "256", CheckResult::Limited);
        check(&open_files(Some(1024)), "1024", CheckResult::Ok);
        check(&open_files(None), "unlimited", CheckResult::Ok);
        check(&locked_memory(Some(65_536)), "64 KiB", CheckResult::Limited);
        check(&locked_memory(Some(8 * MIB)), "8 MiB", CheckResult::Ok);
        check(&core_files(Some(0)), "switched off", CheckResult::Limited);
        check(&core_files(None), "unlimited", CheckResult::Ok);
    }
}
