//! Slurm for a test: a controller on this host and a daemon on each node of a [`Cluster`].
//!
//! It does without MUNGE: all daemons run as root and trust each other (`auth/none`).
//!
//! # Invariants
//! - The daemons end with the value, also when a test fails.

use crate::cluster::Cluster;
use launch::Job;
use launch::library::on_path;
use rustix::process::{Pid, Signal, kill_process};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};
use tempfile::TempDir;

/// Longest time for the daemons to find each other and to end, and for any other wait.
const PATIENCE: Duration = Duration::from_secs(60);

/// Slurm that runs.
#[derive(Debug)]
pub struct Slurm {
    daemons: Vec<Child>,
    folder: TempDir,
    cluster: Cluster,
}

impl Slurm {
    /// Starts controller and daemons, and waits until all nodes are idle.
    ///
    /// # Panics
    /// If Slurm is not installed, this user is not root, or a daemon does not start.
    #[track_caller]
    pub fn new(n_nodes: usize) -> Self {
        let cluster = Cluster::new(n_nodes);
        let folder = tempfile::tempdir().expect("there is a folder for temporary files");
        let mut slurm = Self { daemons: Vec::new(), folder, cluster };
        slurm.configure();
        slurm.start_daemons();
        slurm.wait_until_idle();
        slurm
    }

    /// Submits a batch job with these options that runs the lines of `script`; returns its number.
    ///
    /// # Panics
    /// If Slurm refuses it.
    #[track_caller]
    pub fn submit(&self, options: &[&str], script: &str) -> u64 {
        let folder = self.folder.path().display();
        let output = format!("--output={folder}/%j.out");
        let script = format!("--wrap={script}");
        let words = [&["--parsable", &output], options, &[&script]].concat();
        let said = self.ask("sbatch", &words);
        said.parse().unwrap_or_else(|_| panic!("`sbatch` said {said:?}:\n{}", self.logs()))
    }

    /// Output so far of a batch job of [`submit`](Self::submit).
    pub fn output(&self, job: u64) -> String {
        let path = self.folder.path().join(format!("{job}.out"));
        fs::read_to_string(path).unwrap_or_default()
    }

    /// Output of a command of Slurm; empty if the command fails.
    pub fn ask(&self, command: &str, words: &[&str]) -> String {
        let output = self.command(command).args(words).output();
        output.map_or_else(
            |error| error.to_string(),
            |output| String::from_utf8_lossy(&output.stdout).trim().to_owned(),
        )
    }

    /// Command that uses this Slurm.
    pub fn command(&self, name: impl AsRef<Path>) -> Command {
        let name = name.as_ref();
        let path =
            if name.is_absolute() { name.to_owned() } else { on_path(&name.to_string_lossy()) };
        let mut command = Command::new(path);
        command.env("SLURM_CONF", self.conf());
        command
    }

    /// Address of this host, at which nodes reach it.
    pub fn host_address(&self) -> String {
        self.cluster.host_address()
    }

    /// Number of nodes without a job.
    pub fn n_idle(&self) -> usize {
        let states = self.ask("sinfo", &["--noheader", "--Node", "--format=%T"]);
        states.lines().filter(|state| *state == "idle").count()
    }

    /// Waits until a condition holds.
    ///
    /// # Panics
    /// If it does not hold in time.
    #[track_caller]
    pub fn wait(&self, what: &str, mut is_so: impl FnMut() -> bool) {
        let until = Instant::now() + PATIENCE;
        while !is_so() {
            let queue = || self.ask("squeue", &["--format=%A %T %D %r %N %j"]);
            assert!(Instant::now() < until, "not so: {what}\n{}\n{}", queue(), self.logs());
            std::thread::sleep(Duration::from_millis(50));
        }
    }

    /// Ends the controller in order, so that it knows its jobs after a restart: otherwise it saves them only now and
    /// then.
    pub fn stop_controller(&mut self) {
        if let Some(controller) = self.daemons.first_mut() {
            end(controller);
        }
    }

    /// Starts the controller again.
    ///
    /// # Panics
    /// If it does not start.
    #[track_caller]
    pub fn restart_controller(&mut self) {
        self.start_daemon(Command::new(daemon("slurmctld")), "slurmctld-again");
        let controller = self.daemons.pop().expect("it was just started");
        self.daemons[0] = controller;
        self.wait("the controller answers", || {
            !self.ask("sinfo", &["--noheader", "--format=%D"]).is_empty()
        });
    }

    /// Job of `srun` with `n_per_node` tasks of a program on each node, by one of Slurm's MPI plugins.
    ///
    /// # Panics
    /// If there is no `srun`.
    pub fn srun(&self, plugin: &str, n_per_node: usize, program: &Path) -> Job {
        let n_nodes = self.cluster.n_nodes();
        Job::new(on_path("srun"))
            .args([format!("--mpi={plugin}"), format!("--nodes={n_nodes}")])
            .arg(format!("--ntasks={}", n_nodes * n_per_node))
            .arg(program)
            .variable("SLURM_CONF", self.conf())
    }

