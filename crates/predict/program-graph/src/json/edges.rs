//! Edges: which node may follow another.

use crate::shape::{Graph, JumpKind, Kind, Node};
use serde_json::{Value, json};

/// Nodes whose successor is open at the end of a sequence, with the kind of edge.
type DanglingEnds = Vec<(usize, &'static str)>;

/// Returns the edges of a graph: `next`, `enter` (into a container), `again` (back to the head of a loop).
pub(super) fn edges(graph: &Graph) -> Value {
    let mut edges = Vec::new();
    for role in &graph.roles {
        follow(&role.body, Vec::new(), &mut edges);
    }
    let edges = edges.into_iter();
    edges.map(|(from, to, kind)| json!({ "from": from, "to": to, "kind": kind })).collect()
}

/// Connects a sequence to its predecessors; returns the open ends behind it.
fn follow(
    nodes: &[Node],
    before: DanglingEnds,
    edges: &mut Vec<(usize, usize, &'static str)>,
) -> DanglingEnds {
    let mut open = before;
    for node in nodes {
        edges.extend(open.iter().map(|(from, kind)| (*from, node.id, *kind)));
        open = match &node.kind {
            Kind::Loop(of) => {
                let ends = follow(&of.body, vec![(node.id, "enter")], edges);
                edges.extend(ends.iter().map(|(from, _)| (*from, node.id, "again")));
                vec![(node.id, "next")]
            }
            Kind::Call(group) => {
                let ends = follow(&group.body, vec![(node.id, "enter")], edges);
                let mut ends = if group.body.is_empty() { vec![(node.id, "next")] } else { ends };
                // An early return continues behind the call.
                returns(&group.body, &mut ends);
                ends
            }
            Kind::Branch(branch) => {
                let arms = branch.arms.iter();
                let ends = arms.flat_map(|arm| {
                    if arm.body.is_empty() {
                        return vec![(node.id, "next")];
                    }
                    follow(&arm.body, vec![(node.id, "enter")], edges)
                });
                let mut ends: DanglingEnds = ends.collect();
                ends.dedup();
                ends
            }
            Kind::Jump(exit) if exit.condition.is_empty() => Vec::new(),
            _ => vec![(node.id, "next")],
        };
    }
    open
}

fn returns(nodes: &[Node], to: &mut DanglingEnds) {
    for node in nodes {
        match &node.kind {
            Kind::Jump(exit) if exit.leaves == JumpKind::Function => {
                if !to.iter().any(|(from, _)| *from == node.id) {
                    to.push((node.id, "next"));
                }
            }
            Kind::Call(_) => {}
            _ => node.bodies().into_iter().for_each(|body| returns(body, to)),
        }
    }
}
