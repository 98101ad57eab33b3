//! Tries the features of a library, step by step, in jobs that are ended when they hang.
//!
//! The ranks print which step they begin, and its outcome. A step without an outcome hangs, or has ended the job; a
//! further job tries the steps that follow.

use super::rank::MARK;
use super::step::TriedFeature;
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

/// Outcome of a step.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum StepOutcome {
    /// The feature works; with what was observed.
    Works(String),
    /// The feature fails; with the reason given by the library or a rank.
    Fails(String),
    /// The step did not end in time.
    Hangs,
    /// The job ended during the step; with its status.
    Dies(String),
    /// A step that this one needs does not work.
    NotTried,
}

/// Longest waits.
#[derive(Clone, Copy, Debug)]
pub(super) struct LongestWaits {
    /// Until the ranks have started.
    pub(super) start: Duration,
    /// For each step.
    pub(super) step: Duration,
}

/// Command that starts ranks.
#[derive(Clone, Debug)]
pub(super) struct RankCommand {
    /// Launcher with its options.
    pub(super) launcher: Vec<OsString>,
    /// Program that it starts, which takes `--steps NAME,...` and `--connect PORT`.
    pub(super) program: Vec<OsString>,
    /// Environment variables.
    pub(super) variables: Vec<(&'static str, &'static str)>,
}

impl RankCommand {
    fn job(&self, n_ranks: &str, options: [&str; 2]) -> std::io::Result<Job> {
        let counted = ["-n", n_ranks].map(OsString::from);
        let options = options.map(OsString::from);
        let words = self.launcher.iter().chain(&counted).chain(&self.program).chain(&options);
        Job::start(&words.cloned().collect::<Vec<_>>(), &self.variables)
    }
}

/// Tries these steps; the first one must be that ranks start.
pub(super) fn conduct(
    start: &RankCommand,
    steps: &[TriedFeature],
    limits: LongestWaits,
) -> Vec<(TriedFeature, StepOutcome)> {
    let mut done: Vec<(TriedFeature, StepOutcome)> = Vec::new();
    while done.len() < steps.len() {
        let left = &steps[done.len()..];
        let is_hopeless = |outcome: &StepOutcome| !matches!(outcome, StepOutcome::Works(_));
        let is_started = !done.first().is_some_and(|(_, outcome)| is_hopeless(outcome));
        // After a step has hung, steps that start processes would take their time, too.
        let is_hanging = done.iter().any(|(_, outcome)| *outcome == StepOutcome::Hangs);
        match left[0] {
            step if !is_started || (is_hanging && step.starts_processes()) => {
                done.push((step, StepOutcome::NotTried));
            }
            _ => attempt(start, left, limits, &mut done),
        }
    }
    done
}

/// Runs one job; adds the outcomes of its steps, up to the first step without one.
fn attempt(
    start: &RankCommand,
    left: &[TriedFeature],
    limits: LongestWaits,
    done: &mut Vec<(TriedFeature, StepOutcome)>,
) {
    let names: Vec<&str> = left.iter().map(|step| step.name()).collect();
    let mut job = match start.job("2", ["--steps", &names.join(",")]) {
        Ok(job) => job,
        Err(error) => return done.push((left[0], StepOutcome::Fails(error.to_string()))),
    };
    let mut guest = None;
    let mut left = left.iter().copied();
    let mut open = left.next();
    let mut limit = limits.start;
    while let Some(step) = open {
        let line = match job.lines.recv_timeout(limit) {
            Ok(line) => line,
            Err(RecvTimeoutError::Timeout) => return done.push((step, StepOutcome::Hangs)),
            Err(RecvTimeoutError::Disconnected) => return done.push((step, ending(&mut job))),
        };
        let Some((_, answer)) = line.split_once(MARK) else { continue };
        if let Some(port) = answer.strip_prefix("port ") {
            // If it does not start, the step that waits for it reaches its deadline.
            guest = start.job("1", ["--connect", port]).ok();
        }
        let Some(outcome) = parse_outcome(answer, step) else { continue };
        done.push((step, outcome));
        limit = limits.step;
        open = left.next();
    }
    drop(guest);
}

/// Parses the outcome of a step from a line: `ok NAME ...` or `failed NAME ...`.
fn parse_outcome(answer: &str, step: TriedFeature) -> Option<StepOutcome> {
    let mut words = answer.splitn(3, ' ');
    let (verdict, name, rest) = (words.next()?, words.next()?, words.next().unwrap_or_default());
    match (verdict, name == step.name()) {
        ("ok", true) => Some(StepOutcome::Works(rest.to_owned())),
        ("failed", true) => Some(StepOutcome::Fails(rest.to_owned())),
        _ => None,
    }
}

/// Reason why a job ended early.
fn ending(job: &mut Job) -> StepOutcome {
    let Some(status) = job.ended() else { return StepOutcome::Hangs };
    let complaints = job.complaints();
    let has_words = |line: &&str| line.chars().any(char::is_alphabetic);
    let first = complaints.lines().map(str::trim).find(has_words).unwrap_or_default();
    let separator = if first.is_empty() { "" } else { ": " };
    StepOutcome::Dies(format!("{status}{separator}{first}"))
}

/// Environment variable that marks the processes of a job.
const VARIABLE: &str = "SINTONIA_DOCTOR_JOB";
/// Longest time for processes to end after they were killed or asked to end.
const GRACE: Duration = Duration::from_secs(3);
/// Most bytes that are kept of each output of a job.
const PRINTED_MAX: usize = 1 << 16;

