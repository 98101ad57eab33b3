//! Tests of three daemons that share out tasks.

use super::daemon::{Daemon, TestCluster};
use std::collections::BTreeSet;
use std::io::{BufRead, BufReader};
use std::process::Stdio;

const NAMES: [&str; 3] = ["alpha", "beta", "gamma"];

/// Options with which daemons find each other.
const MEETING: [&str; 6] = ["--bind", "127.0.0.1", "--meet", "meet", "--key", "cluster.key"];

/// Starts three daemons that have found each other.
#[track_caller]
fn three<'a>(cluster: &'a TestCluster, words: &[&str]) -> Vec<Daemon<'a>> {
    std::fs::create_dir(cluster.path("meet")).unwrap();
    if !cluster.path("cluster.key").exists() {
        assert_eq!(cluster.run(&["node", "key", "cluster.key"]).code, Some(0));
    }
    let start = |name: &&str| cluster.start(name, &[&MEETING, words].concat());
    let nodes: Vec<_> = NAMES.iter().map(start).collect();
    for node in &nodes {
        node.wait("all are up", |node| {
            let nodes = node.json(&["nodes", "--json"]);
            let up = |node: &&serde_json::Value| node["presence"] == "up";
            nodes.as_array().is_some_and(|nodes| nodes.iter().filter(up).count() == 3)
        });
    }
    nodes
}

#[test]
fn tasks_of_one_node_run_on_all() {
    let cluster = TestCluster::new();
    let nodes = three(&cluster, &[]);
    let script = "sleep 0.3; echo $SINTONIA_ARRAY_INDEX";
    let words = ["submit", "--wait", "--json", "--array", "1-30", "--", "sh", "-c", script];
    let ended = nodes[0].lines(&words);
    let used: BTreeSet<_> = ended[1..].iter().filter_map(|task| task["node"].as_str()).collect();
    assert_eq!(used.into_iter().collect::<Vec<_>>(), NAMES);
    assert_eq!(ended.len(), 31);
    let elsewhere = ended[1..].iter().find(|task| task["node"] != "alpha").unwrap();
    let name = elsewhere["task"].as_str().unwrap();
    let task = nodes[0].json(&["tasks", name, "--json"]);
    assert_eq!(task["output"]["stdout"], format!("{}\n", task["array_index"]));
    let why = nodes[0].said(&["explain", name]);
    let node = elsewhere["node"].as_str().unwrap();
    assert!(why.contains(&format!("taken by `{node}`")), "{why}");
}

#[test]
fn what_tasks_write_is_followed_from_any_node() {
    let cluster = TestCluster::new();
    let nodes = three(&cluster, &[]);
    let script = "echo first; until [ -e go ]; do sleep 0.05; done; echo bad >&2; echo last";
    let name = nodes[0].said(&["submit", "--array", "1-6", "--", "sh", "-c", script]);
    let mut command = nodes[1].command(&["tasks", name.trim(), "--follow"]);
    let mut follow = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let mut lines = BufReader::new(follow.stdout.take().unwrap()).lines().map(Result::unwrap);
    let of_all = |what: &str| (1..=6).map(|n| format!("alpha.{n}: {what}")).collect::<Vec<_>>();
    let next_six = |lines: &mut dyn Iterator<Item = String>| {
        let mut found = lines.take(6).collect::<Vec<_>>();
        found.sort();
        found
    };
    assert_eq!(next_six(&mut lines), of_all("first"), "they still run");
    std::fs::write(cluster.path("go"), "").unwrap();
    assert_eq!(next_six(&mut lines), of_all("last"));
    assert_eq!(lines.next(), None);
    let said = follow.wait_with_output().unwrap();
    let mut errors = String::from_utf8(said.stderr).unwrap();
    errors.truncate(errors.find("sintonia:").unwrap());
    let mut errors = errors.lines().collect::<Vec<_>>();
    errors.sort_unstable();
    assert_eq!(
        (said.status.code(), errors),
        (Some(0), of_all("bad").iter().map(String::as_str).collect())
    );
    let found = nodes[2].said(&["tasks", name.trim(), "--grep", "fir"]);
    assert_eq!(found.lines().collect::<Vec<_>>(), of_all("first"));
    // The last ones are asked for first.
    let last = nodes[2].lines(&["tasks", "--home", "alpha", "--last", "2", "--json"]);
    let last = last.iter().map(|task| task["task"].as_str().unwrap()).collect::<Vec<_>>();
    assert_eq!(last, ["alpha.5", "alpha.6"]);
    let out = cluster.path("out").display().to_string();
    let words =
        ["submit", "--follow", "--output", &out, "--", "sh", "-c", "echo to a file; echo e >&2"];
    let said = nodes[0].run(&words);
    assert_eq!((said.output.as_str(), said.errors.as_str()), ("to a file\n", "e\n"));
}

