//! Slurm commands, and the parsing of their output.
//!
//! Only options and fields that Slurm has had for ten years, and no JSON, which depends on how Slurm was built.

use super::SlurmJob;
use std::os::unix::process::CommandExt;
use std::process::{Command, Stdio};
use std::time::Duration;
use timed_command::CommandError as TimedError;

/// Time limit of a command.
const PATIENCE: Duration = Duration::from_secs(30);

/// Error of a command.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub(super) enum CommandError {
    /// The command failed.
    #[error("`{command}` failed: {said}")]
    Failed {
        /// Name of the command.
        command: String,
        /// Error output.
        said: String,
    },
    /// The command gave no answer, or none that is understood.
    #[error("`{0}` {1}")]
    NoAnswer(String, String),
}

/// Job in the queue.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Queued {
    /// Id of the job.
    pub(super) job: u64,
    /// State, as Slurm names it.
    pub(super) state: String,
    /// Reason for waiting, as Slurm names it.
    pub(super) reason: String,
    /// Node of the job, once it runs.
    pub(super) node: String,
    /// Time until the limit of the job; `None` without one.
    pub(super) left: Option<Duration>,
}

/// Job name of companions, by which a launcher finds them.
pub(super) fn companion_name(of_job: u64) -> String {
    format!("sintonia-{of_job}")
}

/// Submits a companion of one node, on one of `hosts` unless they are empty; returns its job id.
pub(super) fn submit(
    of_job: u64,
    slots_per_node: u32,
    hosts: &[String],
) -> Result<u64, CommandError> {
    let mut words = ["--parsable", "--nodes=1", "--output=/dev/null"].map(str::to_owned).to_vec();
    words.push(format!("--job-name={}", companion_name(of_job)));
    words.push(format!("--ntasks-per-node={slots_per_node}"));
    words.extend(options_of(of_job)?);
    if !hosts.is_empty() {
        words.push(format!("--nodelist={}", hosts.join(",")));
    }
    words.push(format!("--wrap={}", holding(of_job)));
    let said = run("sbatch", &words)?;
    // With several clusters: `NUMBER;CLUSTER`.
    let number = said.trim().split(';').next().unwrap_or_default();
    number.parse().map_err(|_| not_understood("sbatch", &said))
}

/// Script of a companion: ends when the job that it belongs to is gone. A step of that job ends with it, so that nobody has
/// to ask; only when the step has ended, the queue is looked at. While Slurm does not answer, the companion stays.
fn holding(of_job: u64) -> String {
    format!(
        "while :; do srun --jobid={of_job} --overlap --quiet --nodes=1 --ntasks=1 --mem=0 --mpi=none --input=none \
         sleep infinity; jobs=$(squeue --noheader --user=\"$(id -un)\" --format=%A) && \
         ! printf '%s\\n' \"$jobs\" | grep -qx {of_job} && exit 0; sleep 5; done"
    )
}

/// Returns all companions of a job that wait, run or end.
pub(super) fn companions(of_job: u64) -> Result<Vec<Queued>, CommandError> {
    let name = format!("--name={}", companion_name(of_job));
    let said =
        run("squeue", &["--noheader".to_owned(), name, "--format=%A|%T|%r|%N|%L".to_owned()])?;
    said.lines().map(|line| queued(line).ok_or_else(|| not_understood("squeue", line))).collect()
}

/// Returns the time until the limit of a job; `None` without one.
pub(super) fn time_left(of_job: u64) -> Result<Option<Duration>, CommandError> {
    let job = format!("--jobs={of_job}");
    let said = run("squeue", &["--noheader".to_owned(), job, "--format=%L".to_owned()])?;
    Ok(duration(said.trim()))
}

fn queued(line: &str) -> Option<Queued> {
    let mut fields = line.trim().split('|').map(str::to_owned);
    let mut next = || fields.next();
    let (job, state, reason, node) = (next()?.parse().ok()?, next()?, next()?, next()?);
    let left = duration(&next()?);
    Some(Queued { job, state, reason, node, left })
}

/// Time as Slurm writes it: `2-03:04:05`, `3:04:05` or `4:05`; `None` for words such as `UNLIMITED`.
fn duration(text: &str) -> Option<Duration> {
    let (days, clock) = text.split_once('-').unwrap_or(("0", text));
    let units =
        clock.split(':').map(|unit| unit.parse::<u64>().ok()).collect::<Option<Vec<_>>>()?;
    let in_day = units.into_iter().fold(0, |seconds: u64, unit| 60 * seconds + unit);
    let days = days.parse::<u64>().ok()?;
    Some(Duration::from_secs(days.checked_mul(86_400)?.checked_add(in_day)?))
}

