//! Daemons for tests: each has a folder of its own and ends with the value.

use crate::sintonia::CommandOutput;
use serde_json::Value;
use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};
use tempfile::TempDir;

const PATIENCE: Duration = Duration::from_secs(60);

/// Folder for the daemons of one cluster, and the user who runs them.
#[derive(Debug)]
pub(super) struct TestCluster {
    folder: TempDir,
    program: PathBuf,
    /// Words before each command that run it as another user.
    before: Vec<String>,
}

/// Daemon under test.
#[derive(Debug)]
pub(super) struct Daemon<'a> {
    cluster: &'a TestCluster,
    name: String,
    child: Option<Child>,
}

impl TestCluster {
    /// Makes a cluster of this user.
    pub(super) fn new() -> Self {
        let folder = tempfile::tempdir().expect("a folder");
        let program = launch::place::built("sintonia");
        Self { folder, program, before: Vec::new() }
    }

    /// Makes a cluster of another user, who gets the folder and a copy of the program; `None` if this user is not root.
    pub(super) fn of_user(uid: u32) -> Option<Self> {
        if !rustix::process::geteuid().is_root() {
            return None;
        }
        let mut cluster = Self::new();
        let program = cluster.path("sintonia");
        fs::copy(&cluster.program, &program).expect("there is room");
        std::os::unix::fs::chown(cluster.path(""), Some(uid), Some(uid)).expect("we are root");
        cluster.program = program;
        cluster.before = setpriv(uid);
        Some(cluster)
    }

    /// Path of a file in the folder.
    pub(super) fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    /// Command of `sintonia` with these words, as the user of this cluster.
    pub(super) fn command(&self, words: &[&str]) -> Command {
        self.command_of(&self.before, words)
    }

    /// Command of `sintonia` as another user.
    pub(super) fn command_of(&self, before: &[String], words: &[&str]) -> Command {
        let program = self.program.display().to_string();
        let mut line = before.iter().chain([&program]);
        let mut command = Command::new(line.next().expect("the program"));
        command.args(line).args(words).current_dir(self.folder.path()).stdin(Stdio::null());
        command.env("HOME", self.folder.path()).env_remove("NO_COLOR");
        for name in ["XDG_STATE_HOME", "XDG_CONFIG_HOME", "XDG_RUNTIME_DIR", "SINTONIA_NODE"] {
            command.env_remove(name);
        }
        command
    }

    pub(super) fn run(&self, words: &[&str]) -> CommandOutput {
        self.command(words).output().expect("it can be started").into()
    }

    /// Starts a daemon and waits until it answers.
    #[track_caller]
    pub(super) fn start(&self, name: &str, words: &[&str]) -> Daemon<'_> {
        let mut daemon = Daemon { cluster: self, name: name.to_owned(), child: None };
        daemon.start(words);
        daemon
    }
}

