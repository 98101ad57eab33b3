//! Job that starts daemons: its options for `sbatch`, and its script.

use super::duration;
use crate::location::shell_quoted;
use clap::Args;
use std::path::PathBuf;
use std::time::Duration;

/// Options of a job.
#[derive(Args, Debug)]
#[command(next_help_heading = "Jobs")]
pub(super) struct JobOptions {
    /// Partition of Slurm; by default Slurm's default one
    #[arg(long, value_name = "NAME")]
    pub(super) partition: Option<String>,
    /// Account that the jobs are charged to
    #[arg(long, value_name = "NAME")]
    account: Option<String>,
    /// Time limit of a job
    #[arg(long, value_name = "TIME", default_value = "1h", value_parser = duration)]
    time: Duration,
    /// Nodes of a job, all with a daemon
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..=4096))]
    pub(super) nodes_per_job: u32,
    /// Cores of a node for tasks, instead of all of a whole node
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=65_536))]
    pub(super) cores_per_node: Option<u32>,
    /// File of the cluster's key, in a folder that the nodes share; by default `sintonia/node.key` in
    /// `$XDG_CONFIG_HOME` or `~/.config`
    #[arg(long, value_name = "FILE")]
    pub(super) key: Option<PathBuf>,
    /// Time before the limit of a job at which its daemons begin to leave
    #[arg(long, value_name = "TIME", default_value = "60s", value_parser = duration)]
    pub(super) leave_before: Duration,
    /// Further options of `sbatch`, after `--`
    #[arg(last = true, value_name = "SBATCH OPTION")]
    further: Vec<String>,
}

/// What a job is made of, beside its options.
#[derive(Clone, Debug)]
pub(super) struct JobTemplate {
    /// Begin of the names of jobs, which ends before the slot.
    pub(super) job_prefix: String,
    /// Begin of the names of nodes, which ends before the slot.
    pub(super) node_prefix: String,
    /// This program.
    pub(super) program: PathBuf,
    /// Folder for the states of the daemons, and the outputs of the jobs.
    pub(super) folder: PathBuf,
    /// File of the key.
    pub(super) key: PathBuf,
    /// Policy and domain of the cluster, as options.
    pub(super) rules: Vec<String>,
    /// Time after which an idle daemon leaves even if no controller tells it.
    pub(super) idle: Duration,
}

/// Slot of a job of this name, if it begins with the prefix.
pub(super) fn slot_of_job(prefix: &str, name: &str) -> Option<u32> {
    name.strip_prefix(prefix)?.parse().ok()
}

/// Part of the time between the signal and the limit in which a daemon waits for tasks; the rest is for leaving.
const WAITING_SHARE: f64 = 0.7;

impl JobTemplate {
    /// Name of the job of a slot.
    pub(super) fn job_name(&self, slot: u32) -> String {
        format!("{}{slot}", self.job_prefix)
    }

    /// Slot of a node of this name.
    pub(super) fn slot_of_node(&self, name: &str) -> Option<u32> {
        let rest = name.strip_prefix(&self.node_prefix)?;
        rest.split_once('-').map_or(rest, |(slot, _)| slot).parse().ok()
    }

    /// Path of a job's output; Slurm puts the number of the job in place of `%j`.
    pub(super) fn output(&self, job: &str) -> PathBuf {
        self.folder.join(format!("job-{job}.log"))
    }

    /// File with the addresses of nodes to join.
    pub(super) fn peers(&self) -> PathBuf {
        self.folder.join("peers")
    }

    /// Options of `sbatch` for the job of a slot.
    pub(super) fn words(&self, options: &JobOptions, slot: u32) -> Vec<String> {
        let n_nodes = options.nodes_per_job;
        // The shell of a job of one node becomes the daemon; of several, steps are.
        let whose = if n_nodes == 1 { "B:" } else { "" };
        let mut words = vec![
            format!("--job-name={}", self.job_name(slot)),
            // Slurm itself runs one job of a slot at a time.
            "--dependency=singleton".to_owned(),
            "--no-requeue".to_owned(),
            format!("--nodes={n_nodes}"),
            "--ntasks-per-node=1".to_owned(),
            format!("--time={}", slurm_time(options.time)),
            format!("--signal={whose}TERM@{}", options.leave_before.as_secs()),
            format!("--output={}", self.output("%j").display()),
            format!("--chdir={}", self.folder.display()),
        ];
        words.push(match options.cores_per_node {
            Some(n_cores) => format!("--cpus-per-task={n_cores}"),
            None => "--exclusive".to_owned(),
        });
        let named = [("partition", &options.partition), ("account", &options.account)];
        let named = named.into_iter().filter_map(|(name, value)| Some((name, value.as_ref()?)));
        words.extend(named.map(|(name, value)| format!("--{name}={value}")));
        words.extend(options.further.iter().cloned());
        words
    }

