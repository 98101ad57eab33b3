//! Which node may follow which.

use crate::shape::{Graph, Kind, Leave, Node};
use serde_json::{Value, json};

/// Ways out of a sequence that are open at its end.
type Open = Vec<(usize, &'static str)>;

/// Edges of a graph: `next`, `enter` (into what a node holds), `again` (back to the head of a loop).
pub(super) fn edges(graph: &Graph) -> Value {
    let mut edges = Vec::new();
    for role in &graph.roles {
        follow(&role.body, Vec::new(), &mut edges);
    }
    let edges = edges.into_iter();
    edges.map(|(from, to, kind)| json!({ "from": from, "to": to, "kind": kind })).collect()
}

/// Connects a sequence to what comes before, and returns what is open behind it.
fn follow(nodes: &[Node], before: Open, edges: &mut Vec<(usize, usize, &'static str)>) -> Open {
    let mut open = before;
    for node in nodes {
        edges.extend(open.iter().map(|(from, kind)| (*from, node.id, *kind)));
        open = match &node.kind {
            Kind::Loop(of) => {
                let ends = follow(&of.body, vec![(node.id, "enter")], edges);
                edges.extend(ends.iter().map(|(from, _)| (*from, node.id, "again")));
                vec![(node.id, "next")]
            }
            Kind::Group(group) => {
                let ends = follow(&group.body, vec![(node.id, "enter")], edges);
                let mut ends = if group.body.is_empty() { vec![(node.id, "next")] } else { ends };
                // Who returns early goes on behind the call.
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
                let mut ends: Open = ends.collect();
                ends.dedup();
                ends
            }
            Kind::Exit(exit) if exit.condition.is_empty() => Vec::new(),
            _ => vec![(node.id, "next")],
        };
    }
    open
}

fn returns(nodes: &[Node], to: &mut Open) {
    for node in nodes {
        match &node.kind {
            Kind::Exit(exit) if exit.leaves == Leave::Function => {
                if !to.iter().any(|(from, _)| *from == node.id) {
                    to.push((node.id, "next"));
                }
            }
            Kind::Group(_) => {}
            _ => node.bodies().into_iter().for_each(|body| returns(body, to)),
        }
    }
}
