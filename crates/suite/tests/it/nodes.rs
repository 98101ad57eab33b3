//! Daemons that launchers start, and nodes with a network of their own: commands run where there is room.

use launch::Running;
use serde_json::Value;
use std::collections::BTreeSet;
use std::fs;
use std::os::unix::fs::{PermissionsExt, chown};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::time::{Duration, Instant};
use suite::cluster::Cluster;
use suite::library::Library;
use suite::{Slurm, tool};

const PATIENCE: Duration = Duration::from_secs(60);
/// An ordinary user.
const USER: u32 = 65_534;

/// A folder that stands for a home that nodes share.
struct Home {
    folder: tempfile::TempDir,
    /// Words before each command of another user.
    before: Vec<String>,
}

impl Home {
    fn new() -> Self {
        let folder = tempfile::tempdir().expect("there is a folder for temporary files");
        Self { folder, before: Vec::new() }
    }

    /// Of an ordinary user, with the program in `bin`.
    fn of_user() -> Self {
        let mut home = Self::new();
        fs::create_dir(home.path().join("bin")).expect("the folder is ours");
        fs::copy(tool::sintonia(), home.path().join("bin/sintonia")).expect("there is room");
        chown(home.path(), Some(USER), Some(USER)).expect("we are root");
        fs::set_permissions(home.path(), fs::Permissions::from_mode(0o755)).expect("it is ours");
        let id = USER.to_string();
        let before = ["setpriv", "--reuid", &id, "--regid", &id, "--clear-groups"];
        home.before = before.map(str::to_owned).to_vec();
        home
    }

    fn path(&self) -> &Path {
        self.folder.path()
    }

    /// `sintonia` as the user of this home.
    fn sintonia(&self) -> Command {
        let own = self.path().join("bin/sintonia");
        let program = if own.exists() { own } else { tool::sintonia() };
        let mut line = self.before.clone();
        line.push(program.display().to_string());
        let mut command = Command::new(&line[0]);
        command.args(&line[1..]).stdin(Stdio::null());
        command
    }

    /// The folder of a node's daemon.
    fn state(&self, node: &str) -> PathBuf {
        self.path().join("state/sintonia").join(node)
    }

