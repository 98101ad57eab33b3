//! What a process uses, and what happens beside it on its cores, read at each report.
//!
//! # Invariants
//! - Nothing goes back, although threads end between two readings, and the process before the last one.

use events::usage::{TaskTally, proc_files};
use events::{Cores, Usage};
use ring::SegmentReader;
use std::cell::{OnceCell, RefCell};
use std::collections::HashMap;
use std::fs::read_to_string;
use std::time::{Duration, Instant};

/// Folders where control groups are mounted.
const CONTROL_GROUPS: [&str; 2] = ["/sys/fs/cgroup", "/sys/fs/cgroup/unified"];

/// Time between two readings of the context switches of all threads: their files take the kernel as long as all others together.
const SWITCHES_EVERY: Duration = Duration::from_millis(900);

/// Files of the node, read once for the reports of all processes.
#[derive(Debug, Default)]
pub(crate) struct NodeFiles {
    stat: OnceCell<String>,
    /// Quota in cores, and time stopped in ns, by the text of `/proc/PID/cgroup`: ranks of a node share it.
    limits: RefCell<HashMap<String, (Option<f64>, u64)>>,
}

impl NodeFiles {
    fn stat(&self) -> &str {
        self.stat.get_or_init(|| read_to_string("/proc/stat").unwrap_or_default())
    }

    fn limits(&self, cgroup: String) -> (Option<f64>, u64) {
        let mut known = self.limits.borrow_mut();
        *known.entry(cgroup).or_insert_with_key(|cgroup| limits(cgroup))
    }
}

/// Reader of one process's usage.
#[derive(Debug, Default)]
pub(crate) struct UsageReader {
    tally: TaskTally,
    last: Usage,
    cores: Cores,
    /// Busy time of its cores and stopped time of its control group when it was seen first.
    first: Option<(u64, u64)>,
    switches_read: Option<Instant>,
}

impl UsageReader {
    /// Reads the files of the process, if it lives.
    pub(crate) fn read(&mut self, segment: &SegmentReader, pid: Option<u32>, files: &NodeFiles) {
        let Some(pid) = pid else { return };
        let read = |name: &str| read_to_string(format!("/proc/{pid}/{name}")).ok();
        let main = segment.process().main_thread;
        let main_tid = segment.threads().find(|thread| thread.idx() == main).map(|it| it.tid());
        let tids = tids(pid);
        let times = tids.iter().filter_map(|tid| {
            let text = read(&format!("task/{tid}/schedstat"))?;
            Some((*tid, proc_files::thread_usage(&text)?))
        });
        self.tally.take(times);
        let status = read("status");
        let once = |name: &str| if name == "status" { status.clone() } else { read(name) };
        let usage = proc_files::usage(once, &self.tally, main_tid.unwrap_or(pid));
        let (voluntary, involuntary) = self.switches(pid, &tids);
        self.last = self.last.later(Usage {
            n_voluntary_switches: voluntary,
            n_involuntary_switches: involuntary,
            ..usage
        });
        self.last.n_threads = usage.n_threads;
        self.last.n_busy_threads = usage.n_busy_threads;
        self.read_cores(once, files);
    }

    /// Voluntary and involuntary context switches of threads, as they were read last.
    fn switches(&mut self, pid: u32, tids: &[u32]) -> (u64, u64) {
        let now = Instant::now();
        if self.switches_read.is_some_and(|last| now < last + SWITCHES_EVERY) {
            return (self.last.n_voluntary_switches, self.last.n_involuntary_switches);
        }
        self.switches_read = Some(now);
        let status = |tid: &u32| read_to_string(format!("/proc/{pid}/task/{tid}/status")).ok();
        let statuses = tids.iter().filter_map(status);
        statuses.map(|status| proc_files::switches(&status)).fold((0, 0), add)
    }

    fn read_cores(&mut self, read: impl Fn(&str) -> Option<String>, files: &NodeFiles) {
        if let Some(mask) = read("status").and_then(|status| proc_files::mask(&status)) {
            self.cores.mask = mask;
        }
        let (n_online, busy_ns) = proc_files::node(files.stat(), &self.cores.mask);
        let (quota, throttled_ns) = files.limits(read("cgroup").unwrap_or_default());
        let first = *self.first.get_or_insert((busy_ns, throttled_ns));
        self.cores.n_online = n_online;
        self.cores.quota = quota;
        self.cores.busy_ns = self.cores.busy_ns.max(busy_ns.saturating_sub(first.0));
        self.cores.throttled_ns = self.cores.throttled_ns.max(throttled_ns.saturating_sub(first.1));
    }

