//! Command that is started with a deadline, and its result.
//!
//! All processes of a job have a variable in their environment by which they are found, whatever process groups and
//! sessions launchers put them in.

use crate::cleanup::{JobMark, signal, words_of};
use rustix::process::Signal;
use std::cell::RefCell;
use std::ffi::{OsStr, OsString};
use std::io::{BufRead, BufReader, Read};
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStderr, ChildStdout, Command, ExitStatus, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

/// Command to start, with its settings.
#[derive(Clone, Debug)]
pub struct Job {
    words: Vec<OsString>,
    variables: Vec<(OsString, OsString)>,
    removed: Vec<OsString>,
    folder: Option<PathBuf>,
    deadline: Duration,
}

/// Variable with the folders in which the dynamic linker looks first.
const LIBRARY_PATH: &str = "LD_LIBRARY_PATH";

/// Folders in which the dynamic linker looks first, without those that the test runner adds: libraries there are built
/// for development, and programs would take them for those that are shipped.
fn library_path() -> Option<OsString> {
    let said = std::env::var_os(LIBRARY_PATH)?;
    let target = crate::place::target();
    let folders = std::env::split_paths(&said).filter(|folder| !folder.starts_with(&target));
    std::env::join_paths(folders).ok().filter(|folders| !folders.is_empty())
}

/// End of a job, and its output.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EndedJob {
    /// Exit code; 128 + the signal that ended the job, as in shells.
    pub code: i32,
    /// Standard output.
    pub stdout: String,
    /// Standard error.
    pub stderr: String,
}

impl EndedJob {
    /// Standard output followed by standard error.
    pub fn text(&self) -> String {
        format!("{}{}", self.stdout, self.stderr)
    }
}

/// Job that was started.
#[derive(Debug)]
pub struct StartedJob {
    pid: u32,
    mark: JobMark,
    command: String,
    deadline: Instant,
    lines: Receiver<String>,
    seen: String,
    stderr: RefCell<Option<ErrorReader>>,
    status: Receiver<ExitStatus>,
}

impl Job {
    /// Makes the command `program` without arguments, with a deadline of a minute.
    pub fn new(program: impl AsRef<OsStr>) -> Self {
        let words = vec![program.as_ref().to_owned()];
        let (variables, removed) = (Vec::new(), Vec::new());
        Self { words, variables, removed, folder: None, deadline: Duration::from_secs(60) }
    }

    /// Adds an argument.
    #[must_use]
    pub fn arg(mut self, word: impl AsRef<OsStr>) -> Self {
        self.words.push(word.as_ref().to_owned());
        self
    }

    /// Adds arguments.
    #[must_use]
    pub fn args<I: IntoIterator<Item: AsRef<OsStr>>>(mut self, words: I) -> Self {
        self.words.extend(words.into_iter().map(|word| word.as_ref().to_owned()));
        self
    }

    /// Sets an environment variable.
    #[must_use]
    pub fn variable(mut self, name: impl AsRef<OsStr>, value: impl AsRef<OsStr>) -> Self {
        self.variables.push((name.as_ref().to_owned(), value.as_ref().to_owned()));
        self
    }

    /// Removes an environment variable that this process may have.
    #[must_use]
    pub fn without(mut self, name: impl AsRef<OsStr>) -> Self {
        self.removed.push(name.as_ref().to_owned());
        self
    }

    /// Sets the deadline, as a time from the start.
    #[must_use]
    pub fn within(mut self, deadline: Duration) -> Self {
        self.deadline = deadline;
        self
    }

    /// Sets the working folder.
    #[must_use]
    pub fn folder(mut self, folder: &Path) -> Self {
        self.folder = Some(folder.to_owned());
        self
    }

    /// Puts words before the command, which become the command that gets it as its last arguments.
    #[must_use]
    pub fn after(mut self, before: Vec<OsString>) -> Self {
        self.words.splice(0..0, before);
        self
    }

    /// Replaces the word `old` by `new`.
    #[must_use]
    pub fn replaced(mut self, old: &Path, new: &Path) -> Self {
        for word in self.words.iter_mut().filter(|word| word.as_os_str() == old) {
            *word = new.into();
        }
        self
    }

    /// Line of a shell script that starts the command.
    pub fn script(&self) -> String {
        let quoted =
            |word: &OsString| format!("'{}'", word.to_string_lossy().replace('\'', r"'\''"));
        let setting = |(name, value): &(OsString, OsString)| {
            format!("{}={}", name.to_string_lossy(), quoted(value))
        };
        self.variables
            .iter()
            .map(setting)
            .chain(self.words.iter().map(quoted))
            .collect::<Vec<_>>()
            .join(" ")
    }

