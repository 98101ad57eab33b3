//! Job that may hang: its output is read line by line, it is ended when it is silent, and it leaves nothing behind.
//!
//! # Invariants
//! - It ends: after its last line, at the deadline, or killed; so do the processes that it started, in whatever group
//!   or session they are.
//! - Its files are removed when the value is dropped: MPI libraries are told to keep them in a folder of ours.

use rustix::process::{Pid, Signal, kill_process, kill_process_group};
use std::collections::BTreeSet;
use std::ffi::OsString;
use std::io::{BufRead, BufReader, Read};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::thread::Builder;
use std::time::{Duration, Instant};
use tempfile::TempDir;

/// Environment variable that marks the processes of a job.
const VARIABLE: &str = "SINTONIA_DOCTOR_JOB";
/// Longest time for processes to be gone after they were killed or asked to end.
const GRACE: Duration = Duration::from_secs(3);
/// Most bytes that are kept of each output of a job.
const PRINTED_MAX: usize = 1 << 16;

/// Result of waiting for a line of a job.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum LineEvent {
    Line(String),
    /// The job closed its output.
    End,
    /// No line came in time.
    Timeout,
}

/// A running job.
pub(super) struct Job {
    child: Child,
    lines: Receiver<String>,
    errors: Receiver<String>,
    mark: String,
    /// Temporary folder; removed with the job.
    _folder: TempDir,
    /// Files of MPI libraries that were there before the job.
    before: BTreeSet<PathBuf>,
}

impl Job {
    /// Starts a launcher with its words and variables.
    pub(super) fn start(words: &[OsString], variables: &[(&str, &str)]) -> std::io::Result<Self> {
        static N_JOBS: AtomicU32 = AtomicU32::new(0);
        let n = N_JOBS.fetch_add(1, Ordering::Relaxed);
        let mark = format!("{}-{n}", std::process::id());
        let folder = tempfile::Builder::new().prefix("sntx").tempdir()?;
        let nobody = || std::io::Error::other("no launcher");
        let (launcher, words) = words.split_first().ok_or_else(nobody)?;
        let mut command = Command::new(launcher);
        command.args(words).env(VARIABLE, &mark).envs(variables.iter().copied());
        // Open MPI keeps its sessions and shared memory there. This program may be watched itself; the job should not be.
        command.env("TMPDIR", folder.path()).env_remove("LD_PRELOAD");
        for library in ["sm", "vader"] {
            command.env(format!("OMPI_MCA_btl_{library}_backing_directory"), folder.path());
        }
        command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let before = library_files().collect();
        let mut child = command.process_group(0).spawn()?;
        let (tell_line, lines) = channel();
        let (tell_error, errors) = channel();
        let pipes = (child.stdout.take(), child.stderr.take());
        // From here on, dropping `job` ends the child.
        let job = Self { child, lines, errors, mark, _folder: folder, before };
        if let (Some(output), Some(errors)) = pipes {
            let listener = || Builder::new().name("listener".to_owned());
            listener().spawn(move || listen(output, &tell_line))?;
            listener().spawn(move || listen(errors, &tell_error))?;
        }
        Ok(job)
    }

    /// Waits for the next line, at most this long.
    pub(super) fn next_line(&self, within: Duration) -> LineEvent {
        match self.lines.recv_timeout(within) {
            Ok(line) => LineEvent::Line(line),
            Err(RecvTimeoutError::Disconnected) => LineEvent::End,
            Err(RecvTimeoutError::Timeout) => LineEvent::Timeout,
        }
    }

    /// Exit status of the job, if it ends by itself within [`GRACE`].
    pub(super) fn ended(&mut self) -> Option<ExitStatus> {
        timed_command::wait(&mut self.child, GRACE).ok().flatten()
    }

    /// Returns what the job wrote to standard error, once it has ended. Waits for the rest, but not for ever: a process
    /// that the job started may still hold the stream open.
    pub(super) fn complaints(&self) -> String {
        let until = Instant::now() + GRACE;
        let left = || until.saturating_duration_since(Instant::now());
        let lines = std::iter::from_fn(|| self.errors.recv_timeout(left()).ok());
        lines.collect::<Vec<_>>().join("\n")
    }

