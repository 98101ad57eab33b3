//! Tests that losses are shown where users look.

use super::daemon::TestCluster;
use std::fs;

/// Fault: a damaged journal was only mentioned in a log, and names were given out twice.
#[test]
fn a_damaged_journal_is_said_until_the_damaged_file_is_removed() {
    let cluster = TestCluster::new();
    let mut node = cluster.start("alpha", &[]);
    node.said(&["submit", "--wait", "--array", "1-3", "--", "true"]);
    node.kill();
    let path = node.state().join("journal");
    let mut journal = fs::read(&path).unwrap();
    let at = journal.len() / 2;
    journal[at..at + 16].iter_mut().for_each(|byte| *byte = !*byte);
    fs::write(&path, journal).unwrap();
    let state = node.state().display().to_string();
    let start = ["node", "start", "--background", "--state", &state, "--name", "alpha"];
    let said = cluster.run(&start);
    said.check_errors(0, "the journal was damaged (");
    let nodes = node.said(&["nodes"]);
    assert!(nodes.contains("the journal was damaged"), "{nodes}");
    let damaged = node.state().join("journal.damaged");
    let troubles = node.json(&["nodes", "--json"])[0]["troubles"].clone();
    assert!(troubles[0].as_str().unwrap().contains(damaged.to_str().unwrap()), "{troubles}");
    let name = node.said(&["submit", "--", "true"]);
    let number: u64 = name.trim().strip_prefix("alpha.").unwrap().parse().unwrap();
    assert!(3 < number, "{name}");
    // Fault: it was mentioned until the node was started again.
    fs::remove_file(damaged).unwrap();
    node.wait("nothing to say of the file", |node| {
        let troubles = node.json(&["nodes", "--json"])[0]["troubles"].to_string();
        !troubles.contains("journal.damaged")
    });
    cluster.run(&["node", "stop", "--now", "--state", &state]);
    node.wait("it has left", |node| node.run(&["nodes"]).code != Some(0));
}

/// Fault: nothing was known of tasks beyond a bound, and nothing mentioned that.
#[test]
fn what_is_no_longer_kept_of_tasks_is_said() {
    let cluster = TestCluster::new();
    let node = cluster.start("alpha", &["--keep-tasks", "2"]);
    node.said(&["submit", "--wait", "--array", "1-6", "--", "true"]);
    node.wait("four are kept in brief", |node| {
        node.json(&["nodes", "--json"])[0]["kept"]["n_brief"] == 4
    });
    let listed = node.run(&["tasks"]);
    assert!(listed.errors.contains("only the outcome is kept: 4 exit 0"), "{}", listed.errors);
    let lines = node.lines(&["tasks", "--json"]);
    let brief = lines.iter().filter(|line| line["is_brief"] == true);
    assert_eq!(brief.map(|line| line["n_tasks"].as_u64().unwrap()).sum::<u64>(), 4, "{lines:?}");
    let waited = node.run(&["tasks", "--wait", "alpha.1-6"]);
    waited.check_errors(0, "for 4 that ended long ago only the outcome");
    let one = node.said(&["tasks", "alpha.1"]);
    assert!(one.contains("exit 0; it ended long ago"), "{one}");
    let nodes = node.said(&["nodes"]);
    assert!(nodes.contains("--keep-tasks"), "{nodes}");
}
