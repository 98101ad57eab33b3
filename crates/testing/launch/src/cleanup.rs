//! Finds what a job leaves behind: processes, by a variable in their environment, and files that killed ranks could not
//! remove.

use rustix::process::{Pid, Signal, kill_process};
use std::collections::HashSet;
use std::fs::DirEntry;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{Duration, Instant};

/// Name of the variable that marks the processes of a job.
const VARIABLE: &str = "SUITE_JOB";

/// Longest time for the remaining processes of a job to end by themselves.
const GRACE: Duration = Duration::from_secs(10);
/// Longest time for killed processes to end.
const LAST_GRACE: Duration = Duration::from_secs(2);

/// Mark that distinguishes the processes of one job from all others.
#[derive(Clone, Debug)]
pub(crate) struct JobMark {
    value: String,
    /// Files and folders of MPI libraries that were there before the job.
    before: HashSet<PathBuf>,
}

impl JobMark {
    /// Makes a mark that no other job has.
    pub(crate) fn new() -> Self {
        static N_MARKS: AtomicU32 = AtomicU32::new(0);
        let n = N_MARKS.fetch_add(1, Ordering::Relaxed);
        let value = format!("{}-{n}", std::process::id());
        let before = library_files().chain(sessions()).map(|entry| entry.path()).collect();
        Self { value, before }
    }

    /// Variable of marked processes, and its value.
    pub(crate) fn variable(&self) -> (&'static str, &str) {
        (VARIABLE, &self.value)
    }

    /// Living processes of the job.
    pub(crate) fn processes(&self) -> Vec<u32> {
        let wanted = format!("{VARIABLE}={}", self.value);
        let entries = entries_of(Path::new("/proc"));
        let pids = entries.filter_map(|entry| entry.file_name().to_str()?.parse().ok());
        pids.filter(|pid| is_marked(*pid, &wanted)).collect()
    }

    /// Waits until no process of the job lives; after [`GRACE`], kills them and panics.
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
                self.end();
                panic!("{command} leaves processes behind: {words:?}");
            }
            std::thread::sleep(Duration::from_millis(5));
        }
    }

    /// Kills what is left of the job, and removes the files that it could not remove.
    pub(crate) fn end(&self) {
        self.processes().into_iter().for_each(|pid| signal(pid, Signal::KILL));
        let until = Instant::now() + LAST_GRACE;
        while !self.processes().is_empty() && Instant::now() < until {
            std::thread::sleep(Duration::from_millis(5));
        }
        self.remove_library_files();
    }

    /// Removes the shared memory that MPI libraries have made since the job started and that no process uses, and the
    /// session folders of processes that are gone: those of killed ranks and launchers.
    pub(crate) fn remove_library_files(&self) {
        // A launcher that later gets the process ID of the dead one would find its folder, and refuse to start.
        let is_new = |path: &PathBuf| !self.before.contains(path);
        for session in sessions().map(|entry| entry.path()).filter(is_new) {
            let pid = number_of(&session);
            if !pid.is_some_and(|pid| Path::new("/proc").join(pid).exists()) {
                std::fs::remove_dir_all(&session).unwrap_or_default();
            }
        }
        let left: Vec<_> = library_files().map(|entry| entry.path()).filter(is_new).collect();
        if left.is_empty() {
            return;
        }
        // Files of other jobs are in use from the moment they are made.
        let used = all_used();
        for path in left.iter().filter(|path| !used.contains(&*path.to_string_lossy())) {
            // Another job may have removed its own file meanwhile.
            std::fs::remove_file(path).unwrap_or_default();
        }
    }
}

/// Prefixes of the files that MPI libraries keep in `/dev/shm`.
const LIBRARY_FILES: [&str; 4] = ["mpich_shm_", "mpich_shar_tmp", "vader_segment.", "sm_segment."];

fn library_files() -> impl Iterator<Item = DirEntry> {
    entries_of(Path::new("/dev/shm")).filter(|entry| {
        let name = entry.file_name().to_string_lossy().into_owned();
        LIBRARY_FILES.iter().any(|start| name.starts_with(start))
    })
}