    /// Starts the command, waits for its end, and checks that nothing of it is left.
    #[track_caller]
    pub fn run(&self) -> EndedJob {
        self.start().finish()
    }

    /// Starts the command.
    #[track_caller]
    pub fn start(&self) -> StartedJob {
        let mark = JobMark::new();
        let mut command = Command::new(&self.words[0]);
        match library_path() {
            Some(folders) => command.env(LIBRARY_PATH, folders),
            None => command.env_remove(LIBRARY_PATH),
        };
        command.args(&self.words[1..]).envs(self.variables.iter().cloned());
        command.env(mark.variable().0, mark.variable().1).stdin(Stdio::null());
        command.stdout(Stdio::piped()).stderr(Stdio::piped()).process_group(0);
        self.removed.iter().for_each(|name| {
            command.env_remove(name);
        });
        if let Some(folder) = &self.folder {
            command.current_dir(folder);
        }
        let failed = |error| panic!("{:?} does not start: {error}", self.words);
        StartedJob::new(command.spawn().unwrap_or_else(failed), mark, self)
    }
}

impl StartedJob {
    fn new(mut child: Child, mark: JobMark, job: &Job) -> Self {
        let stdout = child.stdout.take().expect("it is piped");
        let words = ErrorReader::new(child.stderr.take().expect("it is piped"));
        let (pid, lines) = (child.id(), lines_of(stdout));
        let (tell, status) = channel();
        std::thread::spawn(move || {
            if let Ok(ended) = child.wait() {
                tell.send(ended).unwrap_or_default();
            }
        });
        let (command, deadline) = (format!("{:?}", job.words), Instant::now() + job.deadline);
        let (seen, stderr) = (String::new(), RefCell::new(Some(words)));
        Self { pid, mark, command, deadline, lines, seen, stderr, status }
    }

    /// Process ID of the command itself.
    pub fn pid(&self) -> u32 {
        self.pid
    }

    /// Living processes of the job whose words (program and arguments) satisfy `is_wanted`.
    pub fn processes(&self, is_wanted: impl Fn(&[String]) -> bool) -> Vec<u32> {
        self.mark.processes().into_iter().filter(|pid| is_wanted(&words_of(*pid))).collect()
    }

    /// Sends SIGTERM to a process of the job.
    pub fn terminate(&self, pid: u32) {
        signal(pid, Signal::TERM);
    }

    /// Sends SIGINT to a process of the job.
    pub fn interrupt(&self, pid: u32) {
        signal(pid, Signal::INT);
    }

    /// Sends SIGSTOP to a process of the job.
    pub fn stop(&self, pid: u32) {
        signal(pid, Signal::STOP);
    }

    /// Sends SIGCONT to a process of the job.
    pub fn resume(&self, pid: u32) {
        signal(pid, Signal::CONT);
    }

    /// Sends SIGKILL to a process of the job.
    pub fn kill(&self, pid: u32) {
        signal(pid, Signal::KILL);
    }

    /// Waits until the job has printed `line`.
    #[track_caller]
    pub fn wait_for_line(&mut self, line: &str) {
        self.wait_for_line_that(line, |found| found == line);
    }

    /// Waits until the job has printed a line that satisfies `is_wanted`; `line` describes it.
    #[track_caller]
    pub fn wait_for_line_that(&mut self, line: &str, is_wanted: impl Fn(&str) -> bool) {
        loop {
            let left = self.deadline.saturating_duration_since(Instant::now());
            match self.lines.recv_timeout(left) {
                Ok(found) => {
                    self.seen.push_str(&found);
                    if is_wanted(found.trim_end()) {
                        return;
                    }
                }
                Err(_) => self.fail(&format!("does not print `{line}`")),
            }
        }
    }

    /// Waits until `holds`, checking every few milliseconds; `what` describes the condition.
    #[track_caller]
    pub fn wait_until(&self, what: &str, mut holds: impl FnMut(&Self) -> bool) {
        while !holds(self) {
            if self.deadline < Instant::now() {
                self.fail(&format!("waited in vain: {what}"));
            }
            std::thread::sleep(Duration::from_millis(5));
        }
    }

    /// Waits until this many processes, whose program has `part` in its path, have loaded an MPI library: a program that
    /// finds its library at run time is not recognized as a rank before.
    #[track_caller]
    pub fn wait_for_ranks(&self, part: &str, n_ranks: usize) {
        let is_rank = |words: &[String]| words.first().is_some_and(|word| word.contains(part));
        let has_mpi = |pid: &u32| {
            let maps = std::fs::read_to_string(format!("/proc/{pid}/maps"));
            maps.is_ok_and(|maps| maps.contains("libmpi"))
        };
        self.wait_until("all ranks with MPI", |job| {
            job.processes(is_rank).iter().filter(|pid| has_mpi(pid)).count() == n_ranks
        });
    }

