//! Tests of daemons on nodes of their own that share tasks, while daemons and keepers are killed and links fail: no
//! task is lost, and none runs twice at the same time.
//!
//! `CHAOS_SEED` repeats a run. Larger runs: `experiments/bal-cluster/chaos.py`.

mod daemons;

use daemons::{Daemons, N_NODES, TaskLog, eventually};
use launch::Library;
use std::time::{Duration, Instant};

/// Nodes that tasks are submitted to, with the number of tasks: enough of them that tasks move to other nodes.
const HOMES: [(usize, usize); 2] = [(1, 40), (2, 20)];
const N_TASKS: usize = 60;

/// Script of a task. It takes a lock that ends with its last process, so that a second run at the same time is noticed.
/// Some tasks take longer than a lease, so that they are run again.
const SCRIPT: &str = "exec 9> locks/$SINTONIA_TASK; \
    flock -n 9 || echo \"twice $SINTONIA_TASK $SINTONIA_INSTANCE\" >> diary; \
    echo \"begins $SINTONIA_TASK $SINTONIA_INSTANCE\" >> diary; sleep $((SINTONIA_ARRAY_INDEX % 4)); \
    echo \"ends $SINTONIA_TASK $SINTONIA_INSTANCE\" >> diary";

/// Failure on a node, which is repaired later.
#[derive(Clone, Copy, Debug)]
enum NodeFailure {
    Daemon,
    Keeper,
    Both,
    /// The daemon, until the other nodes have given it up.
    Away,
    /// The link, until the other nodes have given the node up and it has given up their tasks.
    Link,
}

const NODE_FAILURES: [NodeFailure; 5] = [
    NodeFailure::Daemon,
    NodeFailure::Keeper,
    NodeFailure::Both,
    NodeFailure::Away,
    NodeFailure::Link,
];

fn inject(daemons: &mut Daemons, failure: NodeFailure, node: usize) {
    if matches!(failure, NodeFailure::Daemon | NodeFailure::Both | NodeFailure::Away) {
        daemons.kill(node);
    }
    if matches!(failure, NodeFailure::Keeper | NodeFailure::Both) {
        daemons.kill_keeper(node);
    }
    let other = node % N_NODES + 1;
    match failure {
        NodeFailure::Daemon | NodeFailure::Both => daemons.start(node),
        NodeFailure::Keeper => {}
        NodeFailure::Away => {
            eventually("a silence", || daemons.n_up(other) < N_NODES);
            daemons.start(node);
        }
        NodeFailure::Link => {
            daemons.cluster.plug(node, false);
            eventually("a silence", || daemons.n_up(other) < N_NODES);
            // Leases run out on one side, then on the other.
            let until = Instant::now() + Duration::from_secs(9);
            eventually("the end of leases", || until < Instant::now());
            daemons.cluster.plug(node, true);
        }
    }
}

fn seed() -> u64 {
    let given = std::env::var("CHAOS_SEED").ok().and_then(|text| text.parse().ok());
    given.unwrap_or_else(|| u64::from(std::process::id()))
}

/// Node of a failure; depends on seed and number only.
fn node_of(seed: u64, number: usize) -> usize {
    let mixed = (seed + number as u64 + 1).wrapping_mul(6_364_136_223_846_793_005);
    usize::try_from((mixed >> 33) % N_NODES as u64).expect("it is one of a few") + 1
}

#[test]
fn no_task_is_lost_or_runs_twice_at_once_on_nodes_that_fail() {
    let seed = seed();
    println!("CHAOS_SEED={seed}");
    let mut daemons = Daemons::new();
    let command = ["--", "sh", "-c", SCRIPT];
    for (node, n_tasks) in HOMES {
        daemons.submit(node, n_tasks, &command);
    }
    for (number, failure) in NODE_FAILURES.into_iter().enumerate() {
        let n_ends = number * N_TASKS / (NODE_FAILURES.len() + 1);
        eventually("some ends", || n_ends <= daemons.task_log().n("ends"));
        let node = node_of(seed, number);
        println!("{:3} ended: {failure:?} of node {node}", daemons.task_log().n("ends"));
        inject(&mut daemons, failure, node);
    }
    let outcomes: Vec<_> = HOMES.iter().map(|(node, n)| daemons.outcomes(*node, *n)).collect();
    check(&daemons.task_log(), &outcomes);
    println!("{N_TASKS} tasks in {} attempts", daemons.task_log().n("begins"));
    for node in 1..=N_NODES {
        eventually("a cluster that is whole again", || daemons.n_up(node) == N_NODES);
    }
}

/// All cores of all nodes, for launchers of MPI, and for two homes that ask for them at the same time.
#[test]
fn tasks_run_on_several_nodes_at_once() {
    let daemons = Daemons::new();
    for library in Library::ALL {
        let variables = daemons.cluster.launcher_variables(library);
        let variables = variables.iter().map(|(name, value)| format!("--env={name}={value}"));
        let variables = variables.collect::<Vec<_>>();
        let mut words = vec!["submit", "--wait", "--nodes", "3", "--cpus", "2"];
        words.extend(variables.iter().map(String::as_str));
        let launcher = library.launcher().display().to_string();
        words.extend(["--", &launcher, "sh", "-c", "hostname"]);
        let said = daemons.ask(1, &words).unwrap_or_default();
        let mut hosts = said.lines().collect::<Vec<_>>();
        hosts.sort_unstable();
        let expected = [1, 1, 2, 2, 3, 3].map(|node| daemons.cluster.node(node));
        assert_eq!(hosts, expected, "{library:?}");
    }
    let script = "mkdir all || echo twice >> diary; sleep 0.1; rmdir all; echo ends >> diary";
    let words = ["--nodes", "3", "--cpus", "2", "--", "sh", "-c", script];
    for (node, n_tasks) in [(2, 4), (3, 4)] {
        daemons.submit(node, n_tasks, &words);
    }
    for node in [2, 3] {
        let outcomes = daemons.outcomes(node, 4);
        assert!(outcomes.iter().all(|(_, outcome)| outcome == r#"{"exit":0}"#), "{outcomes:?}");
    }
    let log = daemons.task_log();
    assert_eq!((log.n("twice"), log.n("ends")), (0, 8));
}

#[track_caller]
fn check(log: &TaskLog, outcomes: &[Vec<(String, String)>]) {
    assert_eq!(log.n("twice"), 0, "{log:?}");
    for (task, outcome) in outcomes.iter().flatten() {
        assert_eq!(outcome, r#"{"exit":0}"#, "{task}");
        assert!(log.has("ends", task), "{task} is said to have ended: {log:?}");
    }
    let n_tasks = outcomes.iter().flatten().count();
    assert_eq!(n_tasks, N_TASKS);
}
