//! Small C programs, unfolded and composed.

use super::*;
use crate::compose::{ComposedTime, Machine, Network, evaluate};
use crate::{SourceFile, read};

const LATENCY_S: f64 = 1e-6;
const S_PER_BYTE: f64 = 1e-9;

/// Returns a program around these lines.
fn source(lines: &str) -> String {
    format!(
        "#include <mpi.h>\n\
         int main(int argc, char **argv)\n{{\n\
         int rank, size;\n\
         double x[1000];\n\
         MPI_Request requests[8];\n\
         MPI_Init(&argc, &argv);\n\
         MPI_Comm_rank(MPI_COMM_WORLD, &rank);\n\
         MPI_Comm_size(MPI_COMM_WORLD, &size);\n\
         int n = atoi(argv[1]);\n\
         {lines}\n\
         MPI_Finalize();\n\
         return 0;\n}}\n"
    )
}

fn graph_of(lines: &str) -> Graph {
    read(&[SourceFile { name: "program.c", text: &source(lines) }]).expect("a graph")
}

/// Composes with half a second of computation before sends over all passages, and `n = 10`.
fn composed(graph: &Graph, n_ranks: usize, seed: Option<u64>) -> (ComposedTime, Vec<String>) {
    let value_of = |name: &str, _| (name == "n").then_some(10.0);
    let amount_of = |_: &Role, node: &GraphNode, amount| {
        let label = node.label().unwrap_or_default();
        (amount == Amount::Computation && (label.ends_with("_Send") || label.ends_with("_Ssend")))
            .then_some(0.5)
    };
    let setting = Setting { n_ranks, value_of: &value_of, amount_of: &amount_of, seed };
    let unfolded = unfold(graph, &setting).expect("a program");
    let machine = Machine::of(Network::uniform(LATENCY_S, S_PER_BYTE));
    (evaluate(&unfolded.program, &machine).expect("a time"), unfolded.notes)
}

#[track_caller]
fn check(lines: &str, n_ranks: usize, expected_s: f64) {
    let (outcome, notes) = composed(&graph_of(lines), n_ranks, None);
    assert_eq!(notes, [""; 0]);
    let total_s = outcome.total_s;
    assert!((total_s - expected_s).abs() < 1e-9, "{total_s}, not {expected_s}");
}

fn message_s(bytes: f64) -> f64 {
    LATENCY_S + bytes * S_PER_BYTE
}

#[test]
fn a_master_sends_to_as_many_workers_as_there_are() {
    let lines = "if (rank == 0) {\n\
        for (int dest = 1; dest < size; dest++)\n\
        MPI_Ssend(x, n, MPI_DOUBLE, dest, 1, MPI_COMM_WORLD);\n\
        } else {\n\
        MPI_Recv(x, n, MPI_DOUBLE, 0, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);\n}";
    for n_ranks in [2, 5] {
        // Half a second of computation over all passages, and p t_send(80).
        let n_workers = f64::from(u32::try_from(n_ranks).expect("few") - 1);
        check(lines, n_ranks, 0.5 + n_workers * message_s(80.0));
    }
}

#[test]
fn loops_are_passed_as_often_as_their_count_says() {
    let lines = "for (int i = 0; i < n; i++)\n\
        MPI_Allreduce(MPI_IN_PLACE, x, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);";
    check(lines, 4, 10.0 * 2.0 * message_s(8.0));
}

#[test]
fn what_is_started_is_waited_for_by_the_name_of_its_array() {
    let lines = "int right = (rank + 1) % size;\nint left = (rank + size - 1) % size;\n\
        MPI_Irecv(x, n, MPI_DOUBLE, left, 0, MPI_COMM_WORLD, &requests[0]);\n\
        MPI_Isend(x, n, MPI_DOUBLE, right, 0, MPI_COMM_WORLD, &requests[1]);\n\
        MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);";
    check(lines, 3, message_s(80.0));
}

