//! Reads the jobs and nodes of a partition from the output of Slurm's commands.

use std::process::Command;
use std::time::Duration;

/// Time after which a controller that has not answered counts as unreachable.
const LIMIT: Duration = Duration::from_secs(20);

/// Jobs and nodes of a partition at one moment.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Queue {
    /// Jobs in the order in which they are to start.
    pub(super) jobs: Vec<QueuedJob>,
    pub(super) n_idle: u32,
}

/// Job in the queue.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct QueuedJob {
    pub(super) job: u64,
    /// State as Slurm prints it.
    pub(super) state: String,
    pub(super) n_nodes: u32,
    /// Reason why it waits, as Slurm prints it.
    pub(super) reason: String,
    priority: u64,
    pub(super) name: String,
}

impl QueuedJob {
    /// True if the job waits for nodes and nothing else.
    pub(super) fn is_waiting(&self) -> bool {
        self.state == "PENDING" && ["None", "Resources", "Priority"].contains(&self.reason.as_str())
    }

    /// Job for which this companion job holds a node.
    pub(super) fn companion_of(&self) -> Option<u64> {
        self.name.strip_prefix("sintonia-")?.parse().ok()
    }
}

/// Asks Slurm for the queue.
pub(super) fn ask(partition: Option<&str>) -> Result<Queue, String> {
    let nodes = output_of("sinfo", &["--noheader", "--Node", "--format=%P|%N|%T"])?;
    let partition = match partition {
        Some(name) => name.to_owned(),
        None => default_partition(&nodes)
            .ok_or("no partition is the default; name one by `--partition`")?,
    };
    let only = format!("--partition={partition}");
    let jobs = output_of("squeue", &["--noheader", &only, "--format=%A|%T|%D|%r|%Q|%j"])?;
    Ok(read(&partition, &nodes, &jobs))
}

/// Returns what a command prints on standard output, or a sentence that says why there is nothing.
fn output_of(program: &str, arguments: &[&str]) -> Result<String, String> {
    let mut command = Command::new(program);
    // This program may be watched itself; the command should not be.
    let ended = timed_command::run(command.args(arguments).env_remove("LD_PRELOAD"), LIMIT);
    let ended = ended.map_err(|error| format!("`{program}` {error}"))?;
    if ended.status.success() { Ok(ended.output) } else { Err(ended.complaint().to_owned()) }
}

fn default_partition(nodes: &str) -> Option<String> {
    let names = nodes.lines().filter_map(|line| line.split('|').next());
    names.filter_map(|name| name.strip_suffix('*')).map(str::to_owned).next()
}

/// Parses the output. Lines that are not understood are skipped: nothing can be done about their jobs.
pub(super) fn read(partition: &str, nodes: &str, jobs: &str) -> Queue {
    let is_idle = |line: &&str| {
        let fields: Vec<&str> = line.trim().split('|').collect();
        matches!(fields.as_slice(), [name, _, "idle"] if name.trim_end_matches('*') == partition)
    };
    let n_idle = u32::try_from(nodes.lines().filter(is_idle).count()).unwrap_or(u32::MAX);
    let mut jobs: Vec<QueuedJob> = jobs.lines().filter_map(job).collect();
    jobs.sort_by_key(|job| (std::cmp::Reverse(job.priority), job.job));
    Queue { jobs, n_idle }
}

fn job(line: &str) -> Option<QueuedJob> {
    let mut fields = line.trim().splitn(6, '|');
    let mut next = || fields.next();
    Some(QueuedJob {
        job: next()?.parse().ok()?,
        state: next()?.to_owned(),
        n_nodes: next()?.parse().ok()?,
        reason: next()?.to_owned(),
        priority: next()?.parse().ok()?,
        name: next()?.to_owned(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nodes_and_jobs_are_read() {
        let nodes = "all*|n1|idle\nall*|n2|allocated\nall*|n3|idle~\nall*|n4|idle\nother|n4|idle\n";
        let jobs = "12|PENDING|2|Resources|10|b\n11|PENDING|1|Dependency|10|a\n13|PENDING|4|Priority|20|x|y\n\
                    9|RUNNING|3|None|5|sintonia-7\nsqueue: error: something\n";
        assert_eq!(default_partition(nodes).as_deref(), Some("all"));
        let queue = read("all", nodes, jobs);
        assert_eq!(queue.n_idle, 2);
        let waiting = queue.jobs.iter().filter(|job| job.is_waiting());
        assert_eq!(
            waiting.map(|job| (job.job, job.n_nodes)).collect::<Vec<_>>(),
            [(13, 4), (12, 2)]
        );
        let companions = queue.jobs.iter().filter_map(|job| Some((job.job, job.companion_of()?)));
        assert_eq!(companions.collect::<Vec<_>>(), [(9, 7)]);
        assert_eq!(read("other", nodes, "").n_idle, 1);
        assert_eq!(default_partition("a|n1|idle"), None);
    }
}