    fn kill(&mut self) {
        if let Some(group) = Pid::from_raw(self.child.id().cast_signed()) {
            // The group may have ended already.
            kill_process_group(group, Signal::KILL).unwrap_or_default();
        }
        let until = Instant::now() + GRACE;
        loop {
            // Further processes may have been about to start.
            let alive = processes(&self.mark);
            for pid in &alive {
                kill_process(*pid, Signal::KILL).unwrap_or_default();
            }
            let is_reaped = !matches!(self.child.try_wait(), Ok(None));
            if (alive.is_empty() && is_reaped) || until < Instant::now() {
                return;
            }
            std::thread::sleep(Duration::from_millis(5));
        }
    }

    /// Removes shared memory that killed ranks of this job left and that no process maps.
    fn sweep(&self) {
        let left: Vec<PathBuf> =
            library_files().filter(|path| !self.before.contains(path)).collect();
        if left.is_empty() {
            return;
        }
        let maps: String = names(Path::new("/proc"))
            .filter_map(|process| std::fs::read_to_string(process.join("maps")).ok())
            .collect();
        for path in left.iter().filter(|path| !maps.contains(&*path.to_string_lossy())) {
            std::fs::remove_file(path).unwrap_or_default();
        }
    }
}

impl Drop for Job {
    fn drop(&mut self) {
        self.kill();
        self.sweep();
    }
}

/// Living processes of a job, without zombies.
fn processes(mark: &str) -> Vec<Pid> {
    let wanted = format!("{VARIABLE}={mark}");
    let is_marked = |pid: &Pid| {
        let path = format!("/proc/{}/environ", pid.as_raw_nonzero());
        let variables = std::fs::read(path).unwrap_or_default();
        variables.split(|byte| *byte == 0).any(|variable| variable == wanted.as_bytes())
    };
    let number = |path: PathBuf| Pid::from_raw(path.file_name()?.to_str()?.parse().ok()?);
    names(Path::new("/proc")).filter_map(number).filter(is_marked).collect()
}

fn listen(output: impl Read, tell: &Sender<String>) {
    let mut n_bytes = 0;
    for line in BufReader::new(output).split(b'\n') {
        let Ok(line) = line else { return };
        n_bytes += line.len() + 1;
        // Output beyond the limit is read as well, so that the job does not block.
        if n_bytes <= PRINTED_MAX {
            tell.send(String::from_utf8_lossy(&line).into_owned()).unwrap_or_default();
        }
    }
}

/// Shared memory files of MPICH, which cannot be told where to keep them.
fn library_files() -> impl Iterator<Item = PathBuf> {
    names(Path::new("/dev/shm")).filter(|path| {
        let name = path.file_name().map(|name| name.to_string_lossy().into_owned());
        name.is_some_and(|name| name.starts_with("mpich_sh"))
    })
}

fn names(folder: &Path) -> impl Iterator<Item = PathBuf> + use<> {
    std::fs::read_dir(folder).into_iter().flatten().flatten().map(|entry| entry.path())
}

#[cfg(test)]
mod tests {
    use super::*;

    const LONG: Duration = Duration::from_secs(60);

    fn shell(script: &str) -> Job {
        let words = ["sh", "-c", script].map(OsString::from);
        Job::start(&words, &[("WORD", "said")]).expect("a shell")
    }

    #[test]
    fn lines_are_heard_until_the_end() {
        let mut job = shell("echo $WORD; echo bad >&2; exit 3");
        assert_eq!(job.next_line(LONG), LineEvent::Line("said".to_owned()));
        assert_eq!(job.next_line(LONG), LineEvent::End);
        assert_eq!(job.ended().and_then(|status| status.code()), Some(3));
        while job.errors.recv().is_ok_and(|line| line != "bad") {}
    }

    #[test]
    fn what_hangs_is_ended_with_all_it_started() {
        // One process ignores signals that can be ignored, and another one is in a session of its own.
        let script =
            "trap '' TERM HUP; setsid sleep 1000 & touch $TMPDIR/file; echo up; sleep 1000";
        let job = shell(script);
        assert_eq!(job.next_line(LONG), LineEvent::Line("up".to_owned()));
        assert_eq!(job.next_line(Duration::from_millis(1)), LineEvent::Timeout);
        let (mark, folder) = (job.mark.clone(), job._folder.path().to_owned());
        assert!(!processes(&mark).is_empty());
        assert!(folder.join("file").exists());
        drop(job);
        assert!(!folder.exists());
        assert_eq!(processes(&mark), []);
    }
}