/// Ends jobs; jobs that are already gone are not an error.
pub(super) fn cancel(jobs: &[u64]) -> Result<(), CommandError> {
    let jobs = jobs.iter().map(u64::to_string).collect::<Vec<_>>();
    run("scancel", &jobs).map(drop).or_else(|error| match error {
        CommandError::Failed { said, .. } if said.contains("Invalid job id") => Ok(()),
        other => Err(other),
    })
}

/// Values that stand for none.
const UNSET: [&str; 8] = ["", "(null)", "N/A", "UNLIMITED", "NOT_SET", "INVALID", "0", "None"];

/// Returns the options by which a companion gets what its job asked for, for the time that the job has left.
fn options_of(of_job: u64) -> Result<Vec<String>, CommandError> {
    let job = format!("--jobs={of_job}");
    let said = run("squeue", &["--noheader".to_owned(), job, "--format=%P|%a|%q|%L".to_owned()])?;
    let values = said.trim().split('|').map(str::trim);
    let options = ["partition", "account", "qos", "time"].into_iter().zip(values);
    let options = options.filter(|(_, value)| !UNSET.contains(value));
    let words = ["--oneliner", "show", "job"].map(str::to_owned);
    let said = run("scontrol", &[&words[..], &[of_job.to_string()]].concat())?;
    Ok(options.map(|(name, value)| format!("--{name}={value}")).chain(asked_for(&said)).collect())
}

/// Options for memory, processors, generic resources, features and reservation that a job asked for, from its description
/// on one line: `... CPUs/Task=2 ... MinMemoryNode=4G ... Features=fast ...`.
fn asked_for(description: &str) -> Vec<String> {
    let value = |key: &str| {
        let words = description.split_whitespace();
        let mut values = words.filter_map(|word| word.strip_prefix(key)?.strip_prefix('='));
        values.next().filter(|value| !UNSET.contains(value))
    };
    let plain = [
        ("CPUs/Task", "cpus-per-task"),
        ("MinMemoryNode", "mem"),
        ("MinMemoryCPU", "mem-per-cpu"),
        ("MinTmpDiskNode", "tmp"),
        ("Features", "constraint"),
        ("Reservation", "reservation"),
    ];
    let plain =
        plain.into_iter().filter_map(|(key, option)| Some((option, value(key)?.to_owned())));
    let plain = plain.filter(|one| (one.0, one.1.as_str()) != ("cpus-per-task", "1"));
    // `gres:gpu:2` or `gres/gpu:2`, by version, with several after commas.
    let generic = |value: &str| {
        let entries = value.split(',').filter_map(|one| one.strip_prefix("gres")?.get(1..));
        entries.collect::<Vec<_>>().join(",")
    };
    let per_node = value("TresPerNode").or_else(|| value("Gres")).map(|value| {
        let found = generic(value);
        ("gres", if found.is_empty() { value.to_owned() } else { found })
    });
    let per_task = value("TresPerTask")
        .map(generic)
        .and_then(|value| Some(("gpus-per-task", value.strip_prefix("gpu")?.get(1..)?.to_owned())));
    let all = plain.chain(per_node).chain(per_task);
    all.map(|(option, value)| format!("--{option}={value}")).collect()
}

/// Command words before a program that start one rank of it on a companion's node. The rank sees the environment of the
/// job that the companion belongs to.
pub(super) fn step(companion: u64, node: &str, job: &SlurmJob) -> Vec<String> {
    let mut words =
        ["srun".to_owned(), format!("--jobid={companion}"), format!("--nodelist={node}")].to_vec();
    let fixed = "--overlap --quiet --nodes=1 --ntasks=1 --mpi=none --input=none --export=ALL env";
    words.extend(fixed.split(' ').map(str::to_owned));
    words.push(format!("SLURM_JOB_ID={}", job.job));
    words.push(format!("SLURM_JOB_NODELIST={}", job.nodes));
    words.push(format!("SLURM_NTASKS_PER_NODE={}", job.slots_per_node));
    words
}