    /// Script of the job of a slot. It has no secret: Slurm shows scripts to its administrators.
    pub(super) fn script(&self, options: &JobOptions, slot: u32, is_kept: bool) -> String {
        let name = format!("{}{slot}", self.node_prefix);
        let state = shell_quoted(&self.folder.join(slot.to_string()));
        let mut line = vec![shell_quoted(&self.program), "node start".to_owned()];
        let n_nodes = options.nodes_per_job;
        if n_nodes == 1 {
            line.push(format!("--name {name} --state {state}"));
        } else {
            // Both are filled in by the shell of the step.
            line.push(format!("--name {name}-\"$SLURM_PROCID\" --state {state}-\"$SLURM_PROCID\""));
        }
        line.push(format!("--key {} --port 0", shell_quoted(&self.key)));
        line.push(format!("--peers {}", shell_quoted(&self.peers())));
        line.extend(self.rules.iter().cloned());
        let waits_s = options.leave_before.as_secs_f64() * WAITING_SHARE;
        line.push(format!("--leave-within {waits_s:.0}"));
        if !is_kept {
            line.push(format!("--leave-when-idle {}", self.idle.as_secs_f64()));
        }
        line.extend(options.cores_per_node.map(|n_cores| format!("--cores {n_cores}")));
        let line = line.join(" ");
        let start = match n_nodes {
            1 => format!("exec {line}"),
            _ => {
                let cores = options.cores_per_node.map(|n| format!(" --cpus-per-task={n}"));
                let word = format!("'{}'", format!("exec {line}").replace('\'', r"'\''"));
                format!(
                    "exec srun --nodes={n_nodes} --ntasks={n_nodes} --ntasks-per-node=1{} --cpu-bind=none sh -c {word}",
                    cores.unwrap_or_default()
                )
            }
        };
        format!("#!/bin/sh\n# Node {name}, started by `sintonia node auto`.\numask 077\n{start}\n")
    }
}

/// Time as Slurm reads it: `DAYS-HOURS:MINUTES:SECONDS`.
fn slurm_time(time: Duration) -> String {
    let s = time.as_secs().max(60);
    format!("{}-{:02}:{:02}:{:02}", s / 86_400, s / 3600 % 24, s / 60 % 60, s % 60)
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::Parser;

    #[derive(Debug, Parser)]
    struct Line {
        #[command(flatten)]
        job: JobOptions,
    }

    fn template() -> JobTemplate {
        JobTemplate {
            job_prefix: "sintonia-login1-0abc-".to_owned(),
            node_prefix: "login1-auto".to_owned(),
            program: "/opt/sintonia".into(),
            folder: "/home/u/it's/auto".into(),
            key: "/home/u/.config/sintonia/node.key".into(),
            rules: vec!["--policy event".to_owned()],
            idle: Duration::from_secs(660),
        }
    }

    fn options(line: &str) -> JobOptions {
        Line::parse_from(std::iter::once("x").chain(line.split_whitespace())).job
    }

    #[test]
    fn a_job_of_one_node_becomes_its_daemon() {
        let options = options("--cores-per-node 8 --time 90m --partition short -- --mem=1G");
        let words = template().words(&options, 3).join(" ");
        assert_eq!(
            words,
            "--job-name=sintonia-login1-0abc-3 --dependency=singleton --no-requeue --nodes=1 --ntasks-per-node=1 \
             --time=0-01:30:00 --signal=B:TERM@60 --output=/home/u/it's/auto/job-%j.log --chdir=/home/u/it's/auto \
             --cpus-per-task=8 --partition=short --mem=1G"
        );
        assert_eq!(
            template().script(&options, 3, false),
            "#!/bin/sh\n# Node login1-auto3, started by `sintonia node auto`.\numask 077\n\
             exec /opt/sintonia node start --name login1-auto3 --state '/home/u/it'\\''s/auto/3' \
             --key /home/u/.config/sintonia/node.key --port 0 --peers '/home/u/it'\\''s/auto/peers' --policy event \
             --leave-within 42 --leave-when-idle 660 --cores 8\n"
        );
    }

    #[test]
    fn a_job_of_several_nodes_has_a_step_with_a_daemon_on_each() {
        let options = options("--nodes-per-job 2 --leave-before 100s");
        let words = template().words(&options, 3);
        assert!(words.contains(&"--signal=TERM@100".to_owned()), "{words:?}");
        assert!(words.contains(&"--exclusive".to_owned()), "{words:?}");
        let script = template().script(&options, 3, true);
        let begin = "exec srun --nodes=2 --ntasks=2 --ntasks-per-node=1 --cpu-bind=none sh -c 'exec /opt/sintonia \
                     node start --name login1-auto3-\"$SLURM_PROCID\" --state ";
        assert!(script.contains(begin), "{script}");
        assert!(!script.contains("--leave-when-idle") && script.contains("--leave-within 70"));
    }

    #[test]
    fn names_tell_the_slot() {
        let template = template();
        let slot = |name: &str| slot_of_job(&template.job_prefix, name);
        assert_eq!(slot(&template.job_name(12)), Some(12));
        assert_eq!(slot("sintonia-login1-0abd-3"), None);
        let nodes = ["login1-auto3", "login1-auto3-1", "login1", "login10-auto3", "login1-autox"];
        let slots = nodes.map(|node| template.slot_of_node(node));
        assert_eq!(slots, [Some(3), Some(3), None, None, None]);
    }
}
