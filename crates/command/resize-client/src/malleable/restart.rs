//! Runs a launcher as its parent, and starts it again when its program has died, with the hosts that are left.
//!
//! # Invariants
//! - Signals that ask to end are passed on, and nothing is started after one. Signals with a meaning of the user's are passed
//!   on as well.
//! - Every restart, and every host and rank that is left out, is said in a line.
//! - The number of restarts is bounded, and a program that dies twice at the same checkpoint stays dead.

use super::hosts_left::LauncherHosts;
use super::policy::{AfterDeath, FIRST_WAIT, RestartPolicy};
use super::progress::Progress;
use super::stall::StallWatch;
use super::trial;
use anyhow::Context;
use rustix::process::{Pid, Signal, kill_process};
use signal_hook::consts::{SIGCHLD, SIGHUP, SIGINT, SIGTERM, SIGUSR1, SIGUSR2};
use signal_hook::iterator::SignalsInfo;
use signal_hook::iterator::exfiltrator::WithOrigin;
use signal_hook::low_level::siginfo::{Cause, Origin};
use std::ffi::{OsStr, OsString};
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::PermissionsExt;
use std::os::unix::process::ExitStatusExt;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode, ExitStatus};
use std::time::{Duration, Instant};
use user_io::exit::{BadOption, Failure};

/// Variable with options of malleable programs, which they read first.
const OPTIONS: &str = "SINTONIA_MALLEABLE";
/// Signals that ask to end.
const ENDING: [i32; 3] = [SIGINT, SIGTERM, SIGHUP];
/// Signals that are passed on without another effect here; launchers pass them on to their ranks.
const PASSED_ON: [i32; 2] = [SIGUSR1, SIGUSR2];
/// Time between two looks for signals where they are not waited for.
const LOOK: Duration = Duration::from_millis(50);

