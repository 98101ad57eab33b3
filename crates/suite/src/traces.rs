//! Finds what came of a job: processes by a variable in their environment, and what ranks that were killed
//! could not remove.

use rustix::process::{Pid, Signal, kill_process};
use std::fs::DirEntry;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{Duration, Instant, SystemTime};

/// Name of the variable by which processes of a job are known.
const VARIABLE: &str = "SUITE_JOB";

/// How long what a job leaves behind may take to end by itself.
const GRACE: Duration = Duration::from_secs(10);

/// What tells the processes of one job from all others.
#[derive(Clone, Debug)]
pub(crate) struct Mark {
    value: String,
    since: SystemTime,
}

impl Mark {
    /// A mark that no other job has.
    pub(crate) fn new() -> Self {
        static N_MARKS: AtomicU32 = AtomicU32::new(0);
        let n = N_MARKS.fetch_add(1, Ordering::Relaxed);
        Self { value: format!("{}-{n}", std::process::id()), since: SystemTime::now() }
    }

    /// The variable that a marked process has, and its value.
    pub(crate) fn variable(&self) -> (&'static str, &str) {
        (VARIABLE, &self.value)
    }

    /// The living processes of the job.
    pub(crate) fn processes(&self) -> Vec<u32> {
        let wanted = format!("{VARIABLE}={}", self.value);
        let entries = std::fs::read_dir("/proc").into_iter().flatten().flatten();
        let pids = entries.filter_map(|entry| entry.file_name().to_str()?.parse().ok());
        pids.filter(|pid| is_marked(*pid, &wanted)).collect()
    }

    /// Waits until no process of the job lives; kills what does, and fails.
    #[track_caller]
    pub(crate) fn check_all_gone(&self, command: &str) {
        let until = Instant::now() + GRACE;
        loop {
            let alive = self.processes();
            if alive.is_empty() {
                return;
            }
            if until < Instant::now() {
                let words: Vec<_> = alive.iter().map(|pid| words_of(*pid)).collect();
                kill_all(&alive);
                panic!("{command} leaves processes behind: {words:?}");
            }
            std::thread::sleep(Duration::from_millis(5));
        }
    }

    /// Removes the shared memory that MPI libraries made since the job started and no process maps: that of
    /// ranks that were killed.
    pub(crate) fn remove_library_files(&self) {
        let entries = std::fs::read_dir("/dev/shm").into_iter().flatten().flatten();
        let is_ours = |entry: &DirEntry| {
            let name = entry.file_name().to_string_lossy().into_owned();
            LIBRARY_FILES.iter().any(|start| name.starts_with(start))
                && entry
                    .metadata()
                    .and_then(|found| found.modified())
                    .is_ok_and(|at| self.since <= at)
        };
        let left: Vec<PathBuf> = entries.filter(is_ours).map(|entry| entry.path()).collect();
        if left.is_empty() {
            return;
        }
        let maps = all_maps();
        for path in left.iter().filter(|path| !maps.contains(&*path.to_string_lossy())) {
            // Another job may have removed its own file meanwhile.
            std::fs::remove_file(path).unwrap_or_default();
        }
    }
}

/// How the files begin that MPI libraries keep in `/dev/shm`.
const LIBRARY_FILES: [&str; 3] = ["mpich_shm_", "vader_segment.", "sm_segment."];

/// What all processes map, as one text.
fn all_maps() -> String {
    let entries = std::fs::read_dir("/proc").into_iter().flatten().flatten();
    entries.filter_map(|entry| std::fs::read_to_string(entry.path().join("maps")).ok()).collect()
}

/// Kills processes of a job, each by its id.
pub(crate) fn kill_all(pids: &[u32]) {
    for pid in pids {
        signal(*pid, Signal::KILL);
    }
}

/// Sends a signal; a process that is gone needs none.
pub(crate) fn signal(pid: u32, signal: Signal) {
    if let Some(pid) = i32::try_from(pid).ok().and_then(Pid::from_raw) {
        kill_process(pid, signal).unwrap_or_default();
    }
}

/// A process that has ended and only waits to be reaped has no environment any more.
fn is_marked(pid: u32, wanted: &str) -> bool {
    let environment = std::fs::read(Path::new("/proc").join(pid.to_string()).join("environ"));
    environment
        .is_ok_and(|bytes| bytes.split(|byte| *byte == 0).any(|entry| entry == wanted.as_bytes()))
}

/// Program and arguments of a process.
pub(crate) fn words_of(pid: u32) -> Vec<String> {
    let bytes =
        std::fs::read(Path::new("/proc").join(pid.to_string()).join("cmdline")).unwrap_or_default();
    let words = bytes.split(|byte| *byte == 0).filter(|word| !word.is_empty());
    words.map(|word| String::from_utf8_lossy(word).into_owned()).collect()
}