/// Session folders of Open MPI 5: `ompi.` and the process ID of a launcher.
fn sessions() -> impl Iterator<Item = DirEntry> {
    entries_of(&std::env::temp_dir()).filter(|entry| {
        number_of(&entry.path()).is_some_and(|pid| pid.bytes().all(|byte| byte.is_ascii_digit()))
    })
}

/// Process ID in the name of a session folder.
fn number_of(session: &Path) -> Option<&str> {
    session.file_name()?.to_str()?.strip_prefix("ompi.")
}

fn entries_of(folder: &Path) -> impl Iterator<Item = DirEntry> + use<> {
    std::fs::read_dir(folder).into_iter().flatten().flatten()
}

/// Paths that any process maps or has opened, as one text.
fn all_used() -> String {
    let used = |process: DirEntry| {
        let opened = entries_of(&process.path().join("fd"));
        let opened = opened.filter_map(|file| std::fs::read_link(file.path()).ok());
        let opened: String = opened.map(|path| format!("{}\n", path.display())).collect();
        opened + &std::fs::read_to_string(process.path().join("maps")).unwrap_or_default()
    };
    entries_of(Path::new("/proc")).map(used).collect()
}

/// Sends a signal; nothing happens if the process is gone.
pub(crate) fn signal(pid: u32, signal: Signal) {
    if let Some(pid) = i32::try_from(pid).ok().and_then(Pid::from_raw) {
        kill_process(pid, signal).unwrap_or_default();
    }
}

/// Returns whether a process has the mark; a zombie has no environment any more.
fn is_marked(pid: u32, wanted: &str) -> bool {
    let environment = std::fs::read(format!("/proc/{pid}/environ")).unwrap_or_default();
    environment.split(|byte| *byte == 0).any(|entry| entry == wanted.as_bytes())
}

/// Program and arguments of a process.
pub(crate) fn words_of(pid: u32) -> Vec<String> {
    let bytes = std::fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
    let words = bytes.split(|byte| *byte == 0).filter(|word| !word.is_empty());
    words.map(|word| String::from_utf8_lossy(word).into_owned()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs::{File, OpenOptions};

    /// File as MPICH makes it; removed at the end whatever happens.
    struct Made(PathBuf, Option<File>);

    impl Made {
        #[track_caller]
        fn new(name: &str) -> Self {
            let name = format!("mpich_shar_tmp-suite-{}-{name}", std::process::id());
            let path = Path::new("/dev/shm").join(name);
            let file = OpenOptions::new().write(true).create_new(true).open(&path);
            Self(path, Some(file.expect("`/dev/shm` is writable")))
        }

        #[track_caller]
        fn check_removed(&mut self, mark: &JobMark, expected: bool) {
            mark.remove_library_files();
            assert_eq!(!self.0.exists(), expected, "{}", self.0.display());
        }
    }

    impl Drop for Made {
        fn drop(&mut self) {
            std::fs::remove_file(&self.0).unwrap_or_default();
        }
    }

    #[test]
    fn a_session_of_a_dead_launcher_is_removed() {
        let mark = JobMark::new();
        let folder = |pid: u32| std::env::temp_dir().join(format!("ompi.{pid}"));
        // No process has a process ID above the largest that Linux gives.
        let (dead, alive) = (folder(1 << 23), folder(std::process::id()));
        for session in [&dead, &alive] {
            std::fs::create_dir_all(session.join("0")).expect("a folder");
        }
        mark.remove_library_files();
        let are_there = (dead.exists(), alive.exists());
        std::fs::remove_dir_all(&alive).expect("a folder");
        assert_eq!(are_there, (false, true));
    }

    #[test]
    fn files_that_a_job_made_and_nobody_uses_are_removed() {
        let mut before = Made::new("before");
        before.1 = None;
        let mark = JobMark::new();
        let mut made = Made::new("made");
        made.check_removed(&mark, false);
        made.1 = None;
        made.check_removed(&mark, true);
        before.check_removed(&mark, false);
    }
}
