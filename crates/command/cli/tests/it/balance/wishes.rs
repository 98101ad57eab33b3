//! Tests of tasks that ask for more than a core, and of those that wait for others, on real daemons.

use super::daemon::TestCluster;

/// A job file whose parts write into one diary, in an order that their waits determine.
const PIPELINE: &str = r#"
name = "pipeline"
[[task]]
id = "report"
command = "echo report >> diary"
after_ok = ["solve"]
[[task]]
id = "solve"
command = ["sh", "-c", "sleep 0.1; echo solve %{index} >> diary"]
array = "1-5:2,9"
cpus = "1-2"
after_ok = ["mesh"]
[[task]]
id = "mesh"
command = "sleep 0.1; echo mesh >> diary"
time_limit = "1m"
[[task]]
id = "never"
command = "echo never >> diary"
after_failed = ["mesh"]
"#;

#[test]
fn a_job_file_runs_in_the_order_of_its_waits() {
    let cluster = TestCluster::new();
    let node = cluster.start("alpha", &[]);
    std::fs::write(cluster.path("job.toml"), PIPELINE).unwrap();
    assert_eq!(
        node.said(&["submit-file", "--check", "job.toml"]),
        "`job.toml` can be submitted: 7 tasks in 4 entries\n"
    );
    let said = node.run(&["submit-file", "job.toml", "--wait"]);
    said.check_errors(1, "7 of 7 tasks ended in ");
    said.check_errors(1, ", 1 canceled");
    let diary = std::fs::read_to_string(cluster.path("diary")).unwrap();
    let mut lines = diary.lines().collect::<Vec<_>>();
    assert_eq!((lines[0], lines[5]), ("mesh", "report"));
    lines.sort_unstable();
    assert_eq!(lines[2..], ["solve 1", "solve 3", "solve 5", "solve 9"]);
    let why = node.json(&["tasks", "--state", "canceled", "--json"])["why"].clone();
    assert_eq!(why, "it was to run when `alpha.1` has failed, which ended otherwise: exit 0");
    let job = node.json(&["jobs", "pipeline", "--json"]);
    let counts = ["n_tasks", "n_succeeded", "n_canceled"].map(|name| job[name].as_u64());
    assert_eq!(counts, [Some(7), Some(6), Some(1)], "{job}");
    assert!(node.said(&["jobs"]).contains("pipeline"));
    std::fs::write(
        cluster.path("job.toml"),
        PIPELINE.replace("ok = [\"mesh\"]", "ok = [\"mess\"]"),
    )
    .unwrap();
    let said = node.run(&["submit-file", "job.toml"]);
    said.check_errors(2, "line 12: there is no task with this `id` in the file");
    said.check_errors(2, "after_ok = [\"mess\"]\n   |             ^^^^^^");
}

/// Each line is a task; what a task asks for is what it is told that it has; limits are kept; held tasks wait.
#[test]
fn tasks_get_what_they_ask_for_and_no_more() {
    let cluster = TestCluster::new();
    let node = cluster.start("alpha", &["--resource", "license=1"]);
    std::fs::write(cluster.path("lines"), "one\n\ntwo words\n").unwrap();
    let script = "echo {} $SINTONIA_CPUS $SINTONIA_RESOURCE_LICENSE >> got";
    let words =
        ["submit", "--wait", "--each-line", "lines", "--cpus", "2", "--resource", "license=1"];
    node.said(&[&words[..], &["--", "sh", "-c", script]].concat());
    let mut got = std::fs::read_to_string(cluster.path("got")).unwrap();
    got = got
        .lines()
        .map(str::to_owned)
        .collect::<std::collections::BTreeSet<_>>()
        .into_iter()
        .collect();
    assert_eq!(got, "one 2 0two words 2 0");
    let late = node.run(&["submit", "--wait", "--time-limit", "200ms", "--", "sleep", "99"]);
    late.check_errors(124, "time limit on alpha");
    let refused = node.run(&["submit", "--resource", "license=2", "--", "true"]);
    refused.check_errors(109, "no node of the cluster has 1 core, 2 license for a task");
    node.said(&["submit", "--hold", "--priority", "-1", "--", "true"]);
    assert_eq!(node.said(&["hold", "alpha.4"]), "0 tasks are held\n");
    let why = node.json(&["tasks", "alpha.4", "--json"])["why"].clone();
    assert_eq!(why, "held until it is released");
    assert_eq!(node.said(&["release", "alpha.4"]), "1 task is released\n");
    node.run(&["tasks", "alpha.4", "--wait"]).check_output(0, "");
    let table = node.said(&["nodes", "--resources"]);
    assert!(table.contains("0/2") && table.contains("license 0/1"), "{table}");
}

/// A node that is to leave takes only tasks that can end before; what ended long ago is forgotten but for its outcome.
#[test]
fn tasks_are_not_started_on_a_node_that_ends_sooner() {
    let cluster = TestCluster::new();
    let node = cluster.start("alpha", &["--ends-in", "1h", "--keep-for", "1s"]);
    node.said(&["submit", "--time-request", "2h", "--", "true"]);
    let words = ["submit", "--wait", "--time-request", "30m", "--", "echo", "soon"];
    node.run(&words).check_output(0, "soon\n");
    let why = node.said(&["explain", "alpha.1"]);
    assert!(why.contains("it asks for 7200 s, and `alpha` ends sooner"), "{why}");
    node.said(&["cancel", "alpha.1"]);
    node.wait("it is forgotten", |node| {
        node.json(&["nodes", "--json"])[0]["kept"]["n_brief"].as_u64() == Some(2)
    });
    assert!(node.said(&["tasks", "alpha.2"]).contains("it ended long ago"));
}

/// A node that lacks what a task asks for gives it to one that has it, although by its cores it is idle.
#[test]
fn a_task_runs_on_the_node_that_has_what_it_asks_for() {
    let cluster = TestCluster::new();
    std::fs::create_dir(cluster.path("meet")).unwrap();
    assert_eq!(cluster.run(&["node", "key", "cluster.key"]).code, Some(0));
    let meeting = ["--bind", "127.0.0.1", "--meet", "meet", "--key", "cluster.key"];
    let alpha = cluster.start("alpha", &meeting);
    let beta = cluster.start("beta", &[&meeting[..], &["--gpus", "2"]].concat());
    alpha.wait("both know each other", |node| {
        let nodes = node.json(&["nodes", "--json"]);
        nodes.as_array().is_some_and(|nodes| {
            nodes.len() == 2 && nodes.iter().all(|node| node["presence"] == "up")
        })
    });
    let words = ["submit", "--wait", "--array", "1-6", "--gpus", "1", "--json"];
    let lines =
        alpha.lines(&[&words[..], &["--", "sh", "-c", "echo $CUDA_VISIBLE_DEVICES"]].concat());
    let ended = lines.iter().skip(1).collect::<Vec<_>>();
    assert_eq!(ended.len(), 6);
    for task in ended {
        assert_eq!(task["node"], "beta", "{task}");
        let gpu = task["output"]["stdout"].as_str().unwrap();
        assert!(["0\n", "1\n"].contains(&gpu), "{task}");
    }
    let why = alpha.said(&["explain", "alpha.1"]);
    assert!(why.contains("it ended on `beta`"), "{why}");
    assert!(beta.said(&["nodes", "--resources"]).contains("0/2"));
}