    /// Waits for the end, and checks that no process of the job is left.
    #[track_caller]
    pub fn finish(mut self) -> EndedJob {
        let left = self.deadline.saturating_duration_since(Instant::now());
        let Ok(status) = self.status.recv_timeout(left) else { self.fail("does not end") };
        self.mark.check_all_gone(&self.command);
        self.mark.remove_library_files();
        self.seen.extend(self.lines.iter());
        let code = status.code().unwrap_or_else(|| 128 + status.signal().unwrap_or_default());
        let stderr = self.stderr.take().map(ErrorReader::all).unwrap_or_default();
        EndedJob { code, stdout: std::mem::take(&mut self.seen), stderr }
    }

    /// Ends the job, and panics with what it printed.
    #[track_caller]
    pub fn fail(&self, why: &str) -> ! {
        self.mark.end();
        self.mark.remove_library_files();
        let errors = self.stderr.take().map(ErrorReader::so_far).unwrap_or_default();
        let rest: String = self.lines.try_iter().collect();
        panic!("{} {why}; it printed:\n{}{rest}{errors}", self.command, self.seen)
    }
}

impl Drop for StartedJob {
    /// Ends the processes of the job if the test fails.
    fn drop(&mut self) {
        if std::thread::panicking() {
            self.mark.end();
        }
    }
}

/// Reader of standard error.
#[derive(Debug)]
struct ErrorReader {
    bytes: Arc<Mutex<Vec<u8>>>,
    thread: JoinHandle<()>,
}

impl ErrorReader {
    fn new(mut stderr: ChildStderr) -> Self {
        let bytes = Arc::<Mutex<Vec<u8>>>::default();
        let read = Arc::clone(&bytes);
        let thread = std::thread::spawn(move || {
            let mut chunk = [0; 4096];
            while let Ok(n @ 1..) = stderr.read(&mut chunk) {
                read.lock().unwrap_or_else(PoisonError::into_inner).extend(&chunk[..n]);
            }
        });
        Self { bytes, thread }
    }

    /// Text until the other end is closed.
    fn all(self) -> String {
        self.thread.join().expect("it only reads");
        text_of(&self.bytes)
    }

    /// Text of a job that was ended; an unknown process may keep the other end open.
    fn so_far(self) -> String {
        let until = Instant::now() + Duration::from_secs(1);
        while !self.thread.is_finished() && Instant::now() < until {
            std::thread::sleep(Duration::from_millis(5));
        }
        text_of(&self.bytes)
    }
}

fn text_of(bytes: &Mutex<Vec<u8>>) -> String {
    let bytes = bytes.lock().unwrap_or_else(PoisonError::into_inner);
    String::from_utf8_lossy(&bytes).into_owned()
}

/// Lines of standard output, with their line ends, as they arrive.
fn lines_of(stdout: ChildStdout) -> Receiver<String> {
    let (tell, lines) = channel();
    std::thread::spawn(move || {
        let mut reader = BufReader::new(stdout);
        let mut line = Vec::new();
        while reader.read_until(b'\n', &mut line).is_ok_and(|n| 0 < n) {
            if tell.send(String::from_utf8_lossy(&line).into_owned()).is_err() {
                return;
            }
            line.clear();
        }
    });
    lines
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::atomic::{AtomicU32, Ordering};

    #[test]
    fn a_test_that_fails_leaves_nothing_behind() {
        let pid = AtomicU32::new(0);
        let failed = std::panic::catch_unwind(|| {
            let running = Job::new("sleep").arg("1000").start();
            pid.store(running.pid(), Ordering::Relaxed);
            running.wait_until("its start", |running| !words_of(running.pid()).is_empty());
            assert_eq!(running.pid(), 0, "as tests fail");
        });
        assert!(failed.is_err());
        assert_eq!(words_of(pid.into_inner()), [""; 0]);
    }

    #[test]
    fn a_test_that_fails_says_what_was_printed() {
        let failed = std::panic::catch_unwind(|| {
            let mut running =
                Job::new("sh").args(["-c", "echo why >&2; sleep 0.5; echo out; sleep 9"]).start();
            running.wait_for_line("out");
            running.fail("is not as wanted")
        });
        let said = failed.err().and_then(|said| said.downcast::<String>().ok());
        let said = said.expect("it fails with a sentence");
        assert!(said.ends_with("is not as wanted; it printed:\nout\nwhy\n"), "{said}");
    }
}