    /// Batch job that runs the lines of `script` on the first node, with its output in `output`.
    ///
    /// # Panics
    /// If the folder for temporary files is full.
    pub fn sbatch(&self, n_per_node: usize, script: &str, output: &Path) -> Job {
        let path = self.folder.path().join("job.sh");
        fs::write(&path, format!("#!/bin/sh\n{script}\n")).expect("the folder is ours");
        let n_nodes = self.cluster.n_nodes();
        Job::new(on_path("sbatch"))
            .args(["--wait".to_owned(), format!("--nodes={n_nodes}")])
            .arg(format!("--ntasks={}", n_nodes * n_per_node))
            .arg(format!("--output={}", output.display()))
            .arg(path)
            .variable("SLURM_CONF", self.conf())
    }

    fn conf(&self) -> PathBuf {
        self.folder.path().join("slurm.conf")
    }

    fn configure(&self) {
        let (folder, cluster) = (self.folder.path().display(), &self.cluster);
        let host = fs::read_to_string("/proc/sys/kernel/hostname").expect("a host has a name");
        let host = host.trim().split('.').next().unwrap_or_default().to_owned();
        // Each node has its own folder for temporary files, since the PMIx servers of the daemons use the same names in
        // it.
        let mut text = format!(
            "ClusterName=snt\nSlurmctldHost={host}({})\nSlurmctldPort=26817\nSlurmdPort=26818\n\
             SrunPortRange=26900-26999\nAuthType=auth/none\nCredType=cred/none\nSlurmUser=root\n\
             StateSaveLocation={folder}/state\nSlurmdSpoolDir={folder}/spool-%n\n\
             TmpFS={folder}/tmp-%n\nSlurmctldPidFile={folder}/slurmctld.pid\n\
             SlurmdPidFile={folder}/slurmd-%n.pid\nProctrackType=proctrack/linuxproc\n\
             TaskPlugin=task/none\nJobAcctGatherType=jobacct_gather/none\nMpiDefault=none\n\
             AccountingStorageType=accounting_storage/none\nSelectType=select/linear\n\
             SchedulerType=sched/builtin\nSchedulerParameters=batch_sched_delay=0\n\
             ReturnToService=2\nKillWait=2\n\
             SlurmdParameters=config_overrides\n",
            cluster.host_address(),
        );
        for number in 1..=cluster.n_nodes() {
            let (node, address) = (cluster.node(number), cluster.address(number));
            text += &format!("NodeName={node} NodeAddr={address} CPUs=8 State=UNKNOWN\n");
            make_folder(&self.folder.path().join(format!("tmp-{node}")));
        }
        let nodes: Vec<_> = (1..=cluster.n_nodes()).map(|number| cluster.node(number)).collect();
        text += &format!("PartitionName=all Nodes={} Default=YES State=UP\n", nodes.join(","));
        make_folder(&self.folder.path().join("state"));
        fs::write(self.conf(), text).expect("the folder is ours");
    }

    fn start_daemons(&mut self) {
        let controller = Command::new(daemon("slurmctld"));
        self.start_daemon(controller, "slurmctld");
        for number in 1..=self.cluster.n_nodes() {
            let node = self.cluster.node(number);
            let mut command = self.cluster.on_node(number);
            command.arg(daemon("slurmd")).args(["-N", &node]);
            self.start_daemon(command, &node);
        }
    }

    /// Starts a daemon in the foreground, so that it is a child of this process.
    fn start_daemon(&mut self, mut command: Command, name: &str) {
        let log = fs::File::create(self.folder.path().join(format!("{name}.log")));
        let log = log.expect("the folder is ours");
        let words = log.try_clone().expect("a file can be opened twice");
        command
            .arg("-D")
            .env("SLURM_CONF", self.conf())
            .stdin(Stdio::null())
            .stdout(words)
            .stderr(log);
        let child =
            command.spawn().unwrap_or_else(|error| panic!("`{name}` does not start: {error}"));
        self.daemons.push(child);
    }

    #[track_caller]
    fn wait_until_idle(&self) {
        self.wait("all nodes are idle", || self.n_idle() == self.cluster.n_nodes());
    }

    /// Logs of the daemons.
    pub fn logs(&self) -> String {
        let entries = fs::read_dir(self.folder.path()).into_iter().flatten().flatten();
        let logs = entries.map(|entry| entry.path());
        let logs = logs.filter(|path| path.extension().is_some_and(|found| found == "log"));
        logs.map(|path| fs::read_to_string(path).unwrap_or_default()).collect()
    }
}

impl Drop for Slurm {
    fn drop(&mut self) {
        self.daemons.iter().for_each(ask_to_end);
        self.daemons.iter_mut().for_each(end);
    }
}

fn ask_to_end(daemon: &Child) {
    if let Some(pid) = Pid::from_raw(daemon.id().cast_signed()) {
        kill_process(pid, Signal::TERM).unwrap_or_default();
    }
}

/// Asks a daemon to end, waits, and finally kills it.
fn end(daemon: &mut Child) {
    if matches!(daemon.try_wait(), Ok(None)) {
        ask_to_end(daemon);
    }
    let until = Instant::now() + PATIENCE;
    while matches!(daemon.try_wait(), Ok(None)) && Instant::now() < until {
        std::thread::sleep(Duration::from_millis(20));
    }
    daemon.kill().unwrap_or_default();
    daemon.wait().map(drop).unwrap_or_default();
}

fn make_folder(path: &Path) {
    fs::create_dir_all(path).expect("the folder for temporary files is writable");
}

/// Path of a daemon, which may lie outside of `PATH`.
fn daemon(name: &str) -> PathBuf {
    let path = Path::new("/usr/sbin").join(name);
    if path.exists() { path } else { on_path(name) }
}
