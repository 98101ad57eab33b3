//! What a role communicates, as a text by which roles are compared.
//!
//! # Invariants
//! - Computation has no part in it: a rank that also prints, opens a file or measures time is of the same role.

use crate::shape::{GraphNode, GraphNodeKind, Jump, JumpKind};

/// Sequence whose form is wanted.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Place {
    /// The body of a function: returning behind its last operation changes nothing.
    Function,
    /// A loop or an arm.
    Inside,
}

/// Returns a text that is equal for two programs that communicate in the same way.
pub(super) fn form(program: &[GraphNode]) -> String {
    let mut text = String::new();
    write(program, Place::Function, &mut text);
    text
}

fn write(nodes: &[GraphNode], place: Place, to: &mut String) {
    let n_until_mpi = nodes.iter().rposition(GraphNode::has_mpi).map_or(0, |last| last + 1);
    for (at, node) in nodes.iter().enumerate() {
        let is_last = place == Place::Function && n_until_mpi <= at;
        match &node.kind {
            GraphNodeKind::Jump(exit) if is_error(exit) || is_last && is_return(exit) => {}
            GraphNodeKind::Jump(exit) => to.push_str(&format!("{exit:?}")),
            _ if node.has_mpi() => write_node(node, to),
            _ => {}
        }
    }
}

fn write_node(node: &GraphNode, to: &mut String) {
    let (words, place) = match &node.kind {
        // Which data the root of a collective operation sends follows from its rank.
        GraphNodeKind::Mpi(mpi) if mpi.class == "collective" => {
            (format!("{} {} {:?}", mpi.operation, mpi.scope, mpi.root), Place::Inside)
        }
        GraphNodeKind::Mpi(mpi) => (format!("{mpi:?}"), Place::Inside),
        GraphNodeKind::Loop(of) => (format!("loop {}", of.count), Place::Inside),
        GraphNodeKind::Branch(of) => (of.condition.clone(), Place::Inside),
        GraphNodeKind::Call(of) => (of.function.clone(), Place::Function),
        GraphNodeKind::Compute(_) | GraphNodeKind::Jump(_) => return,
    };
    to.push_str(&format!("{}:{}{words}", node.location.file, node.location.line));
    for body in node.bodies() {
        to.push('{');
        write(body, place, to);
        to.push('}');
    }
}

/// Returns whether the program ends here only in some runs, as it does when a file cannot be opened.
fn is_error(exit: &Jump) -> bool {
    exit.leaves == JumpKind::Program && !exit.condition.is_empty()
}

fn is_return(exit: &Jump) -> bool {
    exit.leaves == JumpKind::Function
}
