//! Slurm's commands, and the parsing of their output.
//!
//! Only options and fields that Slurm has had for ten years, and no JSON, which depends on how Slurm was built.

use super::job_template::slot_of_job;
use node_demand::{Queued, QueuedState};
use rustix::process::geteuid;
use std::process::Command;
use std::time::Duration;
use timed_command::{CommandError as TimedError, EndedCommand};

/// Time limit of a command.
const PATIENCE: Duration = Duration::from_secs(60);

/// Error of a command.
#[derive(Debug)]
pub(super) enum SlurmError {
    /// Slurm says why it does not do what was asked.
    Refused(String),
    /// The command gave no answer, so that nobody knows whether it did what was asked.
    NoAnswer(String),
}

impl SlurmError {
    pub(super) fn sentence(&self) -> &str {
        match self {
            Self::Refused(sentence) | Self::NoAnswer(sentence) => sentence,
        }
    }
}

/// Lets Slurm check a job; returns what it says.
pub(super) fn check(words: &[String], script: &str) -> Result<String, SlurmError> {
    let mut all = vec!["--test-only".to_owned()];
    all.extend(words.iter().cloned());
    // With a dependency there is no estimate.
    all.retain(|word| !word.starts_with("--dependency="));
    let ended = run("sbatch", &all, Some(script))?;
    Ok(ended.complaint().trim_start_matches("sbatch: ").to_owned())
}

/// Submits a job; returns its number.
pub(super) fn submit(words: &[String], script: &str) -> Result<u64, SlurmError> {
    let all: Vec<String> =
        std::iter::once("--parsable".to_owned()).chain(words.iter().cloned()).collect();
    let said = run("sbatch", &all, Some(script))?.output;
    // With several clusters: `NUMBER;CLUSTER`.
    let number = said.trim().split(';').next().unwrap_or_default();
    let not_understood = |_| SlurmError::NoAnswer(format!("`sbatch` printed `{}`", said.trim()));
    number.parse().map_err(not_understood)
}

/// Jobs of this user whose names begin so.
pub(super) fn queue(job_prefix: &str) -> Result<Vec<Queued>, SlurmError> {
    let user = format!("--user={}", geteuid().as_raw());
    let words = ["--noheader", &user, "--format=%i|%T|%L|%r|%N|%j"].map(str::to_owned);
    let said = run("squeue", &words, None)?.output;
    Ok(said.lines().filter_map(|line| queued(line, job_prefix)).collect())
}

/// Ends a job.
pub(super) fn cancel(job: u64) -> Result<(), SlurmError> {
    scancel(&[job.to_string()])
}

/// Makes the daemons of a job leave, as at the end of its time: of one node, the shell of the job, which became the
/// daemon; of several, its steps.
pub(super) fn leave(job: u64, n_nodes: u32) -> Result<(), SlurmError> {
    let mut words = vec!["--signal=TERM".to_owned(), job.to_string()];
    if n_nodes == 1 {
        words.insert(0, "--batch".to_owned());
    }
    scancel(&words)
}

fn scancel(words: &[String]) -> Result<(), SlurmError> {
    match run("scancel", words, None) {
        // It has ended by itself.
        Err(SlurmError::Refused(why)) if why.contains("Invalid job id") => Ok(()),
        outcome => outcome.map(drop),
    }
}

/// Fewest cores of a node of a partition, or of the default one.
pub(super) fn n_cores(partition: Option<&str>) -> Option<u64> {
    let said =
        run("sinfo", &["--noheader", "--format=%P|%c"].map(str::to_owned), None).ok()?.output;
    fewest_cores(&said, partition)
}

/// Reads lines `PARTITION|CORES`; the default partition has a star, and `64+` is 64 or more.
fn fewest_cores(said: &str, partition: Option<&str>) -> Option<u64> {
    let lines = said.lines().filter_map(|line| line.trim().split_once('|'));
    let is_it = |name: &str| match partition {
        Some(wanted) => name.trim_end_matches('*') == wanted,
        None => name.ends_with('*'),
    };
    let cores = lines.filter(|(name, _)| is_it(name));
    cores.filter_map(|(_, cores)| cores.trim_end_matches('+').parse().ok()).min()
}