#[test]
fn what_a_region_computes_is_shared_by_its_passages() {
    let lines = "if (rank == 0) {\nfor (int i = 0; i < n; i++)\n\
        MPI_Send(x, 1, MPI_DOUBLE, 1, 0, MPI_COMM_WORLD);\n} else {\n\
        for (int i = 0; i < n; i++)\n\
        MPI_Recv(x, 1, MPI_DOUBLE, 0, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);\n}";
    let (outcome, _) = composed(&graph_of(lines), 2, None);
    assert!((outcome.ranks[0].compute_s - 0.5).abs() < 1e-12);
    assert!((outcome.ranks[1].end_s - 0.5).abs() < 1e-4, "{}", outcome.ranks[1].end_s);
    assert!(outcome.regions.iter().any(|region| region.name.ends_with("MPI_Recv")));
}

/// Returns a graph with ten passages of a branch that takes the arm with a barrier in 3 of 10.
fn branching() -> Graph {
    let lines = "for (int i = 0; i < n; i++) {\nif (converges(x))\n\
        MPI_Barrier(MPI_COMM_WORLD);\n}";
    let mut graph = graph_of(lines);
    fn set(nodes: &mut [GraphNode]) {
        for node in nodes {
            if let crate::GraphNodeKind::Branch(branch) = &mut node.kind {
                branch.arms[0].probability = Some(0.3);
                branch.arms[1].probability = Some(0.7);
            }
            node.bodies_mut().into_iter().for_each(|body| set(body));
        }
    }
    graph.roles.iter_mut().for_each(|role| set(&mut role.body));
    graph
}

#[test]
fn a_branch_is_taken_in_its_share_of_the_passages() {
    let (outcome, notes) = composed(&branching(), 2, None);
    assert_eq!(notes, [""; 0]);
    assert!((outcome.total_s - 3.0 * LATENCY_S).abs() < 1e-12, "{}", outcome.total_s);
}

#[test]
fn drawn_branches_have_their_share_on_the_whole_and_differ() {
    let graph = branching();
    let totals: Vec<f64> =
        (0..200).map(|seed| composed(&graph, 2, Some(seed)).0.total_s / LATENCY_S).collect();
    let mean = totals.iter().sum::<f64>() / 200.0;
    assert!((mean - 3.0).abs() < 0.4, "{mean}");
    assert!(totals.iter().any(|total| *total < 2.5) && totals.iter().any(|total| 3.5 < *total));
}

#[test]
fn roles_take_the_same_arms() {
    let lines = "if (rank == 0)\nMPI_Send(x, 1, MPI_DOUBLE, 1, 0, MPI_COMM_WORLD);\nelse\n\
        MPI_Recv(x, 1, MPI_DOUBLE, 0, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);\n\
        for (int i = 0; i < n; i++)\nif (converges(x))\nMPI_Barrier(MPI_COMM_WORLD);";
    let graph = graph_of(lines);
    assert!(1 < graph.roles.len());
    for seed in [None, Some(1), Some(2), Some(3)] {
        // If ranks took different arms, they would wait for each other.
        let (outcome, notes) = composed(&graph, 2, seed);
        assert!(0.5 < outcome.total_s);
        assert!(notes[0].contains("the probability of `converges(x)` is unknown"), "{notes:?}");
    }
}

#[test]
fn what_is_not_known_is_named() {
    let lines = "MPI_Send(x, n, MPI_DOUBLE, partner(), 0, MPI_COMM_WORLD);";
    let setting =
        Setting { n_ranks: 2, value_of: &|_, _| None, amount_of: &|_, _, _| None, seed: None };
    let error = unfold(&graph_of(lines), &setting).expect_err("an unknown peer");
    assert!(error.to_string().contains("MPI_Send"), "{error}");
    let lines = "for (int i = 0; i < m; i++)\nMPI_Barrier(MPI_COMM_WORLD);";
    let error = unfold(&graph_of(lines), &setting).expect_err("an unknown count");
    assert!(error.to_string().contains("`m`"), "{error}");
}
