//! Tests of submitting, listing, canceling and explaining tasks on one node.

use super::daemon::TestCluster;

#[test]
fn a_command_is_handed_over_and_looked_at() {
    let cluster = TestCluster::new();
    let node = cluster.start("alpha", &[]);
    let script = "echo out $X; echo err >&2; pwd; exit 3";
    let name = node.said(&["submit", "--env", "X=7", "--name", "first", "--", "sh", "-c", script]);
    assert_eq!(name, "alpha.1\n");
    let waited = node.run(&["tasks", "alpha.1", "--wait"]);
    let here = cluster.path("").canonicalize().unwrap().display().to_string();
    waited.check_output(3, &format!("out 7\n{}\n", here.trim_end_matches('/')));
    assert_eq!(waited.errors, "err\n");
    let task = node.json(&["tasks", "alpha.1", "--json"]);
    assert_eq!(["title", "node"].map(|key| &task[key]), ["first", "alpha"]);
    assert_eq!(task["outcome"]["exit"], 3);
    assert_eq!(task["output"]["stderr"], "err\n");
    let shown = node.said(&["tasks", "alpha.1"]);
    assert!(shown.starts_with("alpha.1  exit 3  on alpha, ran "), "{shown}");
    assert!(shown.contains("out 7"), "{shown}");
    let listed = node.said(&["tasks"]);
    assert!(listed.contains("alpha.1") && listed.contains("first"), "{listed}");
    let why = node.said(&["explain", "alpha.1"]);
    assert!(why.contains("started on `alpha`") && why.contains("submitted"), "{why}");
    let why = node.json(&["explain", "alpha.1", "--json"]);
    assert_eq!(why["steps"][0]["what"].as_str(), Some("submitted"));
}

#[test]
fn an_array_has_an_index_for_each_task_and_one_code() {
    let cluster = TestCluster::new();
    let node = cluster.start("alpha", &[]);
    let script = "echo $SINTONIA_ARRAY_INDEX; test $SINTONIA_ARRAY_INDEX != 13";
    let words = ["submit", "--wait", "--array", "10-15", "--", "sh", "-c", script];
    let said = node.run(&words);
    let mut lines: Vec<_> = said.output.lines().collect();
    lines.sort_unstable();
    assert_eq!(lines, ["10", "11", "12", "13", "14", "15"]);
    for part in ["alpha.4: exit 1 on alpha", "6 of 6 tasks ended in ", "1 failed"] {
        said.check_errors(1, part);
    }
    let lines = node.lines(&["submit", "--wait", "--json", "--array", "1-3", "--", "true"]);
    assert_eq!(lines.len(), 4);
    assert_eq!(lines[0]["tasks"].as_str(), Some("alpha.7-9"));
    assert!(lines[1..].iter().all(|line| line["outcome"]["exit"] == 0), "{lines:?}");
    let failed = node.lines(&["tasks", "--json"]);
    let failed: Vec<_> = failed.iter().filter(|task| task["outcome"]["exit"] == 1).collect();
    assert_eq!((failed.len(), failed[0]["array_index"].as_u64()), (1, Some(13)));
}

#[test]
fn whole_output_goes_into_a_folder() {
    let cluster = TestCluster::new();
    let node = cluster.start("alpha", &[]);
    let script = "seq 100000; echo $SINTONIA_TASK >&2";
    let words = ["submit", "--wait", "--output", "out/put", "--", "sh", "-c", script];
    node.run(&words).check_output(0, "");
    let read = |name: &str| std::fs::read_to_string(cluster.path(name)).unwrap();
    assert_eq!(read("out/put/alpha.1.out").lines().count(), 100_000);
    assert_eq!(read("out/put/alpha.1.err"), "alpha.1\n");
}

#[test]
fn what_is_too_much_is_dropped_and_said() {
    let cluster = TestCluster::new();
    let node = cluster.start("alpha", &[]);
    let said = node.run(&["submit", "--wait", "--output-max", "10", "--", "seq", "1000"]);
    said.check_output(0, "1\n2\n3\n[sintonia: 3883 bytes were not kept]\n1000\n");
    said.check_errors(0, "3883 bytes of its output were not kept");
}

#[test]
fn other_variables_only_where_they_are_wanted() {
    let cluster = TestCluster::new();
    let node = cluster.start("alpha", &[]);
    let submit = |words: &[&str]| {
        let words = [&["submit", "--wait"], words, &["--", "env"]].concat();
        let output = node.command(&words).env("OWN", "here").output().unwrap();
        String::from_utf8(output.stdout).unwrap()
    };
    assert!(submit(&[]).contains("OWN=here\n"));
    let clean = submit(&["--clean-env", "--env", "OTHER=a=b"]);
    assert!(!clean.contains("OWN=") && clean.contains("OTHER=a=b\n"), "{clean}");
    assert!(clean.contains("PATH="), "{clean}");
}

#[test]
fn tasks_are_canceled_by_name_by_number_and_all() {
    let cluster = TestCluster::new();
    let node = cluster.start("alpha", &[]);
    node.said(&["submit", "--name", "a", "--array", "1-4", "--", "sleep", "1000"]);
    node.said(&["submit", "--name", "b", "--array", "1-4", "--", "sleep", "1000"]);
    node.said(&["submit", "--name", "c", "--", "sleep", "1000"]);
    node.wait("two run", |node| node.n_running() == 2);
    let waits = node.said(&["explain", "alpha.9"]);
    assert!(waits.contains("alpha.9") && waits.contains("queued"), "{waits}");
    assert_eq!(node.said(&["cancel", "--name", "b"]), "4 tasks are ended\n");
    assert_eq!(node.said(&["cancel", "alpha.1", "alpha.3-4"]), "3 tasks are ended\n");
    // A running task has ended only once the daemon has recorded it.
    node.run(&["tasks", "alpha.1", "--wait"]);
    assert_eq!(node.json(&["cancel", "--all", "--json"])["n_tasks"].as_u64(), Some(2));
    let waited = node.run(&["tasks", "alpha.1-9", "--wait"]);
    assert_eq!(waited.code, Some(1), "{}", waited.errors);
    assert_eq!(node.run(&["tasks", "alpha.9", "--wait"]).code, Some(130));
    let ended = node.lines(&["tasks", "--json"]);
    assert!(ended.iter().all(|task| task["outcome"] == "canceled"), "{ended:?}");
    assert_eq!(node.said(&["cancel", "--all"]), "no task: all were over before\n");
}

