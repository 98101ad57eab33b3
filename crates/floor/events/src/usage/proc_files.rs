//! Texts of the kernel's files about a process (`/proc/PID/...`), a node and a control group.
//!
//! The reader of the files is an argument, so that the monitored process and its collector share this code.
//! What cannot be read stays 0: systems leave out files, and containers hide them.

use super::{CoreSet, TaskTally, ThreadUsage, Usage};

/// Bytes of a page of memory counted in kB by `status`.
const KIB: u64 = 1024;
/// Nanoseconds of one of the kernel's clock ticks; Linux shows times to programs in hundredths of a second.
pub const TICK_NS: u64 = 10_000_000;

/// Returns the usage of a process from its files, whose names are relative to `/proc/PID`.
///
/// `tally` must have taken its threads; `main_tid` is the thread that called `MPI_Init`.
pub fn usage(read: impl Fn(&str) -> Option<String>, tally: &TaskTally, main_tid: u32) -> Usage {
    let total = tally.total();
    let main = tally.thread(main_tid).unwrap_or_default();
    let mut usage = Usage {
        cpu_ns: total.cpu_ns,
        runqueue_ns: total.runqueue_ns,
        main_cpu_ns: main.cpu_ns,
        main_runqueue_ns: main.runqueue_ns,
        n_threads: tally.n_threads(),
        n_busy_threads: tally.n_busy(),
        ..Usage::default()
    };
    if let Some(stat) = read("stat") {
        add_stat(&mut usage, &stat);
    }
    if let Some(status) = read("status") {
        let kib = number_after(&status, "VmHWM:").unwrap_or(0);
        usage.memory_max_bytes = kib.saturating_mul(KIB);
    }
    if let Some(io) = read("io") {
        usage.read_bytes = number_after(&io, "rchar:").unwrap_or(0);
        usage.written_bytes = number_after(&io, "wchar:").unwrap_or(0);
        usage.n_reads = number_after(&io, "syscr:").unwrap_or(0);
        usage.n_writes = number_after(&io, "syscw:").unwrap_or(0);
    }
    usage
}

/// Adds page faults and processor time of `stat`, which includes threads that ended.
fn add_stat(usage: &mut Usage, stat: &str) {
    // The name in parentheses may contain anything; the field after it is the third.
    let Some((_, fields)) = stat.rsplit_once(')') else { return };
    let fields: Vec<&str> = fields.split_ascii_whitespace().collect();
    let field = |number: usize| -> u64 {
        fields.get(number - 3).and_then(|field| field.parse().ok()).unwrap_or(0)
    };
    usage.n_minor_faults = field(10);
    usage.n_major_faults = field(12);
    let (user, system) = (field(14), field(15));
    usage.system_ns = system.saturating_mul(TICK_NS);
    usage.cpu_ns = usage.cpu_ns.max(user.saturating_add(system).saturating_mul(TICK_NS));
}

/// Returns the times in `task/TID/schedstat`.
pub fn thread_usage(schedstat: &str) -> Option<ThreadUsage> {
    let mut numbers = schedstat.split_ascii_whitespace().map(str::parse);
    let (cpu_ns, runqueue_ns) = (numbers.next()?.ok()?, numbers.next()?.ok()?);
    Some(ThreadUsage { cpu_ns, runqueue_ns })
}

/// Returns voluntary and involuntary context switches in `task/TID/status`.
pub fn switches(status: &str) -> (u64, u64) {
    let number = |name| number_after(status, name).unwrap_or(0);
    (number("voluntary_ctxt_switches:"), number("nonvoluntary_ctxt_switches:"))
}

/// Returns the affinity mask in `status`.
pub fn mask(status: &str) -> Option<CoreSet> {
    let list = status.lines().find_map(|line| line.strip_prefix("Cpus_allowed_list:"))?;
    CoreSet::parse(list)
}

