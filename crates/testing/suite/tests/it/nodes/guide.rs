//! Tests of the guide's commands, by an ordinary user, on three nodes that are connected only by the network.

use super::home::Home;
use super::ssh::Sshd;
use super::{PATIENCE, wait};
use std::fs::{self, File};
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Instant;
use suite::cluster::Cluster;

const NODES: [&str; 3] = ["snt-n1", "snt-n2", "snt-n3"];

/// Lines `nodeN$ COMMAND` of a block in the guide's section: the node, and the command.
fn lines_of_the_guide(block: usize) -> Vec<(usize, String)> {
    let guide = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../docs/guide.md");
    let guide = fs::read_to_string(guide).expect("the guide is there");
    let section = guide.split("\n## Share out commands over nodes\n").nth(1).unwrap_or_default();
    let section = section.split("\n## ").next().unwrap_or_default();
    let block = section.split("\n```console\n").nth(1 + block).unwrap_or_default();
    let block = block.split("\n```\n").next().unwrap_or_default();
    let lines = block.lines().filter_map(|line| line.strip_prefix("node")?.split_once("$ "));
    let named = |line: &str| (1..=3).fold(line.to_owned(), with_real_name);
    lines.filter_map(|(number, line)| Some((number.parse().ok()?, named(line)))).collect()
}

/// Replaces the name of a node in a line, also where it begins the name of a task.
fn with_real_name(line: String, number: usize) -> String {
    line.replace(&format!("node{number}"), NODES[number - 1])
}

/// Output of commands, to be shown when one fails.
struct Session<'a> {
    home: &'a Home,
    said: String,
}

impl<'a> Session<'a> {
    fn new(home: &'a Home) -> Self {
        Self { home, said: String::new() }
    }

    /// Runs a line as the user would; `command` takes it to its node.
    ///
    /// The output goes into a file, so that a process that keeps it open does not block the test: only the command
    /// itself is waited for.
    #[track_caller]
    fn run(&mut self, mut command: Command, node: usize, line: &str) {
        if line.contains("--wait") {
            wait("all are up", || self.home.n_up(NODES[0]) == 3);
        }
        let path = format!("{}/bin:/usr/bin:/bin", self.home.path().display());
        let written = self.home.path().join("written");
        let file = File::create(&written).expect("the folder is ours");
        let errors = file.try_clone().expect("a file can be opened twice");
        command.args(&self.home.before).args(["sh", "-c", line]);
        command.current_dir(self.home.path()).envs(self.home.variables());
        command.env("HOME", self.home.path()).env("PATH", path);
        let started = command.stdin(Stdio::null()).stdout(file).stderr(errors).spawn();
        let mut child = started.expect("it can be started");
        let until = Instant::now() + PATIENCE;
        wait("it ends, or takes too long", || {
            until < Instant::now() || child.try_wait().is_ok_and(|ended| ended.is_some())
        });
        let status = child.try_wait().expect("it is ours");
        let written = fs::read_to_string(written).unwrap_or_default();
        self.said += &format!("{node}$ {line}\n{written}");
        child.kill().unwrap_or_default();
        assert!(status.is_some_and(|status| status.success()), "{status:?} of:\n{}", self.said);
    }

    #[track_caller]
    fn check_that_tasks_ran_everywhere(&self) {
        for node in NODES {
            let has = self.said.contains(&format!(" on {node}\n"));
            assert!(has, "no task ran on `{node}`:\n{}", self.said);
        }
    }
}

#[test]
fn the_guides_commands_work_on_three_nodes() {
    let cluster = Cluster::new(3);
    let home = Home::of_user();
    let mut session = Session::new(&home);
    let lines = lines_of_the_guide(0);
    assert_eq!(lines.len(), 13, "the guide has its commands");
    for (node, line) in lines {
        session.run(cluster.on_node(node), node, &line);
    }
    session.check_that_tasks_ran_everywhere();
    let said = &session.said;
    assert!(said.contains("60 of 60 tasks ended"), "{said}");
    assert!(said.contains("3 nodes up with"), "{said}");
    assert!(said.lines().any(|line| line.matches(":1").count() == 2), "two hosts: {said}");
}

#[test]
fn the_guides_commands_start_daemons_over_ssh() {
    let cluster = Cluster::new(3);
    let home = Home::of_user();
    let sshd = Sshd::new(&cluster, &home);
    let mut session = Session::new(&home);
    let lines = lines_of_the_guide(1);
    assert_eq!(lines.len(), 5, "the guide has its commands");
    for (node, line) in lines {
        session.run(sshd.on_node(node), node, &line);
        // Daemons and tasks go on without the connections.
        wait("no connection is left", || sshd.n_connections() == 0);
    }
    session.check_that_tasks_ran_everywhere();
}

#[test]
fn a_daemon_outlives_the_terminal_of_ssh_from_which_it_was_started() {
    let cluster = Cluster::new(2);
    let home = Home::of_user();
    let sshd = Sshd::new(&cluster, &home);
    let mut session = Session::new(&home);
    session.run(sshd.on_node(1), 1, "sintonia node start --background --port 7411");
    let start = "ssh -tt snt-n2 sintonia node start --background --seed snt-n1:7411 --cores 2";
    session.run(sshd.on_node(1), 1, start);
    wait("no connection is left", || sshd.n_connections() == 0);
    for node in &NODES[..2] {
        wait("both are up", || home.n_up(node) == 2);
    }
    let used = home.used(NODES[0]).unwrap_or_else(|why| panic!("{why}"));
    assert!(used.contains(NODES[1]), "tasks ran on {used:?} only");
    NODES[..2].iter().for_each(|node| home.stop(node).unwrap_or_else(|why| panic!("{why}")));
}