#[test]
fn what_fails_elsewhere_is_tried_again_by_its_home() {
    let cluster = TestCluster::new();
    let nodes = three(&cluster, &[]);
    // A command that names the task, so that two attempts at one task at the same time would be seen.
    let script = "mkdir $SINTONIA_TASK || exit 9; sleep 0.2; rmdir $SINTONIA_TASK; test $SINTONIA_INSTANCE -gt 1";
    let words =
        ["submit", "--wait", "--json", "--array", "1-12", "--retry", "9", "--retry-delay", "0"];
    let ended = nodes[0].lines(&[&words[..], &["--", "sh", "-c", script]].concat());
    assert!(ended[1..].iter().all(|task| task["outcome"]["exit"] == 0), "{ended:?}");
    let counts = |node: &Daemon<'_>, name: &str| {
        let nodes = node.json(&["nodes", "--json"]);
        let counts = |node: &serde_json::Value| node["counts"][name].as_u64().unwrap_or(0);
        nodes.as_array().unwrap().iter().map(counts).collect::<Vec<_>>()
    };
    assert_eq!(counts(&nodes[1], "n_succeeded"), [12, 0, 0], "its home counts");
    assert_eq!(counts(&nodes[1], "n_retried"), [12, 0, 0]);
    let lines = nodes[2].lines(&["rerun", "alpha.3-4", "--all", "--json"]);
    assert_eq!(lines[0]["tasks"].as_str(), Some("alpha.13-14"));
    assert_eq!(nodes[1].run(&["tasks", "alpha.13-14", "--wait"]).code, Some(0));
}

#[test]
fn any_node_answers_for_all() {
    let cluster = TestCluster::new();
    let nodes = three(&cluster, &["--policy", "event", "--domain", "overlapping:2:1"]);
    let name = nodes[0].said(&["submit", "--name", "far", "--", "echo", "hello"]);
    assert_eq!(name, "alpha.1\n");
    nodes[2].run(&["tasks", "alpha.1", "--wait"]).check_output(0, "hello\n");
    assert_eq!(nodes[1].lines(&["tasks", "--home", "alpha", "--name", "far", "--json"]).len(), 1);
    assert!(nodes[1].said(&["explain", "alpha.1"]).contains("submitted"));
    nodes[1].run(&["explain", "delta.1"]).check_errors(109, "delta");
}

#[test]
fn a_task_is_canceled_wherever_it_runs() {
    let cluster = TestCluster::new();
    let nodes = three(&cluster, &[]);
    nodes[0].said(&["submit", "--array", "1-6", "--", "sleep", "1000"]);
    nodes[0].wait("all run", |node| {
        let nodes = node.json(&["nodes", "--json"]);
        let running = |node: &serde_json::Value| node["n_running"].as_u64().unwrap_or(0);
        nodes.as_array().unwrap().iter().map(running).sum::<u64>() == 6
    });
    assert_eq!(nodes[1].said(&["cancel", "alpha.1-6"]), "6 tasks are ended\n");
    let waited = nodes[0].run(&["tasks", "alpha.1-6", "--wait", "--json"]);
    assert_eq!(waited.code, Some(1), "{}", waited.errors);
    assert_eq!(waited.output.matches("\"outcome\":\"canceled\"").count(), 6, "{}", waited.output);
}

#[test]
fn a_node_that_was_killed_is_silent_and_its_tasks_run_elsewhere() {
    let cluster = TestCluster::new();
    let mut nodes = three(&cluster, &["--lease", "2"]);
    nodes[0].said(&["submit", "--array", "1-6", "--", "sleep", "1000"]);
    let has_some = |node: &Daemon<'_>| node.json(&["nodes", "--json"])[2]["n_running"] == 2;
    nodes[0].wait("gamma has some", has_some);
    nodes[2].kill();
    let is_silent = |node: &Daemon<'_>| node.json(&["nodes", "--json"])[2]["presence"] == "silent";
    nodes[0].wait("gamma is silent", is_silent);
    nodes[0].wait("its tasks are given anew", |node| {
        node.lines(&["tasks", "--json"]).iter().all(|task| task["node"] != "gamma")
    });
}

#[test]
fn a_name_is_given_once() {
    let cluster = TestCluster::new();
    let nodes = three(&cluster, &[]);
    let state = cluster.path("twin").display().to_string();
    let words = ["node", "start", "--state", &state, "--name", "beta", "--speed", "1"];
    let said = cluster.run(&[&words[..], &MEETING].concat());
    said.check_errors(108, "`beta`");
    assert!(nodes[1].said(&["nodes"]).contains("3 nodes up"));
}

#[test]
fn a_node_with_another_key_is_no_member() {
    let cluster = TestCluster::new();
    let nodes = three(&cluster, &[]);
    assert_eq!(cluster.run(&["node", "key", "other.key"]).code, Some(0));
    let stranger = cluster.start("delta", &[&MEETING[..5], &["other.key"]].concat());
    stranger.wait("it says so", |node| node.logged().contains("key"));
    assert!(stranger.said(&["nodes"]).contains("1 node up"));
    assert!(!nodes[0].said(&["nodes"]).contains("delta"));
}
