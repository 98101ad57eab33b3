//! Tests of tasks that fail, on real daemons: counted and listed with their reasons, tried again, the end of their
//! array, and run again on request.

use super::daemon::{Daemon, TestCluster};
use super::web::get;

/// Script of an array whose even tasks fail.
const EVEN_FAIL: &str = "test $(($SINTONIA_ARRAY_INDEX % 2)) = 1 || { echo no input $SINTONIA_ARRAY_INDEX >&2; exit 3; }";

/// Script of a task that fails the first `n_failures` times.
fn fails_at_first(n_failures: u32) -> String {
    format!("echo $SINTONIA_INSTANCE >> ran; test {n_failures} -lt $SINTONIA_INSTANCE || exit 5")
}

fn ran(cluster: &TestCluster) -> String {
    std::fs::read_to_string(cluster.path("ran")).unwrap_or_default()
}

/// Fault: `nodes`, the page and the metrics showed only how many tasks had ended.
#[test]
fn failures_are_counted_wherever_one_looks() {
    let cluster = TestCluster::new();
    let node = cluster.start("alpha", &["--web"]);
    let said = node.run(&["submit", "--wait", "--array", "1-5", "--", "sh", "-c", EVEN_FAIL]);
    said.check_errors(1, "5 of 5 tasks ended in ");
    said.check_errors(1, ", 2 failed; `sintonia tasks alpha.1-5 --failed");
    said.check_errors(1, "`sintonia rerun alpha.1-5");
    node.said(&["submit", "--array", "1-9", "--", "sleep", "1000"]);
    assert_eq!(node.said(&["cancel", "--all"]), "9 tasks are ended\n");
    node.run(&["tasks", "alpha.6-14", "--wait"]).check_errors(1, ", 9 canceled\n");
    let counts = node.json(&["nodes", "--json"])[0]["counts"].clone();
    let count = |name: &str| counts[name].as_u64();
    let names = ["n_submitted", "n_succeeded", "n_failed", "n_canceled", "n_retried"];
    assert_eq!(names.map(count), [14, 3, 2, 9, 0].map(Some), "{counts}");
    let table = node.said(&["nodes"]);
    assert!(table.contains("0 queued, 3 succeeded, 2 failed, 9 canceled"), "{table}");
    let address = node.said(&["nodes", "--web"]);
    let metrics = address.trim().replace("/?key=", "/metrics?key=");
    node.wait("the page counts them", |_| {
        let metrics = get(&metrics);
        let has = |line: &str| metrics.contains(&format!("\nsintonia_{line}\n"));
        has("tasks_failed_total{node=\"alpha\"} 2") && has("tasks_canceled_total{node=\"alpha\"} 9")
    });
    assert!(get(&address).contains("\"n_failed\":2"));
}

#[test]
fn what_failed_is_listed_with_its_reason() {
    let cluster = TestCluster::new();
    let node = cluster.start("alpha", &[]);
    node.run(&["submit", "--wait", "--quiet", "--array", "1-4", "--", "sh", "-c", EVEN_FAIL])
        .check_errors(1, "alpha.2: exit 3 on alpha: no input 2");
    node.run(&["submit", "--wait", "--", "no-such-command"]);
    let failed = node.said(&["tasks", "--failed"]);
    assert_eq!(failed.lines().count(), 4, "{failed}");
    for part in ["alpha.2  exit 3", "no input 2", "no input 4", "alpha.5  not started  program"] {
        assert!(failed.contains(part), "{failed}");
    }
    let lines = node.lines(&["tasks", "alpha.1-4", "--state", "failed", "--json"]);
    let why: Vec<_> = lines.iter().map(|task| task["why"].as_str()).collect();
    assert_eq!(why, [Some("no input 2"), Some("no input 4")]);
    let n_of = |state: &str| node.lines(&["tasks", "--json", "--state", state]).len();
    assert_eq!(["succeeded", "failed", "canceled", "lost", "ended"].map(n_of), [2, 3, 0, 0, 5]);
    let shown = node.said(&["tasks", "alpha.2"]);
    let second = shown.lines().nth(1);
    assert!(second.is_some_and(|line| line.trim() == "! no input 2"), "{shown}");
}

#[test]
fn a_task_that_fails_is_tried_again_until_it_succeeds() {
    let cluster = TestCluster::new();
    let node = cluster.start("alpha", &[]);
    let script = fails_at_first(2);
    let words =
        ["submit", "--wait", "--retry", "3", "--retry-delay", "0", "--", "sh", "-c", &script];
    assert_eq!(node.run(&words).code, Some(0));
    assert_eq!(ran(&cluster), "1\n2\n3\n");
    let why = node.said(&["explain", "alpha.1"]);
    assert!(why.contains("attempt 2 of 4 failed on `alpha`: exit 5; tried again after"), "{why}");
    let words = ["submit", "--wait", "--retry", "1", "--retry-delay", "0", "--", "false"];
    assert_eq!(node.run(&words).code, Some(1));
    let why = node.said(&["explain", "alpha.2"]);
    assert!(why.contains("all 2 attempts that `--retry` allows failed"), "{why}");
    let counts = node.json(&["nodes", "--json"])[0]["counts"].clone();
    let names = ["n_succeeded", "n_failed", "n_retried"];
    assert_eq!(names.map(|name| counts[name].as_u64()), [1, 1, 3].map(Some), "{counts}");
}

