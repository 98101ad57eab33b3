//! Tries the features of a library, step by step, in jobs that are ended when they hang.
//!
//! The ranks print which step they begin, and its outcome. A step without an outcome hangs, or has ended the job; a
//! further job tries the steps that follow.

use super::job::{Job, LineEvent};
use super::rank::MARK;
use super::step::Step;
use std::ffi::OsString;
use std::time::Duration;

/// Outcome of a step.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Outcome {
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
pub(super) struct Limits {
    /// Until the ranks have started.
    pub(super) start: Duration,
    /// For each step.
    pub(super) step: Duration,
}

/// Command that starts ranks.
#[derive(Clone, Debug)]
pub(super) struct Start {
    /// Launcher with its options.
    pub(super) launcher: Vec<OsString>,
    /// Program that it starts, which takes `--steps NAME,...` and `--connect PORT`.
    pub(super) program: Vec<OsString>,
    /// Environment variables.
    pub(super) variables: Vec<(&'static str, &'static str)>,
}

impl Start {
    fn job(&self, n_ranks: &str, options: [&str; 2]) -> std::io::Result<Job> {
        let counted = ["-n", n_ranks].map(OsString::from);
        let options = options.map(OsString::from);
        let words = self.launcher.iter().chain(&counted).chain(&self.program).chain(&options);
        Job::start(&words.cloned().collect::<Vec<_>>(), &self.variables)
    }
}

/// Tries these steps; the first one must be that ranks start.
pub(super) fn conduct(start: &Start, steps: &[Step], limits: Limits) -> Vec<(Step, Outcome)> {
    let mut done: Vec<(Step, Outcome)> = Vec::new();
    while done.len() < steps.len() {
        let left = &steps[done.len()..];
        let is_hopeless = |outcome: &Outcome| !matches!(outcome, Outcome::Works(_));
        let is_started = !done.first().is_some_and(|(_, outcome)| is_hopeless(outcome));
        // After a step has hung, steps that start processes would take their time, too.
        let is_hanging = done.iter().any(|(_, outcome)| *outcome == Outcome::Hangs);
        match left[0] {
            step if !is_started || (is_hanging && step.starts_processes()) => {
                done.push((step, Outcome::NotTried));
            }
            _ => attempt(start, left, limits, &mut done),
        }
    }
    done
}

/// Runs one job; adds the outcomes of its steps, up to the first step without one.
fn attempt(start: &Start, left: &[Step], limits: Limits, done: &mut Vec<(Step, Outcome)>) {
    let names: Vec<&str> = left.iter().map(|step| step.name()).collect();
    let mut job = match start.job("2", ["--steps", &names.join(",")]) {
        Ok(job) => job,
        Err(error) => return done.push((left[0], Outcome::Fails(error.to_string()))),
    };
    let mut guest = None;
    let mut left = left.iter().copied();
    let mut open = left.next();
    let mut limit = limits.start;
    while let Some(step) = open {
        let outcome = match job.next_line(limit) {
            LineEvent::Line(line) => match line.split_once(MARK).map(|(_, answer)| answer) {
                None => continue,
                Some(answer) => match parse_outcome(answer, step) {
                    Some(outcome) => outcome,
                    None => {
                        if let Some(port) = answer.strip_prefix("port ") {
                            // If it does not start, the step that waits for it reaches its deadline.
                            guest = start.job("1", ["--connect", port]).ok();
                        }
                        continue;
                    }
                },
            },
            LineEvent::Timeout => return done.push((step, Outcome::Hangs)),
            LineEvent::End => return done.push((step, ending(&mut job))),
        };
        done.push((step, outcome));
        limit = limits.step;
        open = left.next();
    }
    drop(guest);
}

/// Parses the outcome of a step from a line: `ok NAME ...` or `failed NAME ...`.
fn parse_outcome(answer: &str, step: Step) -> Option<Outcome> {
    let mut words = answer.splitn(3, ' ');
    let (verdict, name, rest) = (words.next()?, words.next()?, words.next().unwrap_or_default());
    match (verdict, name == step.name()) {
        ("ok", true) => Some(Outcome::Works(rest.to_owned())),
        ("failed", true) => Some(Outcome::Fails(rest.to_owned())),
        _ => None,
    }
}

/// Reason why a job ended early.
fn ending(job: &mut Job) -> Outcome {
    let Some(status) = job.ended() else { return Outcome::Hangs };
    let complaints = job.complaints();
    let has_words = |line: &&str| line.chars().any(char::is_alphabetic);
    let first = complaints.lines().map(str::trim).find(has_words).unwrap_or_default();
    Outcome::Dies(if first.is_empty() { status.to_string() } else { format!("{status}: {first}") })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Launcher that is a shell script: its `$*` is `-n 2 rank --steps NAMES`.
    fn start(script: &str) -> Start {
        let launcher = ["sh", "-c", script, "launcher"].map(OsString::from).to_vec();
        Start { launcher, program: vec!["rank".into()], variables: Vec::new() }
    }

    #[track_caller]
    fn check(script: &str, expected: [Outcome; 3]) {
        let steps = [Step::Start, Step::SpawnOne, Step::Window];
        let limits = Limits { start: Duration::from_secs(60), step: Duration::from_millis(300) };
        let found = conduct(&start(script), &steps, limits);
        assert_eq!(found, steps.into_iter().zip(expected).collect::<Vec<_>>(), "{script}");
    }

    fn works(text: &str) -> Outcome {
        Outcome::Works(text.to_owned())
    }

    #[test]
    fn what_ranks_say_is_heard() {
        let said = "echo noise; echo '[0] sintonia-doctor ok start 2 ranks'; echo sintonia-doctor ok start again; \
                    echo sintonia-doctor failed spawn-one no room; echo sintonia-doctor ok window";
        check(said, [works("2 ranks"), Outcome::Fails("no room".to_owned()), works("")]);
    }

    #[test]
    fn a_step_that_ends_the_job_does_not_keep_others_from_being_tried() {
        let hangs = "case \"$*\" in *--steps\\ start,*) echo sintonia-doctor ok start; sleep 1000;; \
                     *--steps\\ window) echo sintonia-doctor ok window;; esac";
        check(hangs, [works(""), Outcome::Hangs, Outcome::NotTried]);
        let dies = hangs.replace("sleep 1000", "echo '***' >&2; echo 'bad news' >&2; exit 9");
        check(&dies, [works(""), Outcome::Dies("exit status: 9: bad news".to_owned()), works("")]);
    }

    #[test]
    fn nothing_is_tried_where_nothing_starts() {
        let not_tried = || Outcome::NotTried;
        let dies = Outcome::Dies("exit status: 1".to_owned());
        check("exit 1", [dies, not_tried(), not_tried()]);
        let none = Start { launcher: vec!["/nowhere/mpirun".into()], ..start("") };
        let limits = Limits { start: Duration::from_secs(60), step: Duration::from_secs(60) };
        let found = conduct(&none, &[Step::Start, Step::Window], limits);
        assert!(matches!(found[0].1, Outcome::Fails(_)), "{found:?}");
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
        let limits = Limits { start: Duration::from_secs(60), step: Duration::from_secs(60) };
        let found = conduct(&start(&script), &[Step::Connect], limits);
        assert_eq!(found, [(Step::Connect, works("met"))]);
    }
}