/// Returns the number of cores online, and the busy time in ns of those in `mask`, in the node's `/proc/stat`.
pub fn node(stat: &str, mask: &CoreSet) -> (u32, u64) {
    let cores = stat.lines().filter_map(|line| {
        let (core, times) = line.strip_prefix("cpu")?.split_once(' ')?;
        Some((core.parse::<u32>().ok()?, times))
    });
    cores.fold((0, 0), |(n_cores, busy_ns), (core, times)| {
        let busy_ns = busy_ns + if mask.holds(core) { busy_time_ns(times) } else { 0 };
        (n_cores + 1, busy_ns)
    })
}

/// User, nice, system, (idle, waiting for disks,) interrupts, soft interrupts, stolen by the host.
fn busy_time_ns(times: &str) -> u64 {
    let times: Vec<u64> =
        times.split_ascii_whitespace().map(|time| time.parse().unwrap_or(0)).collect();
    let busy = [0, 1, 2, 5, 6, 7].into_iter().filter_map(|idx| times.get(idx));
    busy.sum::<u64>().saturating_mul(TICK_NS)
}

/// Folders of control groups that may limit a process by this controller, from its file `cgroup`, the innermost first;
/// relative to `/sys/fs/cgroup`. The flag tells whether they are of the first version.
pub fn control_groups(cgroup: &str, controller: &str) -> Vec<(bool, String)> {
    let mut folders = Vec::new();
    for line in cgroup.lines() {
        let mut parts = line.splitn(3, ':');
        let (Some(_), Some(controllers), Some(path)) = (parts.next(), parts.next(), parts.next())
        else {
            continue;
        };
        let is_first = controllers.split(',').any(|known| known == controller);
        if !is_first && !controllers.is_empty() {
            continue;
        }
        let mounted = if is_first { format!("/{controllers}") } else { String::new() };
        let mut path = path.trim_end_matches('/');
        loop {
            folders.push((is_first, format!("{mounted}{path}")));
            match path.rsplit_once('/') {
                Some((parent, _)) => path = parent,
                None => break,
            }
        }
    }
    folders
}

/// Returns the cores that a quota amounts to: `cpu.max`, or `cpu.cfs_quota_us` and `cpu.cfs_period_us` with a blank
/// between them; `None` without a quota.
pub fn quota(text: &str) -> Option<f64> {
    let mut numbers = text.split_ascii_whitespace().map(str::parse::<f64>);
    let (quota_us, period_us) = (numbers.next()?.ok()?, numbers.next()?.ok()?);
    (0.0 < quota_us && 0.0 < period_us).then_some(quota_us / period_us)
}

/// Returns the time in ns for which a control group was stopped, in its `cpu.stat`.
pub fn throttled_ns(stat: &str) -> u64 {
    let us = number_after(stat, "throttled_usec ").map(|us| us.saturating_mul(1000));
    us.or_else(|| number_after(stat, "throttled_time ")).unwrap_or(0)
}

/// Returns the bytes that count against the limit of a control group: what it uses, without parts of files that are only
/// kept until the room is needed. `stat` is its `memory.stat`.
pub fn needed_bytes(used_bytes: u64, stat: &str) -> u64 {
    let of_files = number_after(stat, "total_inactive_file ");
    let of_files = of_files.or_else(|| number_after(stat, "inactive_file ")).unwrap_or(0);
    used_bytes.saturating_sub(of_files)
}

