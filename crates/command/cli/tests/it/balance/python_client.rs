//! Test of the Python package with real daemons: `python/tests` runs against three of them.

use super::daemon::TestCluster;
use std::path::Path;
use std::process::Command;

/// Options with which the first two daemons find each other.
const MEETING: [&str; 6] = ["--bind", "127.0.0.1", "--meet", "meet", "--key", "cluster.key"];

#[test]
fn python_submits_commands_and_functions() {
    let cluster = TestCluster::new();
    std::fs::create_dir(cluster.path("meet")).unwrap();
    assert_eq!(cluster.run(&["node", "key", "cluster.key"]).code, Some(0));
    let pair = ["alpha", "beta"].map(|name| cluster.start(name, &MEETING));
    pair[0].wait("both are up", |node| node.said(&["nodes"]).contains("2 nodes up"));
    // The tests kill this one and start it again; it is stopped with the value here.
    let alone = cluster.start("gamma", &[]);
    let package = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../python");
    let package = package.canonicalize().expect("it lies beside the crates");
    let python = launch::place::target().join("venv-mpi4py/bin/python");
    assert!(python.exists(), "there is no `{}`; run `scripts/setup.sh test`", python.display());
    let nodes = [&pair[0], &pair[1], &alone].map(|node| node.state().display().to_string());
    // As users have it, and not as a machine for tests may.
    let tests = Command::new(python)
        .env_remove("PYTHONUNBUFFERED")
        .args(["-B", "-m", "unittest", "tests.test_parts", "tests.test_client"])
        .current_dir(package)
        .env("SINTONIA_TEST_PROGRAM", launch::place::built("sintonia"))
        .env("SINTONIA_TEST_NODES", nodes.join(":"))
        .env("HOME", cluster.path(""))
        .env_remove("SINTONIA_NODE")
        .output()
        .unwrap();
    let said = String::from_utf8_lossy(&tests.stderr);
    assert!(tests.status.success(), "{said}\n{}", pair[0].logged());
    assert!(said.contains("OK") && !said.contains("skipped"), "{said}");
}