impl Daemon<'_> {
    /// Starts the daemon, possibly again.
    #[track_caller]
    pub(super) fn start(&mut self, words: &[&str]) {
        let state = self.state().display().to_string();
        let fixed = ["node", "start", "--state", &state, "--name", &self.name];
        let usual = ["--cores", "2", "--speed", "1"];
        let log = File::options().create(true).append(true).open(self.log()).expect("a file");
        let mut command = self.cluster.command(&[&fixed[..], &usual, words].concat());
        self.child = Some(command.stdout(Stdio::null()).stderr(log).spawn().expect("it starts"));
        self.wait("it answers", |daemon| daemon.run(&["nodes"]).code == Some(0));
    }

    /// Command that asks this daemon.
    pub(super) fn command(&self, words: &[&str]) -> Command {
        let mut command = self.cluster.command(words);
        command.env("SINTONIA_NODE", self.state());
        command
    }

    pub(super) fn run(&self, words: &[&str]) -> CommandOutput {
        self.command(words).output().expect("it can be started").into()
    }

    /// Output of a command that must succeed.
    #[track_caller]
    pub(super) fn said(&self, words: &[&str]) -> String {
        let said = self.run(words);
        assert_eq!(said.code, Some(0), "{words:?}: {}\n{}", said.errors, self.logged());
        said.output
    }

    /// Output of such a command as JSON, one value for each line.
    #[track_caller]
    pub(super) fn lines(&self, words: &[&str]) -> Vec<Value> {
        let text = self.said(words);
        text.lines().map(|line| serde_json::from_str(line).expect("a line of JSON")).collect()
    }

    /// Output of such a command as one JSON value.
    #[track_caller]
    pub(super) fn json(&self, words: &[&str]) -> Value {
        serde_json::from_str(&self.said(words)).expect("JSON")
    }

    /// Waits until a condition holds.
    #[track_caller]
    pub(super) fn wait(&self, what: &str, mut is_so: impl FnMut(&Self) -> bool) {
        let until = Instant::now() + PATIENCE;
        while !is_so(self) {
            assert!(Instant::now() < until, "not so: {what}\n{}", self.logged());
            std::thread::sleep(Duration::from_millis(20));
        }
    }

    /// Number of tasks that run.
    #[track_caller]
    pub(super) fn n_running(&self) -> usize {
        self.lines(&["tasks", "--state", "running", "--json"]).len()
    }

    /// Kills the daemon with `SIGKILL`.
    pub(super) fn kill(&mut self) {
        if let Some(mut child) = self.child.take() {
            child.kill().expect("it is ours");
            child.wait().expect("it is ours");
        }
    }

    /// Kills the daemon and its keeper, whose guard ends the tasks.
    pub(super) fn kill_with_keeper(&mut self) {
        self.kill();
        end_keeper(&self.state());
    }

    /// Waits for the daemon's end; returns its exit code.
    #[track_caller]
    pub(super) fn ended(&mut self) -> Option<i32> {
        let (mut child, mut status) = (self.child.take().expect("it was started"), None);
        self.wait("it has ended", |_| {
            status = child.try_wait().expect("it is ours");
            status.is_some()
        });
        status.and_then(|status| status.code())
    }

    pub(super) fn pid(&self) -> u32 {
        self.child.as_ref().expect("it runs").id()
    }

    /// Folder of the daemon's state.
    pub(super) fn state(&self) -> PathBuf {
        self.cluster.path(&format!("state-{}", self.name))
    }

    /// Log of the daemon.
    pub(super) fn logged(&self) -> String {
        fs::read_to_string(self.log()).unwrap_or_default()
    }

    fn log(&self) -> PathBuf {
        self.cluster.path(&format!("{}.log", self.name))
    }
}

impl Drop for Daemon<'_> {
    fn drop(&mut self) {
        self.run(&["node", "stop", "--now", "--state", &self.state().display().to_string()]);
        self.kill();
        end_keeper(&self.state());
    }
}

/// Ends the keeper, which outlives a killed daemon and has nothing left to keep.
fn end_keeper(state: &Path) {
    let is_of_state = |line: &[u8]| {
        let text = String::from_utf8_lossy(line);
        text.contains("node\0keeper") && text.contains(&state.display().to_string())
    };
    for entry in fs::read_dir("/proc").into_iter().flatten().flatten() {
        let line = fs::read(entry.path().join("cmdline")).unwrap_or_default();
        let pid = entry.file_name().to_string_lossy().parse().ok();
        if let Some(pid) = pid.and_then(rustix::process::Pid::from_raw)
            && is_of_state(&line)
        {
            rustix::process::kill_process(pid, rustix::process::Signal::KILL).ok();
        }
    }
}

/// Words that run a command as another user.
pub(super) fn setpriv(uid: u32) -> Vec<String> {
    let id = uid.to_string();
    ["setpriv", "--reuid", &id, "--regid", &id, "--clear-groups"].map(str::to_owned).to_vec()
}
