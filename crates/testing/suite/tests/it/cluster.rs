//! Tests with ranks on several nodes, each with a name and a network of its own.

use crate::levers;
use run_record::summary::RankTotals;
use suite::library::Library;
use suite::{Cluster, TestProgram, Watched, watch};

/// Times, in ms, that the ranks of both nodes are useful in an iteration.
pub(super) const ARGUMENTS: [&str; 5] = ["10", "40", "40", "20", "20"];

/// Runs two ranks on each node; those of node 2 are useful for half of the time.
#[track_caller]
fn run(library: Library) -> Watched {
    let program = TestProgram::c("imbalance").built(library);
    let cluster = Cluster::new(2);
    watch(&cluster.launch(library, 2, &program).args(ARGUMENTS))
}

#[track_caller]
fn check(library: Library) {
    check_ranks(&run(library));
}

/// Checks two ranks on each of two nodes, of which those of node 2 were useful for half of the time.
#[track_caller]
pub(super) fn check_ranks(watched: &Watched) {
    let Watched { summary, ended, .. } = watched;
    assert_eq!(ended.code, 0, "{}", ended.stderr);
    assert_eq!((summary.n_ranks, summary.n_nodes), (4, 2), "{}", ended.stderr);
    let nodes: Vec<&str> = summary.ranks.iter().map(|rank| rank.node.as_str()).collect();
    assert_eq!(nodes, ["snt-n1", "snt-n1", "snt-n2", "snt-n2"]);
    assert_eq!(summary.operations["MPI_Barrier"].calls, 40);
    assert!(summary.tool.warnings.is_empty(), "{:?}", summary.tool.warnings);

    // Computed from the times in the record, so that no time is measured here.
    let computing_s: Vec<f64> = summary.ranks.iter().map(RankTotals::computing_s).collect();
    let node_s = [computing_s[0] + computing_s[1], computing_s[2] + computing_s[3]];
    let longest_s = computing_s.iter().copied().fold(0.0, f64::max);
    let (mean_s, busiest_s) = ((node_s[0] + node_s[1]) / 4.0, node_s[0].max(node_s[1]) / 2.0);
    let between_nodes = mean_s / busiest_s;
    assert!(between_nodes < 0.9, "node 2 sleeps half as long: {node_s:?}");
    // Where the four ranks wait for cores so much that nothing is left for communication, the balance takes the rest.
    if summary.pop.communication_efficiency < 1.0 {
        check_near("in nodes", summary.pop.load_balance_in, busiest_s / longest_s);
        check_near("between nodes", summary.pop.load_balance_out, between_nodes);
    }
}

#[track_caller]
fn check_near(what: &str, seen: f64, expected: f64) {
    assert!((seen - expected).abs() < 0.05, "load balance {what}: {seen}, expected {expected}");
}

#[test]
fn open_mpi_4_on_two_nodes() {
    check(Library::OpenMpi4);
}

#[test]
fn mpich_4_on_two_nodes() {
    check(Library::Mpich4);
}

#[test]
fn open_mpi_5_on_two_nodes() {
    check(Library::OpenMpi5);
}

#[test]
fn mpich_5_on_two_nodes() {
    check(Library::Mpich5);
}

#[test]
fn levers_are_set_on_two_nodes() {
    let cluster = Cluster::new(2);
    levers::check_on_two_nodes(|n, program| cluster.launch(Library::Mpich4, n, program));
}