/// A running job. It ends, killed at the deadline, with all processes that it started, in whatever group or session; its
/// files are removed when the value is dropped: MPI libraries keep them in a folder of ours.
struct Job {
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
    fn start(words: &[OsString], variables: &[(&str, &str)]) -> std::io::Result<Self> {
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

    /// Exit status of the job, if it ends by itself within [`GRACE`].
    fn ended(&mut self) -> Option<ExitStatus> {
        timed_command::wait(&mut self.child, GRACE).ok().flatten()
    }

    /// Returns what the job wrote to standard error, once it has ended. Waits for the rest, but not for ever: a process
    /// that the job started may still hold the stream open.
    fn complaints(&self) -> String {
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
        let is_new = |path: &PathBuf| !self.before.contains(path);
        let left: Vec<PathBuf> = library_files().filter(is_new).collect();
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

/// Shared memory files of MPICH, whose place cannot be set.
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
    const LONGEST: LongestWaits = LongestWaits { start: LONG, step: LONG };

    /// Launcher that is a shell script: its `$*` is `-n 2 rank --steps NAMES`.
    fn start(script: &str) -> RankCommand {
        let launcher = ["sh", "-c", script, "launcher"].map(OsString::from).to_vec();
        RankCommand { launcher, program: vec!["rank".into()], variables: Vec::new() }
    }

    #[track_caller]
    fn check(script: &str, expected: [StepOutcome; 3]) {
        let steps = [TriedFeature::Start, TriedFeature::SpawnOne, TriedFeature::Window];
        let limits = LongestWaits { step: Duration::from_millis(300), ..LONGEST };
        let found = conduct(&start(script), &steps, limits);
        assert_eq!(found, steps.into_iter().zip(expected).collect::<Vec<_>>(), "{script}");
    }

    fn works(text: &str) -> StepOutcome {
        StepOutcome::Works(text.to_owned())
    }

    #[test]
    fn what_ranks_say_is_heard() {
        let said = "echo noise; echo '[0] sintonia-doctor ok start 2 ranks'; echo sintonia-doctor ok start again; \
                    echo sintonia-doctor failed spawn-one no room; echo sintonia-doctor ok window";
        check(said, [works("2 ranks"), StepOutcome::Fails("no room".to_owned()), works("")]);
    }

    #[test]
    fn a_step_that_ends_the_job_does_not_keep_others_from_being_tried() {
        let hangs = "case \"$*\" in *--steps\\ start,*) echo sintonia-doctor ok start; sleep 1000;; \
                     *--steps\\ window) echo sintonia-doctor ok window;; esac";
        check(hangs, [works(""), StepOutcome::Hangs, StepOutcome::NotTried]);
        let dies = hangs.replace("sleep 1000", "echo '***' >&2; echo 'bad news' >&2; exit 9");
        let died = StepOutcome::Dies("exit status: 9: bad news".to_owned());
        check(&dies, [works(""), died, works("")]);
    }

    #[test]
    fn nothing_is_tried_where_nothing_starts() {
        let not_tried = || StepOutcome::NotTried;
        let dies = StepOutcome::Dies("exit status: 1".to_owned());
        check("exit 1", [dies, not_tried(), not_tried()]);
        let none = RankCommand { launcher: vec!["/nowhere/mpirun".into()], ..start("") };
        let found = conduct(&none, &[TriedFeature::Start, TriedFeature::Window], LONGEST);
        assert!(matches!(found[0].1, StepOutcome::Fails(_)), "{found:?}");
        assert_eq!(found[1].1, not_tried());
    }

    #[test]
    fn a_port_gets_a_guest() {
        let script = "case \"$*\" in *--connect\\ tag#1) touch $DOCTOR_TEST;; \
                      *) echo sintonia-doctor port tag#1; until [ -e $DOCTOR_TEST ]; do sleep 0.01; done; \
                      echo sintonia-doctor ok connect met;; esac";
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("met").display().to_string();
        let script = script.replace("$DOCTOR_TEST", &path);
        let found = conduct(&start(&script), &[TriedFeature::Connect], LONGEST);
        assert_eq!(found, [(TriedFeature::Connect, works("met"))]);
    }

    fn shell(script: &str) -> Job {
        let words = ["sh", "-c", script].map(OsString::from);
        Job::start(&words, &[("WORD", "said")]).expect("a shell")
    }

    #[test]
    fn lines_are_heard_until_the_end() {
        let mut job = shell("echo $WORD; echo bad >&2; exit 3");
        assert_eq!(job.lines.recv_timeout(LONG).unwrap(), "said");
        assert_eq!(job.lines.recv_timeout(LONG), Err(RecvTimeoutError::Disconnected));
        assert_eq!(job.ended().and_then(|status| status.code()), Some(3));
        while job.errors.recv().is_ok_and(|line| line != "bad") {}
    }

    #[test]
    fn what_hangs_is_ended_with_all_it_started() {
        // One process ignores signals that can be ignored, and another one is in a session of its own.
        let script =
            "trap '' TERM HUP; setsid sleep 1000 & touch $TMPDIR/file; echo up; sleep 1000";
        let job = shell(script);
        assert_eq!(job.lines.recv_timeout(LONG).unwrap(), "up");
        let soon = Duration::from_millis(1);
        assert_eq!(job.lines.recv_timeout(soon), Err(RecvTimeoutError::Timeout));
        let (mark, folder) = (job.mark.clone(), job._folder.path().to_owned());
        assert!(!processes(&mark).is_empty());
        assert!(folder.join("file").exists());
        drop(job);
        assert!(!folder.exists());
        assert_eq!(processes(&mark), []);
    }
}
