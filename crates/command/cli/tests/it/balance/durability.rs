//! Tests that a task whose name was returned still exists after the daemon is killed.
//!
//! Only the daemon is killed: the system goes on and keeps what was written, so that `--fsync never` loses nothing
//! either. A loss of the machine's power is not tested.

use super::daemon::{Daemon, TestCluster};
use serde_json::Value;
use std::collections::BTreeMap;
use std::fs;
use std::io::{BufRead, BufReader};
use std::process::{Child, Stdio};

const N_ROUNDS: usize = 4;
const N_CLIENTS: usize = 6;
const ARRAY: &str = "1-20";
const N_TASKS: usize = 20;
/// Writes little enough for a single write, so that lines do not mix.
const SCRIPT: &str = "echo $SINTONIA_TASK >> ran";

/// Starts several clients that submit at the same time.
fn submit(node: &Daemon<'_>) -> Vec<Child> {
    let words = ["submit", "--json", "--array", ARRAY, "--", "sh", "-c", SCRIPT];
    let start = |_| {
        let mut command = node.command(&words);
        command.stdout(Stdio::piped()).stderr(Stdio::null()).spawn().unwrap()
    };
    (0..N_CLIENTS).map(start).collect()
}

/// Tasks whose names clients got when the daemon is killed right after the first answer.
fn promised(node: &mut Daemon<'_>) -> Vec<String> {
    let mut clients = submit(node);
    let mut answer = String::new();
    BufReader::new(clients[0].stdout.take().unwrap()).read_line(&mut answer).unwrap();
    node.kill();
    let others = clients.split_off(1).into_iter();
    let others = others.map(|client| client.wait_with_output().unwrap());
    let others = others.filter(|output| output.status.success());
    let answers = others.map(|output| String::from_utf8(output.stdout).unwrap());
    let answers: Vec<String> = std::iter::once(answer).chain(answers).collect();
    assert!(clients[0].wait().unwrap().success());
    let tasks = |answer: &String| {
        let said: Value = serde_json::from_str(answer).expect("a line of JSON");
        said["tasks"].as_str().unwrap().to_owned()
    };
    answers.iter().map(tasks).collect()
}

/// Number of times that each task ran.
fn runs(cluster: &TestCluster) -> BTreeMap<String, usize> {
    let mut runs = BTreeMap::new();
    for task in fs::read_to_string(cluster.path("ran")).unwrap().lines() {
        *runs.entry(task.to_owned()).or_default() += 1;
    }
    runs
}

#[track_caller]
fn check(fsync: &str) {
    let cluster = TestCluster::new();
    let words = ["--fsync", fsync];
    let mut node = cluster.start("alpha", &words);
    let mut arrays = Vec::new();
    for _ in 0..N_ROUNDS {
        arrays.extend(promised(&mut node));
        node.start(&words);
    }
    let mut ended = Vec::new();
    for array in &arrays {
        ended.extend(node.lines(&["tasks", "--wait", "--json", array]));
    }
    assert_eq!(ended.len(), arrays.len() * N_TASKS, "{arrays:?}");
    let runs = runs(&cluster);
    for end in &ended {
        assert_eq!(end["outcome"]["exit"], 0, "{end}");
        let task = end["task"].as_str().unwrap();
        // The keeper outlives the daemon, so that the next daemon knows the tasks that were started.
        assert_eq!(runs.get(task), Some(&1), "{task} of {arrays:?} did not run once: {end}");
    }
}

#[test]
fn of_tasks_that_were_answered_none_is_lost_when_each_record_is_forced_to_disk() {
    check("always");
}

#[test]
fn of_tasks_that_were_answered_none_is_lost_when_groups_of_records_are() {
    check("batch");
}

#[test]
fn of_tasks_that_were_answered_none_is_lost_when_the_system_writes_as_it_likes() {
    check("never");
}
