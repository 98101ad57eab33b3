//! Graphs from runs, and runs overlaid on graphs.

use crate::said::{graph, roles};
use program_graph::{
    Graph, GraphNode, GraphNodeKind, Origin, RecordedRun, RecordedSite, Segment, SourceLocation,
    from_run, overlay,
};

const TEXT: &str = "int main() {\n\
    int rank; MPI_Comm_rank(MPI_COMM_WORLD, &rank);\n\
    for (int i = 0; i < n; i++) {\n\
    if (rank == 0) {\n\
    MPI_Send(a, 4, MPI_INT, 1, 0, c);\n\
    if (is_odd(i))\n\
    MPI_Ssend(a, 4, MPI_INT, 1, 0, c);\n\
    } else\n\
    MPI_Recv(a, 4, MPI_INT, 0,\n\
    0, c, s);\n\
    }\n\
    MPI_Barrier(c);\n}\n";

fn site(id: u32, operation: &str, line: u32) -> RecordedSite {
    let location =
        SourceLocation { file: "/build/src/program.c".into(), line, ..SourceLocation::default() };
    RecordedSite { id, operation: operation.into(), location }
}

fn segment(rank: u32, from: Option<u32>, to: u32, calls: u64) -> Segment {
    let seconds = f64::from(u32::try_from(calls).unwrap_or(0));
    Segment { rank, from, to, calls, compute_s: seconds, mpi_s: 2.0 * seconds, bytes: 16 * calls }
}

/// Rank 0 sends ten times, three of these twice; rank 1 receives.
fn run() -> RecordedRun {
    RecordedRun {
        n_ranks: 2,
        sites: vec![
            site(0, "MPI_Barrier", 12),
            site(1, "MPI_Send", 5),
            site(2, "MPI_Ssend", 7),
            site(3, "MPI_Recv", 10),
            site(4, "MPI_Wait", 40),
        ],
        segments: vec![
            segment(0, None, 1, 1),
            segment(0, Some(1), 1, 6),
            segment(0, Some(1), 2, 3),
            segment(0, Some(2), 1, 3),
            segment(0, Some(1), 0, 1),
            segment(1, None, 3, 1),
            segment(1, Some(3), 3, 12),
            segment(1, Some(3), 0, 1),
        ],
    }
}

fn find(graph: &Graph, role: usize, wanted: impl Fn(&GraphNode) -> bool) -> &GraphNode {
    let mut nodes = graph.roles[role].body.iter().flat_map(GraphNode::all);
    nodes.find(|node| wanted(node)).expect("there is such a node")
}

fn mpi(graph: &Graph, role: usize) -> &GraphNode {
    find(graph, role, |node| matches!(node.kind, GraphNodeKind::Mpi(_)))
}

/// Returns the measured iterations of the first loop of a role.
fn iterations(graph: &Graph, role: usize) -> Option<f64> {
    find(graph, role, |node| matches!(node.kind, GraphNodeKind::Loop(_))).measured?.iterations
}

/// Returns the measured shares of the arms of the branch with this condition in the first role.
fn shares(graph: &Graph, condition: &str) -> Vec<Option<f64>> {
    let nodes = graph.roles[0].body.iter().flat_map(GraphNode::all);
    let arms = nodes.filter_map(|node| match &node.kind {
        GraphNodeKind::Branch(branch) if branch.condition == condition => Some(&branch.arms),
        _ => None,
    });
    arms.flatten().map(|arm| arm.probability).collect()
}

#[test]
fn a_run_has_roles_regions_and_loops() {
    let graph = from_run(&run());
    assert_eq!(
        roles(&graph),
        ["master: loop(i){Send Ssend} Barrier", "workers: loop(i){Recv} Barrier"]
    );
    let recv = mpi(&graph, 1);
    let measured = recv.measured.expect("it was measured");
    assert_eq!((measured.count, measured.n_ranks, measured.bytes), (13, 1, 208));
    assert_eq!(recv.label().as_deref(), Some("program.c:10 MPI_Recv"));
    assert_eq!(iterations(&graph, 1), Some(13.0));
}

