//! Tests of how daemons begin and end: in the background, by signals, by force.

use super::daemon::{Daemon, TestCluster};
use crate::sintonia::{CommandOutput, wait_until};
use rustix::process::{Pid, Signal, kill_process};
use std::process::{Child, Stdio};

fn signal(pid: u32, signal: Signal) {
    kill_process(Pid::from_raw(pid.cast_signed()).unwrap(), signal).unwrap();
}

/// Script of a task that ends when the file `gate` is there.
const AT_GATE: &str = "while [ ! -e gate ]; do sleep 0.02; done";

/// Starts a command that asks a daemon, with pipes.
fn start(node: &Daemon<'_>, words: &[&str]) -> Child {
    let mut command = node.command(words);
    command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap()
}

/// Names and words of the processes of this cluster: the daemon, its keeper and its guard.
fn processes(cluster: &TestCluster) -> Vec<(String, String)> {
    let folder = cluster.path("");
    let process = |entry: std::fs::DirEntry| {
        let words = std::fs::read(entry.path().join("cmdline")).ok()?;
        let words = String::from_utf8_lossy(&words).replace('\0', " ");
        let name = std::fs::read_to_string(entry.path().join("comm")).ok()?;
        let is_here =
            || std::fs::read_link(entry.path().join("cwd")).is_ok_and(|cwd| cwd == folder);
        let is_ours = words.contains(&folder.display().to_string()) || is_here();
        (is_ours && words.contains(" node ")).then(|| (name.trim().to_owned(), words))
    };
    std::fs::read_dir("/proc").unwrap().flatten().filter_map(process).collect()
}

/// These processes were called `exe` in the list of processes, so that they could not be recognized.
#[track_caller]
fn check_names(cluster: &TestCluster) {
    let is_named = |(name, words): &(String, String)| {
        name == "sintonia" && words.starts_with("sintonia node ")
    };
    let are_named = || {
        let processes = processes(cluster);
        processes.len() == 3 && processes.iter().all(is_named)
    };
    assert!(wait_until(are_named), "{:?}", processes(cluster));
}

#[test]
fn in_the_background_it_answers_when_the_command_returns() {
    let cluster = TestCluster::new();
    let said = cluster.run(&["node", "start", "--background", "--name", "alpha", "--speed", "1"]);
    said.check_errors(0, "node `alpha` is up");
    assert_eq!(cluster.run(&["submit", "--wait", "--", "true"]).code, Some(0));
    check_names(&cluster);
    for again in [&["node", "start", "--background"][..], &["node", "start"]] {
        cluster.run(again).check_errors(108, "node `alpha` already serves");
    }
    assert_eq!(cluster.run(&["node", "stop"]).code, Some(0));
    assert_eq!(cluster.run(&["nodes"]).code, Some(108));
}

#[test]
fn in_the_background_it_says_why_it_does_not_start() {
    let cluster = TestCluster::new();
    let words = "node start --background --speed 1 --seed x --key missing";
    let said = cluster.run(&words.split(' ').collect::<Vec<_>>());
    said.check_errors(108, "cannot read the key `missing`");
}

#[test]
fn it_leaves_when_what_runs_has_ended_and_runs_the_rest_later() {
    let cluster = TestCluster::new();
    let mut node = cluster.start("alpha", &[]);
    node.said(&["submit", "--array", "1-4", "--", "sh", "-c", AT_GATE]);
    node.wait("two run", |node| node.n_running() == 2);
    signal(node.pid(), Signal::TERM);
    node.wait("it leaves", |node| node.logged().contains("leaving when the tasks"));
    std::fs::write(cluster.path("gate"), "").unwrap();
    assert_eq!(node.ended(), Some(0), "{}", node.logged());
    node.start(&[]);
    assert_eq!(node.run(&["tasks", "alpha.1-4", "--wait"]).code, Some(0));
}

#[test]
fn the_second_signal_ends_what_runs_which_runs_again_later() {
    let cluster = TestCluster::new();
    let mut node = cluster.start("alpha", &[]);
    node.said(&["submit", "--", "sh", "-c", AT_GATE]);
    node.wait("it runs", |node| node.n_running() == 1);
    signal(node.pid(), Signal::INT);
    node.wait("it leaves", |node| node.logged().contains("leaving when the tasks"));
    signal(node.pid(), Signal::INT);
    assert_eq!(node.ended(), Some(0), "{}", node.logged());
    node.start(&[]);
    std::fs::write(cluster.path("gate"), "").unwrap();
    assert_eq!(node.run(&["tasks", "alpha.1", "--wait"]).code, Some(0));
}

#[test]
fn a_client_learns_of_tasks_that_ended_while_the_daemon_was_dead() {
    let cluster = TestCluster::new();
    let mut node = cluster.start("alpha", &[]);
    let done = cluster.path("done");
    let script = format!("{AT_GATE}; echo x; echo >> done; exit 5");
    let wait = start(&node, &["submit", "--wait", "--", "sh", "-c", &script]);
    node.wait("it runs", |node| node.n_running() == 1);
    // A task may run before its name is on disk and returned; names are returned in order.
    node.said(&["submit", "--", "true"]);
    node.kill();
    std::fs::write(cluster.path("gate"), "").unwrap();
    node.wait("it ended without daemon", |_| done.exists());
    node.start(&[]);
    let said = CommandOutput::from(wait.wait_with_output().unwrap());
    said.check_output(5, "x\n");
    said.check_errors(5, "waiting for it to come back");
    assert_eq!(std::fs::read_to_string(done).unwrap(), "\n", "it ran once");
}

#[test]
fn the_end_of_a_wait_leaves_the_tasks_and_names_the_next_command() {
    let cluster = TestCluster::new();
    let node = cluster.start("alpha", &[]);
    let wait = start(&node, &["submit", "--wait", "--", "sleep", "1000"]);
    node.wait("it runs", |node| node.n_running() == 1);
    signal(wait.id(), Signal::INT);
    let output = wait.wait_with_output().unwrap();
    let errors = String::from_utf8(output.stderr).unwrap();
    assert_eq!(std::os::unix::process::ExitStatusExt::signal(&output.status), Some(2), "{errors}");
    assert!(errors.contains("sintonia tasks alpha.1 --wait --node"), "{errors}");
    assert!(errors.contains("sintonia cancel alpha.1 --node"), "{errors}");
    assert_eq!(node.n_running(), 1);
    assert_eq!(node.said(&["cancel", "alpha.1"]), "1 task is ended\n");
}

#[test]
fn a_key_is_made_once() {
    let cluster = TestCluster::new();
    cluster.run(&["node", "key", "cluster.key"]).check_output(0, "cluster.key\n");
    let key = std::fs::read_to_string(cluster.path("cluster.key")).unwrap();
    let again = cluster.run(&["node", "key", "cluster.key"]);
    again.check_errors(102, "a key that is there is never replaced");
    assert_eq!(std::fs::read_to_string(cluster.path("cluster.key")).unwrap(), key);
    let usual = cluster.run(&["node", "key"]);
    assert!(usual.output.ends_with(".config/sintonia/node.key\n"), "{}", usual.output);
}