/// Ends companions as soon as no rank is on them, for up to a minute, without waiting for it.
pub(super) fn cancel_unused(jobs: &[u64]) {
    let script = "for job in \"$@\"; do for second in $(seq 60); do \
        steps=$(squeue --noheader --steps --jobs=\"$job\" --format=%i) || break; \
        printf '%s\\n' \"$steps\" | grep -q '\\.[0-9]' || { scancel \"$job\"; break; }; sleep 1; done; done";
    let words = ["-c", script, "sintonia-companions"].into_iter().map(str::to_owned);
    let started = Command::new("sh")
        .args(words.chain(jobs.iter().map(u64::to_string)))
        .env_remove("LD_PRELOAD")
        .process_group(0)
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn();
    // If this fails, they end together with the program's job.
    drop(started);
}

/// Runs a command and returns its output.
fn run(name: &str, words: &[String]) -> Result<String, CommandError> {
    let command = name.to_owned();
    // Tools that watch the program must not be loaded into these commands.
    let ended =
        timed_command::run(Command::new(name).args(words).env_remove("LD_PRELOAD"), PATIENCE);
    match ended {
        Ok(ended) if ended.status.success() => Ok(ended.output),
        Ok(ended) => Err(CommandError::Failed { command, said: ended.complaint().to_owned() }),
        Err(TimedError::Start(error)) => {
            let why = format!("cannot be started: {error}; put Slurm's commands on `PATH`");
            Err(CommandError::NoAnswer(command, why))
        }
        Err(TimedError::Late(limit)) => {
            let seconds = limit.as_secs();
            let why = format!("did not answer within {seconds} s; Slurm's controller may be away");
            Err(CommandError::NoAnswer(command, why))
        }
        Err(error) => Err(CommandError::Failed { command, said: error.to_string() }),
    }
}

fn not_understood(command: &str, said: &str) -> CommandError {
    let why = format!("printed `{}`, which is not understood", said.trim());
    CommandError::NoAnswer(command.to_owned(), why)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(line: &str, expected: Option<(u64, &str, &str, &str, Option<u64>)>) {
        let found = queued(line);
        let found = found.as_ref().map(|Queued { job, state, reason, node, left }| {
            (*job, &**state, &**reason, &**node, left.map(|left| left.as_secs()))
        });
        assert_eq!(found, expected);
    }

    #[test]
    fn lines_of_the_queue_are_read() {
        check("33|PENDING|Resources||1:00", Some((33, "PENDING", "Resources", "", Some(60))));
        check("34|RUNNING|None|n2|UNLIMITED\n", Some((34, "RUNNING", "None", "n2", None)));
        check("35|RUNNING|None|n2|2:00:01", Some((35, "RUNNING", "None", "n2", Some(7201))));
        check("36|RUNNING|None|n2|1-00:00:30", Some((36, "RUNNING", "None", "n2", Some(86_430))));
        check("slurm_load_jobs error", None);
        check("", None);
    }

    #[track_caller]
    fn check_asked_for(description: &str, expected: &[&str]) {
        assert_eq!(asked_for(description), expected);
    }

    /// Regression: a companion got a node without the memory, the GPUs or the features that its job had asked for.
    #[test]
    fn a_companion_asks_for_what_its_job_asked_for() {
        check_asked_for("JobId=7 JobName=x NumCPUs=2 CPUs/Task=1 Features=(null)", &[]);
        check_asked_for(
            "JobId=7 CPUs/Task=4 MinCPUsNode=8 MinMemoryNode=4000M MinTmpDiskNode=0 Features=fast&ib Reservation=week",
            &["--cpus-per-task=4", "--mem=4000M", "--constraint=fast&ib", "--reservation=week"],
        );
        check_asked_for("CPUs/Task=N/A MinMemoryCPU=2G", &["--mem-per-cpu=2G"]);
        check_asked_for(
            "MinMemoryNode=0 TresPerNode=gres:gpu:a100:2,gres:nic:1",
            &["--gres=gpu:a100:2,nic:1"],
        );
        check_asked_for("TresPerNode=gres/gpu:2 Features=", &["--gres=gpu:2"]);
        check_asked_for("Gres=gpu:1 Reservation=(null)", &["--gres=gpu:1"]);
        check_asked_for("TresPerTask=gres:gpu:1", &["--gpus-per-task=1"]);
    }

    #[test]
    fn a_command_that_fails_is_quoted() {
        let failed =
            run("sh", &["-c".to_owned(), "echo first >&2; echo last >&2; exit 3".to_owned()]);
        let said = "last".to_owned();
        assert_eq!(failed, Err(CommandError::Failed { command: "sh".to_owned(), said }));
        assert!(matches!(run("no-such-command", &[]), Err(CommandError::NoAnswer(..))));
        assert_eq!(run("sh", &["-c".to_owned(), "echo word".to_owned()]).as_deref(), Ok("word\n"));
    }
}
