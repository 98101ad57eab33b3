//! Daemons on some nodes, started as users start them.
//!
//! # Invariants
//! - Nothing is left, also when the test fails: processes on a node end with the cluster.
#![expect(
    clippy::unwrap_used,
    clippy::print_stderr,
    reason = "a part of a test, which fails so and says why"
)]

use serde_json::Value;
use std::fs::{self, File};
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};
use suite::Cluster;
use suite::tool::sintonia;
use tempfile::TempDir;

pub(super) const N_NODES: usize = 3;
/// Time for which a node may go on with a task of another node that it does not hear, in s.
const LEASE_S: &str = "2";
/// Deadline, much longer than any wait takes.
const DEADLINE: Duration = Duration::from_secs(60);

pub(super) struct Daemons {
    // First, so that the namespaces are removed first, with the processes in them.
    pub(super) cluster: Cluster,
    daemons: Vec<Option<Child>>,
    folder: TempDir,
}

/// Diary that tasks have written.
#[derive(Debug)]
pub(super) struct TaskLog(String);

impl TaskLog {
    /// Number of entries of this kind.
    pub(super) fn n(&self, what: &str) -> usize {
        self.0.lines().filter(|line| line.split(' ').next() == Some(what)).count()
    }

    /// Returns whether there is such an entry for this task.
    pub(super) fn has(&self, what: &str, task: &str) -> bool {
        self.0.lines().any(|line| line.starts_with(&format!("{what} {task} ")))
    }
}

impl Daemons {
    /// Starts all daemons; they know each other.
    pub(super) fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        fs::create_dir(folder.path().join("locks")).unwrap();
        let cluster = Cluster::new(N_NODES);
        let peers = (1..=N_NODES).map(|node| format!("{}\n", cluster.address(node)));
        fs::write(folder.path().join("peers"), peers.collect::<String>()).unwrap();
        let key = folder.path().join("key");
        let made = Command::new(sintonia()).args(["node", "key"]).arg(key).output().unwrap();
        assert!(made.status.success(), "{made:?}");
        let daemons = (0..N_NODES).map(|_| None).collect();
        let mut daemons = Self { cluster, daemons, folder };
        (1..=N_NODES).for_each(|node| daemons.start(node));
        for node in 1..=N_NODES {
            eventually("a cluster", || daemons.n_up(node) == N_NODES);
        }
        daemons
    }

    fn state(&self, node: usize) -> PathBuf {
        self.folder.path().join(self.cluster.node(node))
    }

    /// Starts the daemon of a node, possibly again.
    pub(super) fn start(&mut self, node: usize) {
        let folder = self.folder.path();
        let log = File::options().create(true).append(true).open(self.log(node)).unwrap();
        let mut command = self.cluster.on_node(node);
        command.arg(sintonia()).args(["node", "start", "--cores", "2", "--speed", "1"]);
        command.args(["--lease", LEASE_S, "--bind", &self.cluster.address(node)]);
        command.arg("--peers").arg(folder.join("peers")).arg("--key").arg(folder.join("key"));
        command.arg("--state").arg(self.state(node));
        let daemon = command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(log).spawn();
        self.daemons[node - 1] = Some(daemon.unwrap());
    }

    /// Kills the daemon of a node, and no other process.
    pub(super) fn kill(&mut self, node: usize) {
        if let Some(mut daemon) = self.daemons[node - 1].take() {
            daemon.kill().unwrap();
            daemon.wait().unwrap();
        }
    }

    /// Kills the process that holds the tasks of a node.
    pub(super) fn kill_keeper(&self, node: usize) {
        let is_keeper = |pid: &u32| {
            let words = fs::read_to_string(format!("/proc/{pid}/cmdline")).unwrap_or_default();
            words.split('\0').skip(1).take(2).eq(["node", "keeper"])
        };
        for pid in self.cluster.processes(node).into_iter().filter(is_keeper) {
            // The process may have ended by itself.
            Command::new("kill").args(["-KILL", &pid.to_string()]).output().unwrap();
        }
    }

    /// Submits an array of tasks to a node.
    pub(super) fn submit(&self, node: usize, n_tasks: usize, words: &[&str]) {
        let array = format!("1-{n_tasks}");
        let submitted = self.ask(node, &[&["submit", "--array", &array], words].concat());
        assert!(submitted.is_some(), "node {node} takes no tasks");
    }

    /// Outcomes of a node's tasks, with their names; waits until all have ended.
    pub(super) fn outcomes(&self, node: usize, n_tasks: usize) -> Vec<(String, String)> {
        let mut ended = Vec::new();
        eventually("the end of all tasks", || {
            let said = self.ask(node, &["tasks", "--json", "--home", &self.cluster.node(node)]);
            let said = said.unwrap_or_default();
            let tasks = said.lines().map(|line| serde_json::from_str::<Value>(line).unwrap());
            ended = tasks.filter(|task| task["state"] == "ended").collect();
            ended.len() == n_tasks
        });
        let name = |task: &Value| task["task"].as_str().unwrap().to_owned();
        ended.iter().map(|task| (name(task), task["outcome"].to_string())).collect()
    }

    /// Number of nodes that answer, as seen by a node.
    pub(super) fn n_up(&self, node: usize) -> usize {
        let nodes = self.ask(node, &["nodes", "--json"]).unwrap_or_default();
        let nodes: Vec<Value> = serde_json::from_str(&nodes).unwrap_or_default();
        nodes.iter().filter(|node| node["presence"] == "up").count()
    }

    /// Diary of the tasks so far.
    pub(super) fn task_log(&self) -> TaskLog {
        TaskLog(fs::read_to_string(self.folder.path().join("diary")).unwrap_or_default())
    }

    /// Output of a command that asks a node's daemon; `None` if it fails.
    pub(super) fn ask(&self, node: usize, words: &[&str]) -> Option<String> {
        let mut command = Command::new(sintonia());
        command.arg(words[0]).arg("--node").arg(self.state(node)).args(&words[1..]);
        let output = command.current_dir(self.folder.path()).output().unwrap();
        if !output.status.success() {
            eprintln!("{words:?} at node {node}: {}", String::from_utf8_lossy(&output.stderr));
        }
        output.status.success().then(|| String::from_utf8(output.stdout).unwrap())
    }

    fn log(&self, node: usize) -> PathBuf {
        self.folder.path().join(format!("{}.log", self.cluster.node(node)))
    }
}

impl Drop for Daemons {
    fn drop(&mut self) {
        for node in 1..=N_NODES {
            if std::thread::panicking() {
                let said = fs::read_to_string(self.log(node)).unwrap_or_default();
                eprintln!("{}:\n{said}", self.cluster.node(node));
            }
            self.kill(node);
        }
    }
}

#[track_caller]
pub(super) fn eventually(what: &str, mut is_so: impl FnMut() -> bool) {
    let end = Instant::now() + DEADLINE;
    while !is_so() {
        assert!(Instant::now() < end, "{what} did not come");
        std::thread::park_timeout(Duration::from_millis(20));
    }
}