    /// Returns what the process used since `MPI_Init` returned, by its own last numbers where it wrote them.
    pub(crate) fn since_init(&self, segment: &SegmentReader) -> Usage {
        let (start, end) = segment.usage();
        let usage = self.last.later(end);
        if usage.is_empty() { usage } else { usage.since(start) }
    }

    /// Cores that the process may use.
    pub(crate) fn cores(&self) -> &Cores {
        &self.cores
    }
}

fn add(a: (u64, u64), b: (u64, u64)) -> (u64, u64) {
    (a.0.saturating_add(b.0), a.1.saturating_add(b.1))
}

fn tids(pid: u32) -> Vec<u32> {
    let Ok(entries) = std::fs::read_dir(format!("/proc/{pid}/task")) else { return Vec::new() };
    entries.filter_map(|entry| entry.ok()?.file_name().to_str()?.parse().ok()).collect()
}

/// Returns the tightest quota of the control groups in this text of `/proc/PID/cgroup`, in cores, and the time in ns
/// for which they were stopped.
fn limits(cgroup: &str) -> (Option<f64>, u64) {
    let mut limits = (None::<f64>, 0);
    for (is_first, folder) in proc_files::control_groups(cgroup, "cpu") {
        let read = |name: &str| {
            let texts = CONTROL_GROUPS.map(|root| read_to_string(format!("{root}{folder}/{name}")));
            texts.into_iter().find_map(Result::ok)
        };
        let text = if is_first {
            let parts = (read("cpu.cfs_quota_us"), read("cpu.cfs_period_us"));
            parts.0.zip(parts.1).map(|(quota, period)| format!("{quota} {period}"))
        } else {
            read("cpu.max")
        };
        let quota = text.and_then(|text| proc_files::quota(&text));
        limits.0 = match (limits.0, quota) {
            (Some(known), Some(quota)) => Some(known.min(quota)),
            (known, quota) => known.or(quota),
        };
        let stopped = read("cpu.stat").filter(|_| quota.is_some());
        limits.1 = limits.1.max(stopped.map_or(0, |stat| proc_files::throttled_ns(&stat)));
    }
    limits
}

#[cfg(test)]
mod tests {
    use super::*;
    use ring::{Capacity, SegmentWriter};

    /// Both the process and its collector have numbers, and each may lack what the other one saw.
    #[test]
    fn the_later_numbers_count_and_those_of_before_the_start_do_not() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("1-1.segment");
        let capacity = Capacity { n_threads: 1, n_regions: 1024, n_peers: 1, n_records: 0 };
        let writer = SegmentWriter::create(&path, capacity, 1).unwrap();
        writer.publish();
        let segment = SegmentReader::open(&path).unwrap();
        let usage = |cpu_ns, n_reads| Usage { cpu_ns, n_reads, ..Usage::default() };
        let mut reader = UsageReader::default();
        assert!(reader.since_init(&segment).is_empty());
        writer.header().usage_start.store(usage(10, 1));
        assert!(reader.since_init(&segment).is_empty());
        writer.header().usage_end.store(usage(30, 9));
        reader.last = usage(25, 11);
        assert_eq!(reader.since_init(&segment), usage(20, 10));
    }

    #[test]
    fn a_living_process_is_read() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("1-1.segment");
        let capacity = Capacity { n_threads: 1, n_regions: 1024, n_peers: 1, n_records: 0 };
        SegmentWriter::create(&path, capacity, 1).unwrap().publish();
        let segment = SegmentReader::open(&path).unwrap();
        let mut reader = UsageReader::default();
        reader.read(&segment, Some(std::process::id()), &NodeFiles::default());
        let (usage, cores) = (reader.since_init(&segment), reader.cores());
        assert!(usage.n_threads != 0 && usage.memory_max_bytes != 0, "{usage:?}");
        assert!(0.0 < cores.n_allowed() && cores.n_online != 0, "{cores:?}");
    }
}
