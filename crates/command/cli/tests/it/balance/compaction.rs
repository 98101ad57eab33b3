//! Tests that a journal is compacted while tasks run, and that a daemon killed afterwards loses nothing.

use super::daemon::{Daemon, TestCluster};
use serde_json::Value;
use std::fs;
use std::os::unix::fs::MetadataExt;

/// Tasks that write and end: more than the output of tasks that is kept (64 MiB), and enough for the journal to be
/// compacted (at 32 MiB, and whenever it is twice as long as after the last time) more than twice.
const N_WRITING: usize = 400;
/// Bytes that each of them writes on both of its outputs, and most that are kept of one.
const WRITTEN_BYTES: usize = 180_000;
const OUTPUT_MAX: &str = "196608";
/// Tasks whose output surely fits into what is kept; two tasks run at a time, so that one may end later than the next.
const N_KEPT_SURELY: usize = 180;
/// Tasks after these that wait for a gate; some of them run.
const N_WAITING: usize = 60;

/// Identity of the journal: compaction makes another file.
#[derive(Clone, Copy, Debug, Default)]
struct Journal {
    file: u64,
    n_files: usize,
}

impl Journal {
    fn look(&mut self, node: &Daemon<'_>) {
        let file = fs::metadata(node.state().join("journal")).unwrap().ino();
        self.n_files += usize::from(file != self.file);
        self.file = file;
    }
}

fn script() -> String {
    format!(
        "if [ $SINTONIA_ARRAY_INDEX -le {N_WRITING} ]; then cat text; cat text >&2; else \
           echo $SINTONIA_TASK >> arrived; until [ -e gate ]; do sleep 0.02; done; fi; \
         echo $SINTONIA_ARRAY_INDEX; exit $((SINTONIA_ARRAY_INDEX % 7))"
    )
}

/// Messages of the daemon about the ends of tasks, with their output.
fn ends(node: &Daemon<'_>, first: usize, last: usize) -> Vec<Value> {
    let said = node.run(&["tasks", "--wait", "--json", &format!("alpha.{first}-{last}")]);
    // Some tasks end with another code than 0.
    assert_eq!(said.code, Some(1), "{}", said.errors);
    let lines = said.output.lines();
    let mut ends: Vec<Value> = lines.map(|line| serde_json::from_str(line).unwrap()).collect();
    ends.sort_by_key(|end| end["number"].as_u64());
    ends
}

fn n_in(node: &Daemon<'_>, state: &str) -> usize {
    node.lines(&["tasks", "--state", state, "--json"]).len()
}

/// Number of ended tasks whose output is kept; checks that it is for those that ended last.
#[track_caller]
fn n_with_output(ended: &[Value], text: &str) -> usize {
    let mut n = 0;
    for (end, index) in ended.iter().zip(1_u64..) {
        assert_eq!(end["number"], index);
        assert_eq!(end["outcome"]["exit"], index % 7, "of task {index}");
        let of = |name: &str| end["output"][name].as_str().unwrap();
        let (written, errors) = (of("stdout"), of("stderr"));
        let is_there = !written.is_empty();
        // Texts are not shown when they differ, since they are long.
        assert!(!is_there || written == format!("{text}{index}\n"), "output of task {index}");
        assert!(!is_there || errors == text, "errors of task {index}");
        let is_late = N_WRITING - N_KEPT_SURELY < usize::try_from(index).unwrap();
        assert!(is_there || !is_late, "task {index} has lost its output");
        n += usize::from(is_there);
    }
    n
}

#[test]
fn what_a_killed_daemon_wrote_anew_is_what_it_knew() {
    let cluster = TestCluster::new();
    let text = "0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVW\n";
    let text = text.repeat(WRITTEN_BYTES / text.len());
    fs::write(cluster.path("text"), &text).unwrap();
    let mut node = cluster.start("alpha", &[]);
    let array = format!("1-{}", N_WRITING + N_WAITING);
    let submit = ["submit", "--output-max", OUTPUT_MAX, "--array", &array, "--", "sh", "-c"];
    node.said(&[&submit[..], &[&script()]].concat());
    let mut journal = Journal::default();
    let arrived = || fs::read_to_string(cluster.path("arrived")).unwrap_or_default();
    node.wait("some are at the gate", |node| {
        journal.look(node);
        2 <= arrived().lines().count()
    });
    let before = ends(&node, 1, N_WRITING);
    let running = running(&node);
    assert!(3 <= journal.n_files, "written anew twice at least: {journal:?}");
    let n_kept = n_with_output(&before, &text);
    assert!(n_kept < N_WRITING, "{n_kept} outputs are kept");

    node.kill();
    let n_bytes = fs::metadata(node.state().join("journal")).unwrap().len();
    let n_written = (N_WRITING * 2 * WRITTEN_BYTES) as u64;
    assert!(n_bytes < n_written * 3 / 4, "{n_bytes} bytes, and {n_written} were written");
    node.start(&[]);
    node.wait("what ran goes on", |node| self::running(node) == running);
    let after = ends(&node, 1, N_WRITING);
    assert!(after == before, "of tasks that have ended the same is known");

    fs::write(cluster.path("gate"), "").unwrap();
    let waited = ends(&node, N_WRITING + 1, N_WRITING + N_WAITING);
    assert_eq!(waited.len(), N_WAITING);
    for end in &waited {
        let index = end["number"].as_u64().unwrap();
        assert_eq!(end["outcome"]["exit"], index % 7, "{end}");
        assert_eq!(end["output"]["stdout"], format!("{index}\n"), "{end}");
    }
    assert_eq!(arrived().lines().count(), N_WAITING, "each ran once");
}

/// Tasks that run and wait at the gate; the tasks after them are queued.
#[track_caller]
fn running(node: &Daemon<'_>) -> Vec<String> {
    let mut running = Vec::new();
    node.wait("all are running, queued or ended", |node| {
        let tasks = node.lines(&["tasks", "--state", "running", "--json"]);
        running = tasks.iter().map(|task| task["task"].as_str().unwrap().to_owned()).collect();
        running.len() + n_in(node, "queued") == N_WAITING && n_in(node, "ended") == N_WRITING
    });
    assert!(2 <= running.len() && running.len() < N_WAITING, "{running:?}");
    running
}
