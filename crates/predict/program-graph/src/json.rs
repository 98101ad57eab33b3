//! Writes graphs as JSON, for other programs.
//!
//! Nodes and edges are lists: a node names its container (`parent`, and `arm` within a branch), and edges name the
//! node that may follow another. Fields are added over time and never change their meaning; a change of meaning
//! raises [`FORMAT_VERSION`].

use crate::expr::Expr;
use crate::regions::roman;
use crate::shape::{
    Arm, DataTransfer, Expansion, Graph, GraphNode, GraphNodeKind, JumpKind, Mpi, Role,
};
use serde_json::{Value, json};

/// Version of the JSON format.
pub const FORMAT_VERSION: u32 = 1;

/// Returns the graph as JSON.
#[must_use]
pub fn json(graph: &Graph) -> Value {
    let mut nodes = Vec::new();
    for role in &graph.roles {
        put(&role.body, &role.name, &Value::Null, &Value::Null, &mut nodes);
    }
    json!({
        "format_version": FORMAT_VERSION,
        "origin": graph.origin,
        "n_ranks": graph.n_ranks,
        "roles": graph.roles.iter().map(role).collect::<Vec<_>>(),
        "constants": graph.constants,
        "nodes": nodes,
        "edges": edges(graph),
        "warnings": graph.warnings,
    })
}

fn role(role: &Role) -> Value {
    let conditions = role
        .conditions
        .iter()
        .map(|(condition, holds)| json!({ "condition": condition.to_string(), "holds": holds }));
    json!({
        "name": role.name,
        "ranks": role.ranks,
        "conditions": conditions.collect::<Vec<_>>(),
        "measured_ranks": role.measured_ranks,
        "nodes": role.body.iter().map(|node| node.id).collect::<Vec<_>>(),
    })
}

fn put(nodes: &[GraphNode], role: &str, parent: &Value, arm: &Value, to: &mut Vec<Value>) {
    for node in nodes {
        let mut fields = json!({
            "id": node.id,
            "role": role,
            // Filled in by `describe`.
            "kind": null,
            "label": null,
            "file": node.location.file,
            "line": node.location.line,
            "end_line": node.location.end_line,
            "function": node.location.function,
            "parent": parent,
            "arm": arm,
            "region": node.region,
            "region_name": node.region.map(roman),
        });
        describe(node, &mut fields);
        fields["measured"] = json!(node.measured);
        to.push(fields);
        let parent = json!(node.id);
        match &node.kind {
            GraphNodeKind::Branch(branch) => {
                for one in &branch.arms {
                    put(&one.body, role, &parent, &json!(one.name), to);
                }
            }
            _ => node
                .bodies()
                .into_iter()
                .for_each(|body| put(body, role, &parent, &Value::Null, to)),
        }
    }
}

/// Adds the kind of a node, its label, and the fields specific to the kind.
fn describe(node: &GraphNode, to: &mut Value) {
    let (kind, label) = match &node.kind {
        GraphNodeKind::Compute(compute) => {
            to["n_statements"] = json!(compute.n_statements);
            to["n_loops"] = json!(compute.n_loops);
            ("computation", compute.label.clone())
        }
        GraphNodeKind::Loop(of) => {
            let repeat = of.repeat.as_ref();
            to["count"] = json!(of.count.to_string());
            to["variable"] = json!(repeat.map(|it| &it.variable));
            to["first"] = json!(repeat.map(|it| it.first.to_string()));
            to["step"] = json!(repeat.map(|it| it.step.to_string()));
            ("loop", of.header.clone())
        }
        GraphNodeKind::Branch(branch) => {
            to["decides"] = json!(branch.decides.to_string());
            to["arms"] = branch.arms.iter().map(arm).collect();
            ("branch", branch.condition.clone())
        }
        GraphNodeKind::Call(group) => {
            to["is_recursive"] = json!(group.expansion == Expansion::Around);
            to["is_shown_earlier"] = json!(group.expansion == Expansion::Earlier);
            ("function", format!("{}()", group.function))
        }
        GraphNodeKind::Mpi(mpi) => {
            operation(mpi, to);
            ("mpi", node.label().unwrap_or_default())
        }
        GraphNodeKind::Jump(exit) => {
            to["condition"] = json!(exit.condition);
            ("exit", exit.leaves.word().to_owned())
        }
    };
    to["kind"] = json!(kind);
    to["label"] = json!(label);
}