/// Returns the number after a name at the start of a line.
pub fn number_after(text: &str, name: &str) -> Option<u64> {
    let rest = text.lines().find_map(|line| line.strip_prefix(name))?;
    rest.split_ascii_whitespace().next()?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    const STAT: &str = "42 (a) b) S 1 2 3 4 5 6 100 0 7 0 30 12 0 0 20 0 1 0 99";
    const STATUS: &str = "Name:\tx\nVmHWM:\t    2048 kB\nThreads:\t1\nCpus_allowed_list:\t0-1,4\nvoluntary_ctxt_switches:\t5\nnonvoluntary_ctxt_switches:\t9\n";
    const IO: &str = "rchar: 10\nwchar: 20\nsyscr: 3\nsyscw: 4\nread_bytes: 0\n";

    fn read(name: &str) -> Option<String> {
        let texts = [("stat", STAT), ("status", STATUS), ("io", IO)];
        texts.iter().find(|(known, _)| *known == name).map(|(_, text)| (*text).to_owned())
    }

    #[test]
    fn a_process_is_read_from_its_files() {
        let mut tally = TaskTally::default();
        tally.take([(42, thread_usage("500000000 7000 12\n").unwrap())]);
        let expected = Usage {
            cpu_ns: 500_000_000,
            system_ns: 120_000_000,
            runqueue_ns: 7000,
            main_cpu_ns: 500_000_000,
            main_runqueue_ns: 7000,
            n_minor_faults: 100,
            n_major_faults: 7,
            memory_max_bytes: 2 << 20,
            read_bytes: 10,
            written_bytes: 20,
            n_reads: 3,
            n_writes: 4,
            n_threads: 1,
            n_busy_threads: 1,
            ..Usage::default()
        };
        assert_eq!(usage(read, &tally, 42), expected);
        assert_eq!(usage(|_| None, &TaskTally::default(), 42), Usage::default());
    }

    #[test]
    fn threads_that_ended_are_in_the_time_of_the_process() {
        assert_eq!(usage(read, &TaskTally::default(), 42).cpu_ns, 420_000_000);
    }

    #[test]
    fn the_node_is_busy_on_the_cores_that_the_process_may_use() {
        let stat =
            "cpu  1 1 1 1\ncpu0 1 2 3 100 100 4 5 6 0 0\ncpu1 10 0 0 7\ncpu2 1 0 0 7\nintr 1\n";
        let mask = mask(STATUS).unwrap();
        assert_eq!(mask.to_string(), "0-1,4");
        assert_eq!(node(stat, &mask), (3, 31 * TICK_NS));
        assert_eq!(switches(STATUS), (5, 9));
    }

    #[track_caller]
    fn check(cgroup: &str, expected: &[(bool, &str)]) {
        let found = control_groups(cgroup, "cpu");
        let found: Vec<_> = found.iter().map(|(first, path)| (*first, path.as_str())).collect();
        assert_eq!(found, expected);
    }

    #[test]
    fn a_control_group_is_followed_to_its_root() {
        check("0::/a/b\n", &[(false, "/a/b"), (false, "/a"), (false, "")]);
        check("0::/\n", &[(false, "")]);
        let old = "5:memory:/x\n4:cpu,cpuacct:/job\n";
        check(old, &[(true, "/cpu,cpuacct/job"), (true, "/cpu,cpuacct")]);
        check("nonsense", &[]);
        let of_memory = control_groups(old, "memory");
        assert_eq!(of_memory, [(true, "/memory/x".to_owned()), (true, "/memory".to_owned())]);
    }

    #[test]
    fn files_that_are_only_kept_need_no_memory() {
        assert_eq!(needed_bytes(100, "anon 60\ninactive_file 30\nactive_file 10\n"), 70);
        assert_eq!(needed_bytes(100, "inactive_file 0\ntotal_inactive_file 40\n"), 60);
        assert_eq!(needed_bytes(100, ""), 100);
    }

    #[test]
    fn a_quota_is_a_number_of_cores() {
        assert_eq!(quota("150000 100000\n"), Some(1.5));
        assert_eq!(quota("max 100000\n"), None);
        assert_eq!(quota("-1 100000"), None);
        assert_eq!(quota(""), None);
        assert_eq!(throttled_ns("nr_periods 3\nthrottled_usec 5\n"), 5000);
        assert_eq!(throttled_ns("nr_throttled 3\nthrottled_time 5\n"), 5);
        assert_eq!(throttled_ns(""), 0);
    }
}