/// The daemon is killed while a task waits before it is tried again, and while it runs after that.
#[test]
fn retries_go_on_after_the_daemon_was_killed() {
    let cluster = TestCluster::new();
    let mut node = cluster.start("alpha", &[]);
    let script = "echo $SINTONIA_INSTANCE >> ran; test $SINTONIA_INSTANCE = 1 && exit 5; \
                  while [ ! -e gate ]; do sleep 0.02; done; exit 6";
    node.said(&["submit", "--retry", "1", "--retry-delay", "2", "--", "sh", "-c", script]);
    let is_delayed = |node: &Daemon<'_>| {
        let why = node.said(&["explain", "alpha.1"]);
        why.contains("attempt 1 of 2 failed on `alpha`: exit 5; it is tried again in")
    };
    node.wait("it waits", is_delayed);
    node.kill();
    node.start(&[]);
    assert!(
        is_delayed(&node) || ran(&cluster) == "1\n2\n",
        "{}",
        node.said(&["explain", "alpha.1"])
    );
    node.wait("it is tried again", |_| ran(&cluster) == "1\n2\n");
    node.kill();
    node.start(&[]);
    assert_eq!(node.n_running(), 1);
    std::fs::write(cluster.path("gate"), "").unwrap();
    assert_eq!(node.run(&["tasks", "alpha.1", "--wait"]).code, Some(6));
    assert_eq!(ran(&cluster), "1\n2\n", "once each");
}

#[test]
fn an_array_ends_when_too_many_of_its_tasks_failed() {
    let cluster = TestCluster::new();
    let node = cluster.start("alpha", &[]);
    let script = "test $SINTONIA_ARRAY_INDEX = 1 || exit 1; exec sleep 1000";
    let words =
        ["submit", "--wait", "--array", "1-50", "--max-fails", "2", "--", "sh", "-c", script];
    let said = node.run(&words);
    let reason = "47 canceled (3 tasks of its array failed, and `--max-fails` allows 2)";
    said.check_errors(1, &format!(", 3 failed, {reason}"));
    for task in ["alpha.1", "alpha.50"] {
        let why = node.said(&["explain", task]);
        assert!(why.contains("it was canceled since 3 tasks of its array failed"), "{why}");
    }
    let canceled = node.lines(&["tasks", "--state", "canceled", "--json"]);
    assert_eq!(canceled.len(), 47);
    assert_eq!(canceled[9]["why"], "3 tasks of its array failed, and `--max-fails` allows 2");
}

#[test]
fn tasks_run_again_with_their_indices() {
    let cluster = TestCluster::new();
    let node = cluster.start("alpha", &[]);
    let script = "echo $X $SINTONIA_ARRAY_INDEX; test -e gate -o $SINTONIA_ARRAY_INDEX -lt 12 \
                  -o $SINTONIA_ARRAY_INDEX = 13";
    let words =
        ["submit", "--wait", "--quiet", "--array", "10-15", "--env", "X=7", "--name", "sweep"];
    node.run(&[&words[..], &["--", "sh", "-c", script]].concat()).check_errors(1, ", 3 failed");
    std::fs::write(cluster.path("gate"), "").unwrap();
    assert_eq!(node.said(&["rerun", "alpha.1-6"]), "alpha.7-9\n");
    node.run(&["tasks", "alpha.7-9", "--wait"]).check_errors(0, "all with exit code 0");
    let again = node.lines(&["tasks", "alpha.7-9", "--json"]);
    let indices: Vec<_> = again.iter().map(|task| task["array_index"].as_u64()).collect();
    assert_eq!(indices, [12, 14, 15].map(Some));
    assert!(again.iter().all(|task| task["title"] == "sweep"));
    let again = node.run(&["rerun", "alpha.3", "--wait"]);
    again.check_output(0, "7 12\n");
    let lines = node.lines(&["rerun", "alpha.1-2", "--all", "--wait", "--json"]);
    assert_eq!((lines.len(), lines[0]["tasks"].as_str()), (3, Some("alpha.11-12")));
    let nothing = "no task of `alpha.1` failed; `--canceled` and `--all` take more";
    node.run(&["rerun", "alpha.1"]).check_errors(109, nothing);
    node.run(&["rerun", "alpha.99"]).check_errors(109, "`alpha.99` was not submitted");
}

/// Tasks that were lost too often have failed, and the name of the option before `--restarts` goes on.
#[test]
fn tasks_that_were_lost_run_again_on_request() {
    let cluster = TestCluster::new();
    let mut node = cluster.start("alpha", &["--keep-tasks", "2"]);
    node.said(&["submit", "--retries", "0", "--", "sh", "-c", "test -e gate || sleep 1000"]);
    node.wait("it runs", |node| node.n_running() == 1);
    node.kill_with_keeper();
    node.start(&["--keep-tasks", "2"]);
    node.wait("it is lost", |node| node.lines(&["tasks", "--state", "lost", "--json"]).len() == 1);
    let failed = node.said(&["tasks", "--failed"]);
    assert!(failed.contains("lost too often"), "{failed}");
    let counts = node.json(&["nodes", "--json"])[0]["counts"].clone();
    assert_eq!(["n_failed", "n_lost"].map(|name| counts[name].as_u64()), [1, 1].map(Some));
    std::fs::write(cluster.path("gate"), "").unwrap();
    let again = node.said(&["rerun", "alpha.1"]);
    assert_eq!(node.run(&["tasks", again.trim(), "--wait"]).code, Some(0));
    node.said(&["submit", "--wait", "--quiet", "--array", "1-2", "--", "true"]);
    let said = node.run(&["rerun", "alpha.1"]);
    said.check_errors(109, "only the outcome is kept, not the command");
    said.check_errors(109, "`node start --keep-tasks N` keeps more");
}
