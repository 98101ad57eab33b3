//! Tests of ordinary users and their rights. They need root, which runs commands as two users.

use super::daemon::{TestCluster, setpriv};
use std::os::unix::fs::MetadataExt;

const OWNER: u32 = 65_534;
const OTHER: u32 = 65_533;

#[test]
fn an_ordinary_user_needs_nothing_else() {
    let Some(cluster) = TestCluster::of_user(OWNER) else { return };
    let node = cluster.start("alpha", &["--web", "0"]);
    node.run(&["submit", "--wait", "--", "id", "-u"]).check_output(0, "65534\n");
    assert_eq!(std::fs::metadata(node.state()).unwrap().mode() & 0o777, 0o700);
}

#[test]
fn other_users_can_neither_submit_nor_read_nor_stop() {
    let Some(cluster) = TestCluster::of_user(OWNER) else { return };
    let node = cluster.start("alpha", &["--web", "0"]);
    node.said(&["submit", "--name", "secret", "--", "sleep", "1000"]);
    let state = node.state().display().to_string();
    let check = |words: &[&str]| {
        let before = setpriv(OTHER);
        let output = cluster.command_of(&before, words).output().unwrap();
        let said = crate::sintonia::CommandOutput::from(output);
        said.check_errors(108, "belongs to another user");
        assert!(!said.output.contains("secret"), "{}", said.output);
    };
    check(&["submit", "--node", &state, "--", "true"]);
    check(&["tasks", "--node", &state]);
    check(&["nodes", "--node", &state]);
    check(&["explain", "alpha.1", "--node", &state]);
    check(&["cancel", "--all", "--node", &state]);
    check(&["node", "stop", "--now", "--state", &state]);
    let page = node.said(&["nodes", "--web"]);
    let without_key = page.split('?').next().unwrap();
    assert!(super::web::get(without_key).starts_with("HTTP/1.1 401"));
    assert_eq!(node.n_running(), 1);
}

#[test]
fn a_key_that_others_can_read_is_refused() {
    use std::os::unix::fs::PermissionsExt;
    let cluster = TestCluster::new();
    assert_eq!(cluster.run(&["node", "key", "cluster.key"]).code, Some(0));
    let path = cluster.path("cluster.key");
    std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o644)).unwrap();
    let said =
        cluster.run(&["node", "start", "--port", "0", "--key", "cluster.key", "--speed", "1"]);
    said.check_errors(108, "run `chmod 600 cluster.key`");
}
