//! Describes graphs in a few words, so that a test is a line.

use program_graph::{Expansion, Graph, GraphNode, GraphNodeKind, SourceFile, read};

/// Returns the graph of one C source.
#[track_caller]
pub(crate) fn graph(text: &str) -> Graph {
    named("program.c", text)
}

/// Returns the graph of one source with this name.
#[track_caller]
pub(crate) fn named(name: &str, text: &str) -> Graph {
    read(&[SourceFile { name, text }]).expect("a program")
}

/// Returns a program whose `main` has this body, with `rank` and `size`.
pub(crate) fn main_of(body: &str) -> String {
    format!(
        "#include <mpi.h>\nint main(int argc, char **argv)\n{{\nint rank, size;\n\
         MPI_Comm_rank(MPI_COMM_WORLD, &rank);\nMPI_Comm_size(MPI_COMM_WORLD, &size);\n{body}\n}}\n"
    )
}

/// Describes each role and its steps: `master: Send loop(n){Recv}`.
pub(crate) fn roles(graph: &Graph) -> Vec<String> {
    graph.roles.iter().map(|role| format!("{}: {}", role.name, words(&role.body))).collect()
}

/// Describes a sequence.
pub(crate) fn words(nodes: &[GraphNode]) -> String {
    let words: Vec<String> = nodes.iter().map(word).collect();
    words.join(" ")
}

fn word(node: &GraphNode) -> String {
    match &node.kind {
        GraphNodeKind::Mpi(mpi) => mpi.operation.trim_start_matches("MPI_").to_owned(),
        GraphNodeKind::Loop(of) => format!("loop({}){{{}}}", of.count, words(&of.body)),
        GraphNodeKind::Call(group) if group.expansion == Expansion::Around => {
            format!("{}()again", group.function)
        }
        GraphNodeKind::Call(group) if group.expansion == Expansion::Earlier => {
            format!("{}()earlier", group.function)
        }
        GraphNodeKind::Call(group) => format!("{}(){{{}}}", group.function, words(&group.body)),
        GraphNodeKind::Jump(exit) => exit.leaves.word().to_owned(),
        GraphNodeKind::Compute(compute) => format!("<{}>", compute.label),
        GraphNodeKind::Branch(branch) => {
            let arms: Vec<String> = branch.arms.iter().map(|arm| words(&arm.body)).collect();
            format!("if({}){{{}}}", branch.condition, arms.join("|"))
        }
        _ => "?".to_owned(),
    }
}
