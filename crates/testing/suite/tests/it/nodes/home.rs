//! Home that nodes share, with the states of their daemons.
//!
//! # Invariants
//! - No daemon is left, also when the test fails, which then prints the logs of those in the background.
#![expect(clippy::print_stderr, reason = "a part of a test, which says why it fails")]

use serde_json::Value;
use std::collections::BTreeSet;
use std::fs;
use std::os::unix::fs::{PermissionsExt, chown};
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use suite::tool;

/// User ID of an ordinary user.
pub(super) const USER: u32 = 65_534;

/// Folder that stands for a home shared by nodes.
pub(super) struct Home {
    folder: tempfile::TempDir,
    /// Words before each command that run it as another user.
    pub(super) before: Vec<String>,
}

impl Home {
    pub(super) fn new() -> Self {
        let folder = tempfile::tempdir().expect("there is a folder for temporary files");
        Self { folder, before: Vec::new() }
    }

    /// Makes the home of an ordinary user, with the program in `bin`.
    pub(super) fn of_user() -> Self {
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

    pub(super) fn path(&self) -> &Path {
        self.folder.path()
    }

    /// Command `sintonia`, run as the user of this home.
    pub(super) fn sintonia(&self) -> Command {
        let own = self.path().join("bin/sintonia");
        let program = if own.exists() { own } else { tool::sintonia() };
        let mut line = self.before.clone();
        line.push(program.display().to_string());
        let mut command = Command::new(&line[0]);
        command.args(&line[1..]).stdin(Stdio::null());
        command
    }

    /// Folder of a node's daemon.
    pub(super) fn state(&self, node: &str) -> PathBuf {
        self.path().join(".local/state/sintonia").join(node)
    }

    pub(super) fn variables(&self) -> [(&'static str, PathBuf); 2] {
        let folder = |name| self.path().join(name);
        [("XDG_STATE_HOME", folder(".local/state")), ("XDG_CONFIG_HOME", folder(".config"))]
    }

    /// Output of a command that asks the daemon of a node.
    pub(super) fn ask(&self, node: &str, words: &[&str]) -> Output {
        let mut command = self.sintonia();
        let command = command.args(words).env("SINTONIA_NODE", self.state(node));
        command.output().expect("`sintonia` is built")
    }

    /// Number of nodes that are up, as seen by a node; 0 while it does not answer.
    pub(super) fn n_up(&self, node: &str) -> usize {
        let output = self.ask(node, &["nodes", "--json"]);
        let nodes: Value = serde_json::from_slice(&output.stdout).unwrap_or_default();
        let nodes = nodes.as_array().cloned().unwrap_or_default();
        nodes.iter().filter(|node| node["presence"] == "up").count()
    }

    /// Nodes on which tasks of one node ran.
    pub(super) fn used(&self, node: &str) -> Result<BTreeSet<String>, String> {
        let words = ["submit", "--wait", "--json", "--array", "1-24", "--", "sleep", "0.3"];
        let text = self.told(node, &words)?;
        let lines = text.lines().map(|line| serde_json::from_str(line).expect("a line of JSON"));
        Ok(lines.filter_map(|task: Value| task["node"].as_str().map(str::to_owned)).collect())
    }

    pub(super) fn stop(&self, node: &str) -> Result<(), String> {
        self.told(node, &["node", "stop"]).map(drop)
    }

    /// Standard output of a command that asks the daemon of a node, or its standard error if it fails.
    pub(super) fn told(&self, node: &str, words: &[&str]) -> Result<String, String> {
        let output = self.ask(node, words);
        let text = |bytes| String::from_utf8_lossy(bytes).into_owned();
        if output.status.success() { Ok(text(&output.stdout)) } else { Err(text(&output.stderr)) }
    }
}

impl Drop for Home {
    fn drop(&mut self) {
        let states = fs::read_dir(self.path().join(".local/state/sintonia"));
        for entry in states.into_iter().flatten().flatten() {
            if std::thread::panicking() {
                let said = fs::read_to_string(entry.path().join("node.log")).unwrap_or_default();
                eprintln!("{}:\n{said}", entry.path().display());
            }
            let mut command = self.sintonia();
            command.args(["node", "stop", "--now", "--state"]).arg(entry.path());
            // Most daemons have left before.
            let _output = command.output();
        }
    }
}