#[test]
fn ranks_with_the_same_call_sites_are_a_role() {
    let mut run = run();
    run.n_ranks = 4;
    run.segments.extend([
        segment(2, None, 3, 1),
        segment(2, Some(3), 0, 1),
        segment(3, None, 4, 1),
    ]);
    let names: Vec<String> = from_run(&run).roles.into_iter().map(|role| role.name).collect();
    assert_eq!(names, ["rank 0", "ranks 1-2", "rank 3"]);
    assert!(from_run(&RecordedRun::default()).roles.is_empty());
}

#[test]
fn a_run_is_laid_over_its_sources() {
    let graph = overlay(&graph(TEXT), &run());
    assert_eq!((graph.origin, graph.n_ranks), (Origin::Both, Some(2)));
    assert_eq!(graph.roles[1].measured_ranks, [1]);
    let send = find(&graph, 0, |node| node.label().as_deref() == Some("program.c:5 MPI_Send"));
    assert_eq!(send.measured.map(|it| (it.count, it.n_places)), Some((10, 1)));
    // A call of several lines matches by any of them.
    let recv = find(&graph, 1, |node| node.label().as_deref() == Some("program.c:9 MPI_Recv"));
    assert_eq!(recv.measured.map(|it| it.count), Some(13));
    assert_eq!(iterations(&graph, 0), Some(10.0));
    assert_eq!(shares(&graph, "is_odd(i)"), [Some(0.3), Some(0.7)]);
    assert!(graph.warnings.iter().any(|it| it.line == 40 && it.text.contains("MPI_Wait")));
}

#[test]
fn a_line_that_stands_in_two_places_says_so() {
    let text = "void f(void) {\nMPI_Barrier(c); }\nint main() { f(); if (x) f(); }\n";
    let run = RecordedRun {
        n_ranks: 1,
        sites: vec![site(0, "MPI_Barrier", 2)],
        segments: vec![segment(0, None, 0, 1), segment(0, Some(0), 0, 1)],
    };
    let graph = overlay(&graph(text), &run);
    assert_eq!(mpi(&graph, 0).measured.map(|it| (it.count, it.n_places)), Some((2, 2)));
    assert_eq!(shares(&graph, "x")[0], None);
}

#[test]
fn a_run_without_lines_says_what_to_do() {
    let mut run = run();
    run.sites.iter_mut().for_each(|site| site.location = SourceLocation::default());
    let warnings = overlay(&graph(TEXT), &run).warnings;
    assert_eq!(warnings.len(), 1);
    assert!(warnings[0].text.contains("`-g`"), "{}", warnings[0]);
}

#[test]
fn an_arm_with_a_loop_is_counted_by_how_often_it_is_come_to() {
    let text = "int main() {\nMPI_Barrier(c);\nif (x) {\nfor (;;) {\nMPI_Recv(a, 4, MPI_INT, 0, 0, c, s);\n\
        if (a[0]) break; }\n}\nfor (int i = 0; i < 2; i++)\nif (y)\nMPI_Send(a, 4, MPI_INT, 0, 0, c);\n}\n";
    let run = RecordedRun {
        n_ranks: 2,
        sites: vec![site(0, "MPI_Barrier", 2), site(1, "MPI_Recv", 5), site(2, "MPI_Send", 10)],
        segments: vec![
            segment(0, None, 0, 1),
            segment(0, Some(0), 1, 1),
            segment(0, Some(1), 1, 5),
            segment(0, Some(1), 2, 1),
            segment(1, None, 0, 1),
        ],
    };
    let graph = overlay(&graph(text), &run);
    assert_eq!(shares(&graph, "x"), [Some(0.5), Some(0.5)]);
    // Two iterations on two ranks, one of which executed it.
    assert_eq!(shares(&graph, "y"), [Some(0.25), Some(0.75)]);
    assert_eq!(iterations(&graph, 0), Some(6.0));
}