fn arm(arm: &Arm) -> Value {
    json!({
        "name": arm.name,
        "label": arm.label,
        "probability": arm.probability,
        "nodes": arm.body.iter().map(|node| node.id).collect::<Vec<_>>(),
    })
}

fn operation(mpi: &Mpi, to: &mut Value) {
    let said = |expr: &Option<Expr>| json!(expr.as_ref().map(ToString::to_string));
    let transfer = |transfer: &DataTransfer| {
        json!({
            "side": transfer.side,
            "peer": said(&transfer.peer),
            "bytes": said(&transfer.bytes),
        })
    };
    to["operation"] = json!(mpi.operation);
    to["class"] = json!(mpi.class);
    to["mode"] = json!(mpi.mode);
    to["send_mode"] = json!(mpi.send_mode);
    to["side"] = json!(mpi.side);
    to["transfers"] = mpi.transfers.iter().map(transfer).collect();
    to["root"] = said(&mpi.root);
    to["tag"] = said(&mpi.tag);
    to["scope"] = json!(mpi.scope);
    to["request"] = json!(mpi.request);
}

/// Nodes whose successor is open at the end of a sequence, with the kind of edge.
type DanglingEnds = Vec<(usize, &'static str)>;
/// Numbers of two nodes, and the kind of edge between them.
type Edge = (usize, usize, &'static str);

/// Returns the edges of a graph: `next`, `enter` (into a container), `again` (back to the head of a loop).
fn edges(graph: &Graph) -> Value {
    let mut edges = Vec::new();
    for role in &graph.roles {
        follow(&role.body, Vec::new(), &mut edges);
    }
    let edges = edges.into_iter();
    edges.map(|(from, to, kind)| json!({ "from": from, "to": to, "kind": kind })).collect()
}

/// Connects a sequence to its predecessors; returns the open ends behind it.
fn follow(nodes: &[GraphNode], mut open: DanglingEnds, edges: &mut Vec<Edge>) -> DanglingEnds {
    for node in nodes {
        edges.extend(open.iter().map(|(from, kind)| (*from, node.id, *kind)));
        open = match &node.kind {
            GraphNodeKind::Loop(of) => {
                let ends = follow(&of.body, vec![(node.id, "enter")], edges);
                edges.extend(ends.iter().map(|(from, _)| (*from, node.id, "again")));
                vec![(node.id, "next")]
            }
            GraphNodeKind::Call(group) => {
                let mut ends = enter(node, &group.body, edges);
                // An early return continues behind the call.
                returns(&group.body, &mut ends);
                ends
            }
            GraphNodeKind::Branch(branch) => {
                let arms = branch.arms.iter();
                let mut ends: DanglingEnds =
                    arms.flat_map(|arm| enter(node, &arm.body, edges)).collect();
                ends.dedup();
                ends
            }
            GraphNodeKind::Jump(exit) if exit.condition.is_empty() => Vec::new(),
            _ => vec![(node.id, "next")],
        };
    }
    open
}

/// Connects a node to a body; an empty one is passed by.
fn enter(node: &GraphNode, body: &[GraphNode], edges: &mut Vec<Edge>) -> DanglingEnds {
    match body {
        [] => vec![(node.id, "next")],
        body => follow(body, vec![(node.id, "enter")], edges),
    }
}

fn returns(nodes: &[GraphNode], to: &mut DanglingEnds) {
    for node in nodes {
        match &node.kind {
            GraphNodeKind::Jump(exit) if exit.leaves == JumpKind::Function => {
                if !to.iter().any(|(from, _)| *from == node.id) {
                    to.push((node.id, "next"));
                }
            }
            GraphNodeKind::Call(_) => {}
            _ => node.bodies().into_iter().for_each(|body| returns(body, to)),
        }
    }
}