/// Launcher, and what is known about its runs.
struct Restarts {
    /// The command as the user gave it.
    words: Vec<OsString>,
    variables: Vec<(&'static str, String)>,
    progress: Progress,
    policy: RestartPolicy,
    /// Time without a checkpoint after which the program is ended and started again.
    stalled_after: Option<Duration>,
    signals: SignalsInfo<WithOrigin>,
    /// Signal that asked to end.
    asked: Option<i32>,
}

/// Runs the command until its program is done, or is not to be started again; returns its last exit code.
pub(super) fn run(
    words: &[OsString],
    variables: Vec<(&'static str, String)>,
    n_max: u32,
    stalled_after: Option<Duration>,
) -> anyhow::Result<ExitCode> {
    let options = std::env::var(OPTIONS).unwrap_or_default();
    let progress = Progress::of(words, &options).ok_or_else(|| {
        BadOption.because(
            "`--restart` needs a program that writes checkpoints; give the program `--checkpoint FILE`",
        )
    })?;
    let heeded = ENDING.into_iter().chain(PASSED_ON).filter(|signal| !is_ignored(*signal));
    let signals = SignalsInfo::<WithOrigin>::new(heeded.chain([SIGCHLD]));
    let signals = signals.context("cannot install a signal handler")?;
    let policy = RestartPolicy::new(n_max, FIRST_WAIT);
    let words = words.to_vec();
    let mut restarts =
        Restarts { words, variables, progress, policy, stalled_after, signals, asked: None };
    restarts.run().map(ExitCode::from)
}

impl Restarts {
    fn run(&mut self) -> anyhow::Result<u8> {
        self.progress.mark().with_context(|| {
            let path = self.progress.checkpoint.display();
            format!("nothing can be written beside the checkpoint `{path}`")
        })?;
        let code = self.run_all();
        self.progress.unmark();
        std::fs::remove_file(self.host_file()).ok();
        code
    }

    fn run_all(&mut self) -> anyhow::Result<u8> {
        let mut words = self.words.clone();
        loop {
            let code = match self.run_once(&words) {
                Ok(status) => code_of(status),
                Err(error) => return Ok(not_started(&words[0], &error).code()),
            };
            if code == 0 || self.asked.is_some() {
                return Ok(code);
            }
            let Some(next) = self.after(code)? else { return Ok(code) };
            words = next;
        }
    }

    /// Command to start next after an exit code, once it is time; `None` if the program is not started again.
    fn after(&mut self, code: u8) -> anyhow::Result<Option<Vec<OsString>>> {
        if self.progress.is_done() {
            eprintln!(
                "sintonia: the program is done, although its launcher ended with code {code}"
            );
            return Ok(None);
        }
        let iteration = self.progress.iteration();
        let died = format!("sintonia: the program died with code {code} {}", place_of(iteration));
        let n_max = self.policy.n_max;
        let (wait, number) = match self.policy.after(iteration) {
            AfterDeath::Again { wait, number } => (wait, number),
            AfterDeath::NoProgress => {
                eprintln!("{died}, as before; it is not started again");
                return Ok(None);
            }
            AfterDeath::Exhausted => {
                eprintln!("{died}; it is not started again, as it was {n_max} times");
                return Ok(None);
            }
        };
        let Some((words, sentence)) = self.words_left()? else { return Ok(None) };
        let seconds = wait.as_secs();
        eprintln!("{died}; {sentence}in {seconds} s (restart {number} of {n_max})");
        self.wait(wait);
        Ok(self.asked.is_none().then_some(words))
    }

    /// Command for the hosts that are left, and the beginning of a sentence about them; `None` if there are none.
    fn words_left(&self) -> anyhow::Result<Option<(Vec<OsString>, String)>> {
        let again = "it is started again ".to_owned();
        let read = |path: &Path| std::fs::read_to_string(path).ok();
        let Some(known) = LauncherHosts::of(&self.words, is_program, read) else {
            return Ok(Some((self.words.clone(), again)));
        };
        let agent = trial::agent(&self.words, |name| {
            std::env::var(name).ok().filter(|value| !value.is_empty())
        });
        let dead = trial::dead(&agent, known.hosts.iter().map(|host| host.name.as_str()));
        if dead.is_empty() {
            return Ok(Some((self.words.clone(), again)));
        }
        let rest = known.without(&self.words, &dead, &self.host_file());
        let named = dead.iter().map(|name| format!("`{name}`")).collect::<Vec<_>>().join(", ");
        if rest.n_hosts.1 == 0 {
            eprintln!(
                "sintonia: no host is left to start the program again: no answer from {named}"
            );
            return Ok(None);
        }
        if let Some((path, text)) = &rest.host_file {
            std::fs::write(path, text)
                .with_context(|| format!("`{}` cannot be written", path.display()))?;
        }
        Ok(Some((rest.words.clone(), sentence_of(&named, rest.n_ranks, rest.n_hosts))))
    }

    /// Host file without dead hosts.
    fn host_file(&self) -> PathBuf {
        self.progress.checkpoint.with_added_extension("hosts")
    }

    /// Runs the command to its end, and passes signals on to it.
    fn run_once(&mut self, words: &[OsString]) -> io::Result<ExitStatus> {
        let (program, arguments) = words.split_first().ok_or(io::ErrorKind::NotFound)?;
        let mut command = Command::new(program);
        command.args(arguments).envs(self.variables.iter().map(|(name, value)| (name, value)));
        let mut child = command.spawn()?;
        let mut stall = self.stalled_after.map(|after| StallWatch::new(after, &self.progress));
        loop {
            if let Some(status) = child.try_wait()? {
                let has_stalled = stall.is_some_and(|stall| stall.has_stalled());
                // A launcher that is asked to end may think that all is well.
                let killed = ExitStatus::from_raw(Signal::KILL.as_raw());
                return Ok(if has_stalled && status.success() { killed } else { status });
            }
            let arrived: Vec<Origin> = match &mut stall {
                None => self.signals.wait().collect(),
                Some(stall) => {
                    std::thread::sleep(LOOK);
                    stall.look(&self.progress, &child);
                    self.signals.pending().collect()
                }
            };
            for origin in arrived.into_iter().filter(|origin| origin.signal != SIGCHLD) {
                self.asked = self.asked.or_else(|| ending(origin.signal));
                let signal =
                    Signal::from_named_raw(origin.signal).filter(|_| is_for_us_alone(&origin));
                // The command may just have ended.
                signal.and_then(|signal| kill_process(Pid::from_child(&child), signal).ok());
            }
        }
    }

    /// Waits, unless a signal asks to end.
    fn wait(&mut self, time: Duration) {
        let until = Instant::now() + time;
        while self.asked.is_none() && Instant::now() < until {
            std::thread::sleep(LOOK);
            let asked = self.signals.pending().map(|origin| origin.signal);
            self.asked = asked.filter_map(ending).last();
        }
    }
}

/// The signal, if it asks to end.
fn ending(signal: i32) -> Option<i32> {
    ENDING.contains(&signal).then_some(signal)
}

/// Returns whether a process sent the signal to this process alone: the terminal sends signals to the launcher as well,
/// which ends its ranks without order when it gets a second one.
fn is_for_us_alone(origin: &Origin) -> bool {
    matches!(origin.cause, Cause::Sent(_) | Cause::Unknown)
}

/// Returns whether this process ignores a signal (`nohup`), and so the launcher does.
fn is_ignored(signal: i32) -> bool {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let set = status.lines().find_map(|line| line.strip_prefix("SigIgn:"));
    let set = set.and_then(|hex| u64::from_str_radix(hex.trim(), 16).ok()).unwrap_or(0);
    u32::try_from(signal - 1).is_ok_and(|bit| set.checked_shr(bit).unwrap_or(0) & 1 == 1)
}

/// Returns whether a word names a program: a file that may be executed, in `PATH` if it has no slash.
fn is_program(word: &OsStr) -> bool {
    let is_executable = |path: &Path| {
        path.metadata().is_ok_and(|file| file.is_file() && file.permissions().mode() & 0o111 != 0)
    };
    if word.as_bytes().contains(&b'/') {
        return is_executable(Path::new(word));
    }
    let folders = std::env::var_os("PATH").unwrap_or_default();
    std::env::split_paths(&folders).any(|folder| is_executable(&folder.join(word)))
}

/// Exit code that shells would report.
fn code_of(status: ExitStatus) -> u8 {
    let code = status.code().or_else(|| status.signal().map(|signal| 128 + signal));
    code.and_then(|code| u8::try_from(code).ok()).unwrap_or(u8::MAX)
}

fn place_of(iteration: Option<u64>) -> String {
    iteration.map_or_else(
        || "before its first checkpoint".to_owned(),
        |iteration| format!("after the checkpoint of iteration {iteration}"),
    )
}

fn sentence_of(dead: &str, n_ranks: Option<(u32, u32)>, n_hosts: (usize, usize)) -> String {
    let (all, left) = n_hosts;
    let ranks =
        n_ranks.map_or_else(String::new, |(before, now)| format!("{now} of {before} ranks on "));
    format!("no answer from {dead}, so it is started again with {ranks}{left} of {all} hosts ")
}

/// Says that the command cannot be started; returns the kind of this failure.
pub(super) fn not_started(program: &OsStr, error: &io::Error) -> Failure {
    eprintln!("sintonia: `{}` cannot be started: {error}", program.display());
    let is_missing = error.kind() == io::ErrorKind::NotFound;
    if is_missing { Failure::NotFound } else { Failure::NotExecutable }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Runs a script in place of a launcher; `$0` is the checkpoint. Returns the exit code.
    fn run(folder: &Path, script: &str, n_max: u32, stalled_after: Option<Duration>) -> u8 {
        let checkpoint = folder.join("a");
        let words = ["sh", "-c", script].map(OsString::from).into_iter();
        let mut restarts = Restarts {
            words: words.chain([checkpoint.clone().into()]).collect(),
            variables: vec![("A", "7".to_owned())],
            progress: Progress { checkpoint },
            policy: RestartPolicy::new(n_max, Duration::ZERO),
            stalled_after,
            signals: SignalsInfo::new([SIGTERM, SIGUSR1, SIGCHLD]).expect("signals can be caught"),
            asked: None,
        };
        restarts.run().expect("it runs")
    }

    /// Lines of the script that writes a checkpoint of another iteration in each run.
    const GO_ON: &str = r#"
        echo run >> "$0.runs"
        n=$(wc -l < "$0.runs")
        text="{\"iteration\":$n}"
        printf 'SINTOCKP%016d%b%b%08d%s' 0 '\0\0\0\0\0\0\0\0' "\\$(printf %o ${#text})\0\0\0\0\0\0\0" 0 "$text" > "$0"
    "#;

    #[track_caller]
    fn check(script: &str, n_max: u32, expected: (u8, usize)) {
        check_watched(script, n_max, None, expected);
    }

    #[track_caller]
    fn check_watched(script: &str, n_max: u32, stalled_s: Option<u64>, expected: (u8, usize)) {
        let folder = tempfile::tempdir().expect("a folder");
        let code = run(folder.path(), script, n_max, stalled_s.map(Duration::from_secs));
        let runs = std::fs::read_to_string(folder.path().join("a.runs")).unwrap_or_default();
        assert_eq!((code, runs.lines().count()), expected, "{script}");
        assert!(!folder.path().join("a.unfinished").exists(), "the marker is left");
    }

    #[test]
    fn a_program_is_started_again_while_it_goes_on() {
        check(&format!("{GO_ON} [ $n = 4 ]"), 10, (0, 4));
        check(&format!("{GO_ON} kill -KILL $$"), 3, (137, 4));
        check(&format!("{GO_ON} exit $A"), 1, (7, 2));
        check(r#"echo run >> "$0.runs"; exit 3"#, 10, (3, 2));
    }

    #[test]
    fn a_program_that_is_done_is_not_started_again() {
        check(r#"echo run >> "$0.runs"; rm "$0.unfinished"; exit 213"#, 10, (213, 1));
    }

    #[test]
    fn a_signal_is_passed_on_and_ends_all() {
        let script = r#"echo run >> "$0.runs"; trap 'exit 9' TERM; kill -TERM $PPID; for i in $(seq 1000); do sleep 0.01; done; exit 1"#;
        check(script, 10, (9, 1));
    }

    /// Regression: `sintonia malleable --restart` ended by `SIGUSR1`, and left the launcher behind.
    #[test]
    fn a_signal_of_the_user_is_passed_on_and_ends_nothing() {
        let script = r#"echo run >> "$0.runs"; trap 'exit 9' USR1; kill -USR1 $PPID; for i in $(seq 1000); do sleep 0.01; done; exit 1"#;
        check(script, 10, (9, 2));
    }

    /// One that goes on is left alone, however long it takes in all.
    #[test]
    fn a_program_that_hangs_is_ended_and_started_again() {
        let hangs = format!("{GO_ON} [ $n = 2 ] || while :; do sleep 0.1; done");
        check_watched(&hangs, 10, Some(2), (0, 2));
        check_watched(&format!("trap '' TERM; {hangs}"), 10, Some(2), (0, 2));
        let slow = format!("for i in $(seq 16); do {GO_ON} sleep 0.3; done; exit 0");
        check_watched(&slow, 10, Some(4), (0, 16));
    }

    #[test]
    fn what_is_left_is_said() {
        assert_eq!(
            sentence_of("`b`", Some((4, 2)), (2, 1)),
            "no answer from `b`, so it is started again with 2 of 4 ranks on 1 of 2 hosts "
        );
        assert_eq!(place_of(Some(7)), "after the checkpoint of iteration 7");
    }
}