    fn variables(&self) -> [(&'static str, PathBuf); 2] {
        let folder = |name| self.path().join(name);
        [("XDG_STATE_HOME", folder("state")), ("XDG_CONFIG_HOME", folder("config"))]
    }

    /// What the daemon of a node answers.
    fn ask(&self, node: &str, words: &[&str]) -> Output {
        let mut command = self.sintonia();
        let command = command.args(words).env("SINTONIA_NODE", self.state(node));
        command.output().expect("`sintonia` is built")
    }

    /// How many nodes are up as one of them sees it; 0 while it does not answer.
    fn n_up(&self, node: &str) -> usize {
        let output = self.ask(node, &["nodes", "--json"]);
        let nodes: Value = serde_json::from_slice(&output.stdout).unwrap_or_default();
        let nodes = nodes.as_array().cloned().unwrap_or_default();
        nodes.iter().filter(|node| node["presence"] == "up").count()
    }

    /// Nodes on which tasks of one of them ran.
    fn used(&self, node: &str) -> Result<BTreeSet<String>, String> {
        let words = ["submit", "--wait", "--json", "--array", "1-24", "--", "sleep", "0.3"];
        let text = self.told(node, &words)?;
        let lines = text.lines().map(|line| serde_json::from_str(line).expect("a line of JSON"));
        Ok(lines.filter_map(|task: Value| task["node"].as_str().map(str::to_owned)).collect())
    }

    fn stop(&self, node: &str) -> Result<(), String> {
        self.told(node, &["node", "stop"]).map(drop)
    }

    /// What the daemon of a node answers, or what is said instead.
    fn told(&self, node: &str, words: &[&str]) -> Result<String, String> {
        let output = self.ask(node, words);
        let text = |bytes| String::from_utf8_lossy(bytes).into_owned();
        if output.status.success() { Ok(text(&output.stdout)) } else { Err(text(&output.stderr)) }
    }
}

impl Drop for Home {
    fn drop(&mut self) {
        let states = fs::read_dir(self.path().join("state/sintonia"));
        for entry in states.into_iter().flatten().flatten() {
            let mut command = self.sintonia();
            command.args(["node", "stop", "--now", "--state"]).arg(entry.path());
            // Most have left before.
            let _output = command.output();
        }
    }
}

#[track_caller]
fn wait(what: &str, mut is_so: impl FnMut() -> bool) {
    let until = Instant::now() + PATIENCE;
    while !is_so() {
        assert!(Instant::now() < until, "not so: {what}");
        std::thread::sleep(Duration::from_millis(50));
    }
}

fn host() -> String {
    let host = fs::read_to_string("/proc/sys/kernel/hostname").expect("a host has a name");
    host.trim().split('.').next().unwrap_or_default().to_owned()
}

#[track_caller]
fn check_launcher(library: Library) {
    let home = Home::new();
    let meet = home.path().join("meet");
    fs::create_dir(&meet).expect("the folder is ours");
    let words = ["node", "start", "--cores", "2", "--speed", "1", "--bind", "127.0.0.1", "--meet"];
    let job = library.launch(3, &tool::sintonia()).args(words).arg(&meet);
    let with = home.variables().into_iter();
    let job = with.fold(job, |job, (name, value)| job.variable(name, value));
    // Whatever goes wrong, it says what the daemons said.
    let running: Running = job.within(PATIENCE).start();
    let nodes: Vec<String> = (0..3).map(|rank| format!("{}-{rank}", host())).collect();
    for node in &nodes {
        running.wait_until("all have met", |_| home.n_up(node) == 3);
    }
    let used = home.used(&nodes[1]);
    if used != Ok(nodes.iter().cloned().collect()) {
        running.fail(&format!("tasks were to run on all nodes, and did so: {used:?}"));
    }
    for node in &nodes {
        home.stop(node).unwrap_or_else(|why| running.fail(&why));
    }
    let ended = running.finish();
    assert_eq!(ended.code, 0, "{}", ended.stderr);
}

#[test]
fn open_mpi_starts_daemons_that_meet() {
    check_launcher(Library::OpenMpi4);
}

#[test]
fn mpich_starts_daemons_that_meet() {
    check_launcher(Library::Mpich4);
}

#[test]
fn open_mpi_5_starts_daemons_that_meet() {
    check_launcher(Library::OpenMpi5);
}

#[test]
fn mpich_5_starts_daemons_that_meet() {
    check_launcher(Library::Mpich5);
}

#[test]
fn slurm_starts_daemons_that_know_each_other_by_the_list_of_nodes() {
    let slurm = Slurm::new(2);
    let home = Home::new();
    let mut srun = slurm.command("srun");
    srun.args(["--nodes=2", "--ntasks-per-node=1"]).arg(tool::sintonia());
    srun.args(["node", "start", "--slurm", "--cores", "2", "--speed", "1"]).envs(home.variables());
    let srun = srun.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::piped());
    let srun: Child = srun.spawn().expect("`srun` is installed");
    let nodes = ["snt-n1", "snt-n2"];
    for node in nodes {
        slurm.wait("both are up", || home.n_up(node) == 2);
    }
    assert_eq!(home.used("snt-n2"), Ok(nodes.map(str::to_owned).into()));
    assert_eq!(nodes.map(|node| home.stop(node)), [Ok(()), Ok(())]);
    let ended = srun.wait_with_output().expect("it is ours");
    let said = String::from_utf8_lossy(&ended.stderr);
    assert!(ended.status.success(), "{said}");
    assert!(said.contains("other nodes reach node `snt-n1` at snt-n1:7411"), "{said}");
}

/// Lines `nodeN$ COMMAND` of the guide's section: the node, and the command.
fn lines_of_the_guide() -> Vec<(usize, String)> {
    let guide = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/guide.md");
    let guide = fs::read_to_string(guide).expect("the guide is there");
    let section = guide.split("\n## Share out commands over nodes\n").nth(1).unwrap_or_default();
    let section = section.split("\n## ").next().unwrap_or_default();
    let lines = section.lines().filter_map(|line| line.strip_prefix("node")?.split_once("$ "));
    let named = |line: &str| line.replace("node1", "snt-n1");
    lines.filter_map(|(number, line)| Some((number.parse().ok()?, named(line)))).collect()
}

/// The commands of the guide, by an ordinary user, on three nodes that know each other by the network only.
#[test]
fn the_guides_commands_work_on_three_nodes() {
    let cluster = Cluster::new(3);
    let home = Home::of_user();
    let path = format!("{}/bin:/usr/bin:/bin", home.path().display());
    let lines = lines_of_the_guide();
    assert_eq!(lines.len(), 11, "the guide has its commands");
    let mut said = String::new();
    for (number, line) in lines {
        if line.contains("--wait") {
            wait("all are up", || home.n_up("snt-n1") == 3);
        }
        let mut command = cluster.on_node(number);
        command.args(&home.before).args(["sh", "-c", &line]);
        command.current_dir(home.path()).stdin(Stdio::null()).envs(home.variables());
        let output = command.env("HOME", home.path()).env("PATH", &path).output();
        let output = output.expect("it can be started");
        let text = [output.stdout, output.stderr].concat();
        said += &format!("{number}$ {line}\n{}", String::from_utf8_lossy(&text));
        assert!(output.status.success(), "{said}");
    }
    for number in 1..=3 {
        assert!(said.contains(&format!(" on snt-n{number}\n")), "tasks ran everywhere:\n{said}");
    }
    assert!(said.contains("60 of 60 tasks ended"), "{said}");
    assert!(said.contains("3 nodes up with"), "{said}");
}
