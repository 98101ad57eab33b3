//! What this process has used so far, read when `MPI_Init` returns and when `MPI_Finalize` is called.
//!
//! The collector reads the same files from outside, but a process may end before it looks again.

use events::Usage;
use events::usage::{TaskTally, proc_files};

/// Returns the usage of this process; `main_tid` is the thread that called `MPI_Init`.
pub(crate) fn of_process(main_tid: u32) -> Usage {
    let read = |name: &str| std::fs::read_to_string(format!("/proc/self/{name}")).ok();
    let (mut threads, mut switches) = (Vec::new(), (0, 0));
    for tid in tids() {
        let schedstat = read(&format!("task/{tid}/schedstat"));
        if let Some(times) = schedstat.and_then(|text| proc_files::thread_usage(&text)) {
            threads.push((tid, times));
        }
        if let Some(status) = read(&format!("task/{tid}/status")) {
            let (voluntary, involuntary) = proc_files::switches(&status);
            switches = (switches.0 + voluntary, switches.1 + involuntary);
        }
    }
    let mut tally = TaskTally::default();
    tally.take(threads);
    let usage = proc_files::usage(read, &tally, main_tid);
    Usage { n_voluntary_switches: switches.0, n_involuntary_switches: switches.1, ..usage }
}

fn tids() -> Vec<u32> {
    let Ok(entries) = std::fs::read_dir("/proc/self/task") else { return Vec::new() };
    entries.filter_map(|entry| entry.ok()?.file_name().to_str()?.parse().ok()).collect()
}