#[test]
fn a_long_task_behind_short_ones_has_its_core_for_itself() {
    let cluster = TestCluster::new();
    let node = cluster.start("alpha", &[]);
    // A third task beside two long ones finds no core.
    let script = "test $SINTONIA_ARRAY_INDEX -le 60 && exit; \
        mkdir a && core=a || { mkdir b && core=b; } || exit 7; sleep 0.3; rmdir $core";
    let words = ["submit", "--wait", "--array", "1-66", "--", "sh", "-c", script];
    node.said(&words);
}

#[test]
fn a_task_may_submit_further_ones() {
    let cluster = TestCluster::new();
    let node = cluster.start("alpha", &[]);
    let program = launch::place::built("sintonia").display().to_string();
    let script = "\"$0\" submit --wait -- sh -c 'echo $SINTONIA_TASK'; echo $SINTONIA_TASK";
    let said = node.run(&["submit", "--wait", "--", "sh", "-c", script, &program]);
    said.check_output(0, "alpha.2\nalpha.1\n");
}

#[test]
fn nodes_are_a_table_and_json() {
    let cluster = TestCluster::new();
    let node = cluster.start("alpha", &["--policy", "event", "--domain", "random:3"]);
    let table = node.said(&["nodes"]);
    assert!(table.contains("1 node up with 2 cores"), "{table}");
    let nodes = node.json(&["nodes", "--json"]);
    assert_eq!(["node", "policy"].map(|key| &nodes[0][key]), ["alpha", "event@random:3"]);
    assert_eq!(nodes[0]["n_cores"], 2);
    let colored = node.said(&["--color", "always", "nodes"]);
    assert!(colored.contains("\u{1b}[32mup"), "{colored}");
}

#[track_caller]
fn check(words: &str, code: i32, sentence: &str) {
    check_words(&words.split(' ').collect::<Vec<_>>(), code, sentence);
}

#[track_caller]
fn check_words(words: &[&str], code: i32, sentence: &str) {
    let cluster = TestCluster::new();
    let node = cluster.start("alpha", &[]);
    let said = node.run(words);
    said.check_errors(code, sentence);
    assert_eq!(said.output, "");
}

#[test]
fn what_cannot_be_is_said_with_a_remedy() {
    check("tasks alpha.7", 109, "`alpha.7`");
    check("cancel alpha.7", 109, "`alpha.7` was not submitted");
    check("cancel beta.7", 109, "no node `beta` is known: `sintonia nodes` lists");
    check("cancel --name x", 109, "there is no task called `x`");
    check("cancel", 2, "<TASK>");
    check("explain alpha.7", 109, "`alpha.7`");
    check("explain alpha", 2, "`alpha` is not a task name; write `NODE.NUMBER`");
    check("submit", 2, "<COMMAND>");
    check("submit --array 5-2 -- true", 2, "the array `5-2` is not valid");
    check("submit --max-fails 5 -- true", 2, "--array");
    check("submit --retry 1 --retry-delay 301 -- true", 2, "from 0 to 300");
    check("submit --array 5- -- true", 2, "the array `5-` is not valid: write ranges");
    check("submit --cpus 0 -- true", 2, "write a number of cores");
    check("submit --memory 8X -- true", 2, "write an amount such as 512M");
    check("submit --variant gpus=x -- true", 2, "`x` is no number of GPUs");
    check(
        "submit --at-once 2 -- true",
        2,
        "`--max-fails` and `--at-once` bound the tasks of an array",
    );
    check("submit --each-line nowhere -- true", 2, "`nowhere` for `--each-line` cannot be read");
    check("submit --after-ok alpha.7 -- true", 109, "`alpha.7` was not submitted");
    check("submit-file nowhere", 2, "the job file `nowhere` cannot be read");
    check("jobs nothing", 109, "there is no job `nothing`");
    check("hold alpha.7", 109, "`alpha.7` was not submitted");
    check("submit --env X -- true", 2, "write NAME=VALUE");
    check("submit --cwd nowhere -- true", 2, "there is no folder `nowhere` for `--cwd`");
    let too_much = "have the whole output written to a folder";
    check("submit --output-max 9999999 -- true", 2, too_much);
    let no_page = "the daemon serves no page: start it with `sintonia node start --web";
    check("nodes --web", 108, no_page);
    let unknown = "program `no-such-command` is not in the `PATH`";
    check("submit --wait -- no-such-command", 127, unknown);
    let words = ["submit", "--wait", "--", "sh", "-c", "kill -9 $$"];
    check_words(&words, 137, "signal 9 on alpha");
}

#[test]
fn without_a_daemon_it_is_said_how_to_start_one() {
    let cluster = TestCluster::new();
    for words in ["nodes", "submit -- true", "node stop", "nodes --live"] {
        let said = cluster.run(&words.split(' ').collect::<Vec<_>>());
        said.check_errors(108, "start one with `sintonia node start --background");
        assert_eq!(said.errors.lines().count(), 1);
    }
}