/// Reads a line of `squeue`; `None` for other jobs.
fn queued(line: &str, job_prefix: &str) -> Option<Queued> {
    let mut fields = line.trim().splitn(6, '|');
    let (id, state, left) = (fields.next()?, fields.next()?, fields.next()?);
    let (reason, hosts, name) = (fields.next()?, fields.next()?, fields.next()?);
    let state = match state {
        "PENDING" | "REQUEUED" | "REQUEUE_HOLD" | "SPECIAL_EXIT" => QueuedState::Pending,
        "RUNNING" | "CONFIGURING" | "SUSPENDED" | "RESIZING" | "SIGNALING" | "STAGE_OUT" => {
            QueuedState::Running
        }
        _ => QueuedState::Ending,
    };
    let place = if state == QueuedState::Pending { reason } else { hosts };
    Some(Queued {
        slot: slot_of_job(job_prefix, name)?,
        id: id.parse().ok()?,
        state,
        left_ms: left_ms(left).filter(|_| state != QueuedState::Pending),
        place: place.to_owned(),
    })
}

/// Reads a time `DAYS-HOURS:MINUTES:SECONDS`, of which the first parts may be missing.
fn left_ms(text: &str) -> Option<u64> {
    let (days, rest) = text.split_once('-').unwrap_or(("0", text));
    let mut seconds = 0;
    for part in rest.split(':') {
        seconds = seconds * 60 + part.parse::<u64>().ok()?;
    }
    Some((days.parse::<u64>().ok()? * 86_400 + seconds) * 1000)
}

/// Runs a command that ends well.
fn run(name: &str, words: &[String], input: Option<&str>) -> Result<EndedCommand, SlurmError> {
    let mut command = Command::new(name);
    command.args(words);
    let ended = match input {
        None => timed_command::run(&mut command, PATIENCE),
        Some(input) => timed_command::run_with_input(&mut command, input.into(), PATIENCE),
    };
    match ended {
        Ok(ended) if ended.status.success() => Ok(ended),
        Ok(ended) => {
            Err(SlurmError::Refused(format!("`{name}` failed: {}", said(&ended.errors, name))))
        }
        Err(error @ TimedError::Start(_)) => Err(SlurmError::Refused(format!(
            "`{name}` {error}; run this on a machine from which jobs can be submitted"
        ))),
        Err(error) => Err(SlurmError::NoAnswer(format!("`{name}` {error}"))),
    }
}

/// Words of a command that failed, in one line and without its name.
fn said(errors: &str, name: &str) -> String {
    let begin = format!("{name}: ");
    let lines = errors.lines().map(str::trim).filter(|line| !line.is_empty());
    let lines = lines.map(|line| {
        let line = line.strip_prefix(&begin).unwrap_or(line);
        line.strip_prefix("error: ").unwrap_or(line)
    });
    match lines.collect::<Vec<_>>().join("; ") {
        none if none.is_empty() => "it does not say why".to_owned(),
        said => said,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_time_left_has_its_last_parts() {
        let texts = ["59", "1:30", "2:00:00", "1-00:00:01", "UNLIMITED", "INVALID", ""];
        let expected =
            [Some(59_000), Some(90_000), Some(7_200_000), Some(86_401_000), None, None, None];
        assert_eq!(texts.map(left_ms), expected);
    }

    #[test]
    fn cores_are_those_of_the_partition() {
        let said = "short*|64+\nshort*|128\ngpu|32\n";
        assert_eq!(fewest_cores(said, None), Some(64));
        assert_eq!(fewest_cores(said, Some("gpu")), Some(32));
        assert_eq!(fewest_cores(said, Some("short")), Some(64));
        assert_eq!(fewest_cores(said, Some("none")), None);
    }

    #[test]
    fn a_failure_is_one_line() {
        let errors = "sbatch: error: invalid partition specified: x\nsbatch: error: Batch job submission failed: no\n";
        let expected = "invalid partition specified: x; Batch job submission failed: no";
        assert_eq!(said(errors, "sbatch"), expected);
    }
}
