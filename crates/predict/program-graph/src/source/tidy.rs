//! Simplifies the steps that a walk found.
//!
//! Simple statements are removed: they belong to a neighboring region. Where nothing communicates, early exits are
//! removed too, and a function with many loops becomes one computation.

use crate::shape::{Compute, Expansion, GraphNode, GraphNodeKind};

/// Largest number of loops of a computation that are shown individually.
const N_LOOPS_SHOWN: usize = 5;

/// Simplifies a sequence and everything in it.
pub(super) fn tidy(nodes: &mut Vec<GraphNode>) {
    let mut kept: Vec<GraphNode> = Vec::new();
    for mut node in std::mem::take(nodes) {
        node.bodies_mut().into_iter().for_each(tidy);
        if node.has_mpi() || matches!(&node.kind, GraphNodeKind::Jump(_)) {
            kept.push(node);
        } else {
            kept.extend(without_silent(node));
        }
    }
    *nodes = joined(kept);
}

/// Simplifies a node without MPI; empty for simple statements.
fn without_silent(mut node: GraphNode) -> Vec<GraphNode> {
    node.bodies_mut().into_iter().for_each(without_exits);
    let n_loops = n_loops(&node);
    let is_large = N_LOOPS_SHOWN < n_loops;
    match &node.kind {
        GraphNodeKind::Compute(compute) if !compute.is_costly => Vec::new(),
        GraphNodeKind::Call(group) if group.expansion != Expansion::Here => vec![node],
        GraphNodeKind::Call(group) if is_large => {
            vec![computation(format!("{}()", group.function), n_loops, &node)]
        }
        GraphNodeKind::Call(group) if group.body.is_empty() => Vec::new(),
        GraphNodeKind::Branch(branch) if branch.arms.iter().all(|arm| arm.body.is_empty()) => {
            Vec::new()
        }
        GraphNodeKind::Branch(branch) => {
            vec![computation(format!("if {}", branch.condition), n_loops, &node)]
        }
        GraphNodeKind::Loop(of) if is_large => vec![computation(of.header.clone(), n_loops, &node)],
        _ => vec![node],
    }
}

/// Removes early exits, which do not matter where nothing communicates.
pub(super) fn without_exits(body: &mut Vec<GraphNode>) {
    body.retain(|node| !matches!(node.kind, GraphNodeKind::Jump(_)));
    body.iter_mut().flat_map(GraphNode::bodies_mut).for_each(without_exits);
}

fn computation(label: String, n_loops: usize, of: &GraphNode) -> GraphNode {
    let compute = Compute { label, n_statements: 1, n_loops, is_costly: true };
    GraphNode { kind: GraphNodeKind::Compute(compute), ..of.clone() }
}

fn n_loops(node: &GraphNode) -> usize {
    let own = match &node.kind {
        GraphNodeKind::Loop(_) => 1,
        GraphNodeKind::Compute(compute) => compute.n_loops,
        _ => 0,
    };
    own + node.bodies().into_iter().flatten().map(n_loops).sum::<usize>()
}

/// Joins consecutive computations.
fn joined(nodes: Vec<GraphNode>) -> Vec<GraphNode> {
    let mut joined: Vec<GraphNode> = Vec::new();
    for node in nodes {
        if let (GraphNodeKind::Compute(next), Some(last)) = (&node.kind, joined.last_mut())
            && let GraphNodeKind::Compute(before) = &mut last.kind
        {
            if !before.label.is_empty() && !next.label.is_empty() {
                before.label.push_str(", ");
            }
            before.label.push_str(&next.label);
            before.n_statements += next.n_statements;
            before.n_loops += next.n_loops;
            if last.location.file == node.location.file {
                last.location.end_line = last.location.end_line.max(node.location.end_line);
            }
            continue;
        }
        joined.push(node);
    }
    joined
}
